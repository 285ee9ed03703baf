"""The budgets of a report as they were declared, and the outcome of each; as rows, the ones that do
not hold, and all that are declared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import isnan
from operator import attrgetter
from typing import Literal

from msgspec import Struct

from nparam_lint.count.measured import Measured
from nparam_lint.gate.report import ModelReport, Report
from nparam_lint.ground.findings import BudgetResult, Finding
from nparam_lint.ground.grouping import grouped
from nparam_lint.report import Column, Row, Table, style

State = Literal["holds", "broken", "not checked", "ignored"]
# A count that differs from the budget is a failure; with these states there is no answer.
UNANSWERED = ("NPL002", "NPL003", "NPL004", "NPL005", "NPL007", "NPL008", "NPL009")
_ON_RESULTS = ("NPL001",)
# A formula without a value; a selector that selects nothing; a definition that is not used.
_UNJUDGED = ("NPL002", "NPL007", "NPL008")
ON_BUDGETS = (*_ON_RESULTS, *_UNJUDGED, "NPL011")
_DECLARED = attrgetter("declared", "selector", "origin", "position")
_COLUMNS = (
    Column("model", "code"),
    Column("declared", "code"),
    Column("actual", "number"),
    Column("drift", "number"),
)


class ModelBudgets(Struct, frozen=True):
    """Models with their budgets and the outcomes. `depth`: of their modules, where these are shown
    with them. `alone`: the page is about one model, and says the rest elsewhere."""

    models: tuple[ModelReport, ...]
    depth: int | None = None
    alone: bool = False

    @property
    def table(self) -> Table:
        """All budgets, and the models that have none, in one table."""
        rows: list[Row] = []
        for model in self.models:
            count = total_of(model)
            total = "not measured" if count is None else f"{count:,}"
            unbudgeted = Row((model.target, "", total, ""), worst(model.findings) or "–")
            budgets = [_table_row(row) for claim in budgets_of(model) for row in rows_of(claim)]
            rows += budgets or [unbudgeted]
        return Table(_COLUMNS, tuple(rows))


class JudgedBudget(Struct, frozen=True):
    """One budget: a glob is one, whatever it matches. `results`: one for each module that it
    selects, or one without a count where nothing was measured. `findings`: what is reported of it;
    nothing where that was silenced."""

    model: ModelReport
    results: tuple[BudgetResult, ...]
    findings: tuple[Finding, ...]

    @property
    def declared(self) -> str:
        return self.results[0].declared

    @property
    def name(self) -> str:
        """`nets/vit.py::ViT(depth=24)[blocks.*]`"""
        selector = self.results[0].selector
        return self.model.target + (f"[{selector}]" if selector else "")

    @property
    def state(self) -> State:
        if not self.failures:
            return "holds"
        if not self.findings:
            return "ignored"
        measured = all(result.actual is not None for result in self.results)
        return "broken" if measured else "not checked"

    @property
    def errors(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.severity == "error"]

    @property
    def successes(self) -> list[BudgetResult]:
        return [result for result in self.results if result.ok]

    @property
    def failures(self) -> list[BudgetResult]:
        return [result for result in self.results if not result.ok]

    @property
    def mark(self) -> str:
        """✓, ✗, ! (a warning) or – (silenced)."""
        return worst(self.findings) or ("✓" if self.state == "holds" else "–")


def total_of(model: ModelReport) -> int | None:
    """None where it was not measured."""
    return model.measurement.counts.total if isinstance(model.measurement, Measured) else None


def is_empty(model: ModelReport) -> bool:
    """Whether there is nothing to report: no parameters, and no claim of any."""
    return total_of(model) == 0 and not (model.declared or model.budgets or model.findings)


def is_undeclared(report: Report) -> bool:
    """Whether nothing is declared: then the report shows what is there, rather than verdicts."""
    return not any(
        model.declared or model.budgets or total_of(model) is None for model in report.models
    )


def worst(findings: Iterable[Finding]) -> str:
    """✗ if one is an error, ! if all are warnings, and nothing if there are none."""
    severities = {finding.severity for finding in findings}
    return "✗" if "error" in severities else "!" if severities else ""


def declared_budgets(report: Report) -> tuple[list[JudgedBudget], set[Finding]]:
    """All budgets, with their findings."""
    declared = [claim for model in report.models for claim in budgets_of(model)]
    return declared, {finding for claim in declared for finding in claim.findings}


def budgets_of(model: ModelReport) -> list[JudgedBudget]:
    """All results of one declared budget together, with the findings that are about it."""
    measured, at = model.measurement, grouped(model.findings, attrgetter("position"))
    budgets = []
    for results in grouped(model.budgets, _DECLARED).values():
        near: Sequence[Finding] = at.get(results[0].position, ())
        codes: tuple[str, ...] = _ON_RESULTS
        if not isinstance(measured, Measured):  # one finding stands for all budgets of the model
            near, codes = model.findings, (measured.code,)
        elif results[0].actual is None:
            codes = _UNJUDGED
        elif all(result.ok for result in results):
            codes = ("NPL011",)
        about = tuple(finding for finding in near if finding.code in codes)
        budgets.append(JudgedBudget(model, tuple(results), about))
    return budgets


# --- rows -----------------------------------------------------------------------------------------


class BudgetRow(Struct, frozen=True):
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
    for group in grouped(claim.failures, attrgetter("actual")).values():
        first, last = group[0], group[-1]
        name = claim.name
        if first.module and first.module != first.selector:  # of a glob, the modules that are off
            span = first.module if first is last else f"{first.module} … {last.module}"
            name += f" {span}"
        actual = counts_words(group) or "not measured"
        yield BudgetRow(claim.mark, name, actual, style.drift(first), claim, first)
    if successes := claim.successes:
        mark = "✓" if claim.failures else claim.mark
        yield BudgetRow(mark, claim.name, counts_words(successes), "", claim, successes[0])


def counts_words(results: Sequence[BudgetResult]) -> str:
    """`12 × 7,087,872`, or `12 modules` with several counts; nothing where there is none."""
    count = results[0].actual
    if count is None:
        return ""
    if any(result.actual != count for result in results):
        return f"{len(results):,} modules"
    return f"{len(results):,} × {count:,}" if len(results) > 1 else f"{count:,}"


def failing(models: Iterable[ModelReport]) -> list[BudgetRow]:
    """What does not hold, and is reported: errors first, then what is furthest off in proportion,
    then what could not be measured."""
    rows = [row for model in models for claim in budgets_of(model) for row in rows_of(claim)]
    rows = [row for row in rows if row.mark in ("✗", "!")]
    return sorted(rows, key=lambda row: (row.mark == "!", -deviation(row.result)))


def deviation(result: BudgetResult) -> float:
    """How far off, in proportion."""
    return abs(result.drift) if result.drift is not None and not isnan(result.drift) else 0.0


def failing_table(models: Iterable[ModelReport]) -> Table:
    """What was counted, and is not what was declared."""
    rows = tuple(_table_row(row) for row in failing(models) if row.drift)
    return Table(_COLUMNS, rows, noun="broken budget")


def _table_row(row: BudgetRow) -> Row:
    return Row((row.name, row.claim.declared, row.actual, row.drift), row.mark)
