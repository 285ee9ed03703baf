"""The models of a check in Markdown: what is broken, its modules, and all that is declared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nparam_lint.records import Measured
from nparam_lint.report.budget_outcomes import claims_of, failing, rows_of, worst
from nparam_lint.report.markdown_parts import (
    EMOJI,
    Pieces,
    cell,
    fenced,
    folded,
    html_text,
    plain_text,
    whole,
)
from nparam_lint.report.style import Paint, clean, plural
from nparam_lint.report.uncounted import is_empty

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.records import ModelReport
    from nparam_lint.report.document import Models

_WIDTH = 100
_ROWS = 40
_Cells = tuple[str, str, str, str, str]


def failing_models(models: Sequence[ModelReport]) -> Pieces:
    rows = [row for row in failing(models) if row.drift]
    cells = [(EMOJI[r.mark], r.name, r.declared, r.actual, r.drift) for r in rows]
    return _table("broken budget", cells)


def all_models(models: Sequence[ModelReport]) -> Pieces:
    table = _table("row", [cells for model in models for cells in _cells(model)])
    return folded(f"{plural(len(models), 'model')} with what is declared", table)


def broken_models(block: Models) -> Iterator[Pieces]:
    """The table of every model with a broken budget."""
    for model in block.models:
        found = model.measurement
        broken = any(claim.state == "broken" for claim in claims_of(model))
        if broken and isinstance(found, Measured):
            from nparam_lint.report.module_table import module_table

            lines = module_table(found.modules, _WIDTH, block.depth, _ROWS, Paint(False))
            name, total = html_text(model.target), f"{found.counts.total:,}"
            title = f"Modules of <code>{name}</code>: {total} parameters"
            if lines:
                yield Pieces("module table", "", [whole(folded(title, fenced("line", lines)))])


def _cells(model: ModelReport) -> Iterator[_Cells]:
    rows = [row for claim in claims_of(model) for row in rows_of(claim)]
    for row in rows:
        yield EMOJI[row.mark], row.name, row.declared, row.actual, row.drift
    if not rows and not is_empty(model):
        found = model.measurement
        total = f"{found.counts.total:,}" if isinstance(found, Measured) else "not measured"
        yield EMOJI[worst(model.findings) or "–"], clean(model.target), "", total, ""


def _table(noun: str, rows: Sequence[_Cells]) -> Pieces:
    head = "| | model | declared | actual | drift |\n|---|---|---|---:|---:|\n"
    lines = [
        f"| {mark} | {cell(name)} | {cell(declared)} | {actual} | {plain_text(drift)} |\n"
        for mark, name, declared, actual, drift in rows
    ]
    return Pieces(noun, head, lines)
