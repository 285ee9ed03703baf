"""What a terminal shows of a sweep: its first rows, and a summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from nparam_lint.report import Cell, Column, Document, Page, Parts, Row, Section, Table
from nparam_lint.report.style import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nparam_lint.analysis.sweep import sweep

_REASONS = 3


class SweepResult(Struct, frozen=True):
    """`rows`: the first of them; `forms`: the closed forms, written out, or why there are none."""

    names: Sequence[str]
    rows: Sequence[sweep.SweepRow]
    tally: sweep.Tally
    forms: Sequence[str]
    seconds: float


def sweep_document(result: SweepResult) -> Document:
    columns = (*(Column(name, "number") for name in result.names), Column("parameters", "number"))
    rows = []
    for row in result.rows:
        cells = [str(row.point[name]) for name in result.names]
        count = "–" if row.count is None else f"{row.count:,}"
        by = Cell(row.reason or row.by, "red" if row.count is None else "dim")
        rows.append(Row((*cells, count, by)))
    more = result.tally.rows - len(rows)
    notes = (f"… and {more:,} more: --out FILE.csv keeps all of them",) if more > 0 else ()
    table = Table((*columns, Column("by", "words")), tuple(rows), notes=notes)
    return Document("sweep", dict, lambda _: Page((Section((table,)),), summary=_lines(result)))


def summary(result: SweepResult) -> list[str]:
    """The summary in lines, for standard error."""
    return [line.text for line in _lines(result)]


def _lines(result: SweepResult) -> tuple[Parts, ...]:
    tally = result.tally
    kinds = [(tally.form, "by form"), (tally.built, "built"), (tally.failed, "not counted")]
    counts = ", ".join(f"{number:,} {what}" for number, what in kinds if number)
    head = f"{plural(tally.rows, 'configuration')}: {counts or 'nothing to count'}"
    parts = [("", head)]
    if tally.checked:
        parts.append(("", f"{tally.checked:,} of those by form built as well: they agree"))
    if tally.unchecked:
        parts.append(("yellow", f"{tally.unchecked:,} were too large to be built for that"))
    lines = [Parts((*parts, ("", f"{result.seconds:.1f} s")))]
    lines += [Parts((("dim", form),)) for form in result.forms]
    worst = sorted(tally.reasons.items(), key=lambda item: -item[1])
    for reason, number in worst[:_REASONS]:
        lines.append(Parts((("red", f"not counted: {number:,}× {reason}"),)))
    if (more := len(worst) - _REASONS) > 0:
        lines.append(Parts((("dim", f"… and {plural(more, 'more reason')}"),)))
    return tuple(lines)
