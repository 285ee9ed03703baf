"""The modules of a model that changed, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nparam_lint.analysis.diff.fold_changes import lines_of
from nparam_lint.analysis.documents.diff_words import signed
from nparam_lint.report.document import Cell, Column, Row, Step, Table
from nparam_lint.report.style import clean, plural

if TYPE_CHECKING:
    from nparam_lint.analysis.diff import ModelDiff
    from nparam_lint.analysis.diff.fold_changes import Line

_MARKS = {"added": "+", "removed": "−", "changed": "~", "renamed": "→"}
TONES = {"+": "green", "−": "red", "~": "yellow", "→": "cyan", "!": "red", "=": "dim"}
_SHORT = 24  # characters of a note that stands in the place of a change
_LEAST = 24  # of a module's path
_COLUMNS = (
    Column("module", "code"),
    Column("type", tone="dim"),
    Column("before", "number", "dim"),
    Column("after", "number"),
    Column("change", "number", notes=True),
    Column("source", "code", "dim"),
)
# The change always stands.
_STEPS = (
    Step("short", "source"),
    Step("drop", "type"),
    Step("drop", "before"),
    Step("shorten", "module", _LEAST),
    Step("drop", "source"),
    Step("drop", "after"),
)


def change_table(model: ModelDiff, limit: int, depth: int | None) -> Table:
    """In about `limit` rows; what weighs least is left out, and summed up in the last line."""
    lines = list(lines_of(model.modules, limit, depth))
    heaviest = sorted(lines, key=lambda line: -abs(line.sum))
    kept = {id(line) for line in (heaviest if depth is not None else heaviest[:limit])}
    left = [line for line in lines if id(line) not in kept]
    notes: tuple[str, ...] = ()
    if left:
        total = signed(sum(line.sum for line in left))
        more = plural(sum(line.modules * line.times for line in left), "more change")
        notes = (f"… and {more}, {total} together: --depth and -v show more",)
    rows = tuple(_row(line) for line in lines if id(line) in kept)
    return Table(_COLUMNS, rows, _STEPS, notes=notes, noun="module")


def _row(line: Line) -> Row:
    notes = [clean(note) for note in line.notes]
    told = ""
    if line.delta:
        told = f"{line.times:,} × {signed(line.delta)}" if line.times > 1 else signed(line.delta)
    elif line.kind != "changed":
        told = "renamed" if line.kind == "renamed" else "±0"
    elif notes and len(notes[0]) <= _SHORT:
        told = notes.pop(0)
    before, after = _counts(line)
    mark = _MARKS[line.kind]
    source = clean(line.change.row.source or "") if line.change else ""
    made_at = Cell(source, short=source.rpartition("/")[2])
    cells = (_module(line), _type(line), before, after, Cell(told, TONES[mark]), made_at)
    return Row(cells, mark, TONES[mark], tuple(notes))


def _module(line: Line) -> str:
    path, was = clean(line.path), clean(line.path_before)
    if was != path:  # beside where it was, the name is enough
        beside = line.was[:-1] == line.parts[:-1]
        return f"{was} → {path.rpartition('.')[2] if beside else path}"
    return path or ("(root)" if line.delta else "(total)")


def _type(line: Line) -> str:
    if line.change is None:
        return f"{line.modules:,} changes"
    old, new = line.change.before, line.change.after
    types = dict.fromkeys(clean(row.type) for row in (old, new) if row)
    return " → ".join(types)


def _counts(line: Line) -> tuple[str, str]:
    if line.change is None:
        return "", ""
    was, now = line.change.count_before, line.change.count_after
    return (
        "" if line.kind == "added" else f"{was:,}",
        "" if line.kind == "removed" else f"{now:,}",
    )
