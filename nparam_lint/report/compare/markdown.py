"""The comparison as a table in GitHub's Markdown, for a README, a wiki or a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nparam_lint.records import NotMeasured
from nparam_lint.report.blocks import cell, code, fenced, plain_text, whole
from nparam_lint.report.compare.rows import Row, entries, letter, notes_of, rows_of
from nparam_lint.report.style import clean

if TYPE_CHECKING:
    from nparam_lint.report import Options
    from nparam_lint.report.compare import Comparison


def render(comparison: Comparison, options: Options) -> str:  # noqa: ARG001
    if comparison.error is not None:
        return whole(fenced("line", comparison.error.splitlines()))
    legend = []
    for number, column in enumerate(comparison.columns):
        line = f"- **{letter(number)}** {code(column.given)}"
        measured = column.model.measurement
        if isinstance(measured, NotMeasured):
            line += f": not measured: {plain_text(clean(measured.reason))}"
        legend.append(f"{line}\n")
    models = entries(comparison.columns)
    notes = [f"- **{m.letter}** {plain_text(note)}\n" for m in models for note in notes_of(m)]
    table = []
    if models:
        head = " | ".join(f"{model.letter} {cell(model.name)}" for model in models)
        table = [f"| | {head} |\n", "|---|" + "---:|" * len(models) + "\n"]
        table += [_row(row) for row in rows_of(models)]
    return "\n".join("".join(lines) for lines in (legend, table, notes) if lines)


def _row(row: Row) -> str:
    bold = "**" if row.label == "total" else ""
    cells = []
    for count, share in row.cells:
        text = f"{bold}{count}{bold}" if count else ""
        cells.append(f"{text} ({plain_text(share)})" if share else text)
    return f"| {bold}{row.label}{bold} | {' | '.join(cells)} |\n".replace("| **** |", "| |")
