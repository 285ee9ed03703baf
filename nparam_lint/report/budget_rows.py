"""Budgets and their outcomes as rows: the ones that do not hold, and all that are declared."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING

from nparam_lint.report import Column, Row, Table, style
from nparam_lint.report.budget_outcomes import budgets_of, total_of, worst
from nparam_lint.report.style import grouped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nparam_lint.records import BudgetResult, ModelReport
    from nparam_lint.report.budget_outcomes import JudgedBudget

_COLUMNS = (
    Column("model", "code"),
    Column("declared", "code"),
    Column("actual", "number"),
    Column("drift", "number"),
)


@dataclass(frozen=True, slots=True)
class BudgetRow:
    """A line of a table of budgets. `name`: with the modules that it is about; `result`: what one
    of them, and so each that the line stands for, has."""

    mark: str
    name: str
    actual: str
    drift: str
    claim: JudgedBudget
    result: BudgetResult


def rows_of(claim: JudgedBudget) -> Iterator[BudgetRow]:
    """One for all that holds, and one for each count that does not."""
    held = [result for result in claim.results if result.ok]
    groups = grouped((one for one in claim.results if not one.ok), lambda one: one.actual)
    for group in groups.values():
        first, last = group[0], group[-1]
        name = claim.name
        if first.module and first.module != first.selector:  # of a glob, the modules that are off
            span = first.module if first is last else f"{first.module} … {last.module}"
            name += f" {style.clean(span)}"
        yield _row(claim, claim.mark, name, group)
    if held:
        yield _row(claim, "✓" if groups else claim.mark, claim.name, held)


def _row(claim: JudgedBudget, mark: str, name: str, group: Sequence[BudgetResult]) -> BudgetRow:
    first = group[0]
    drift = "" if first.ok else style.drift(first)
    if first.actual is None:
        actual = "not measured"
    elif len(group) == 1:
        actual = f"{first.actual:,}"
    elif len({result.actual for result in group}) == 1:
        actual = f"{len(group):,} × {first.actual:,}"
    else:
        actual, drift = f"{len(group):,} modules", ""
    return BudgetRow(mark, name, actual, drift, claim, first)


def failing(models: Iterable[ModelReport]) -> list[BudgetRow]:
    """What does not hold, and is reported: errors first, then what is furthest off in proportion,
    then what could not be measured."""
    rows = [row for model in models for claim in budgets_of(model) for row in rows_of(claim)]
    rows = [row for row in rows if row.mark in ("✗", "!")]
    return sorted(rows, key=lambda row: (row.mark == "!", -size(row.result)))


def size(result: BudgetResult) -> float:
    """How far off, in proportion."""
    return abs(result.drift) if result.drift is not None and not isnan(result.drift) else 0.0


def budgets_table(models: Iterable[ModelReport]) -> Table:
    """All budgets, and the models that have none, in one table."""
    rows: list[Row] = []
    for model in models:
        count = total_of(model)
        made = [_table_row(row) for claim in budgets_of(model) for row in rows_of(claim)]
        total = "not measured" if count is None else f"{count:,}"
        unbudgeted = Row((style.clean(model.target), "", total, ""), worst(model.findings) or "–")
        rows += made or [unbudgeted]
    return Table(_COLUMNS, tuple(rows))


def failing_table(models: Iterable[ModelReport]) -> Table:
    """What was counted, and is not what was declared."""
    rows = tuple(_table_row(row) for row in failing(models) if row.drift)
    return Table(_COLUMNS, rows, noun="broken budget")


def _table_row(row: BudgetRow) -> Row:
    return Row((row.name, row.claim.declared, row.actual, row.drift), row.mark)
