"""The budgets of a report as they were declared, what came of each, and the sentence above all."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Literal

from nparam_lint.records import Measured
from nparam_lint.report import style
from nparam_lint.report.document import Column, Row, Table
from nparam_lint.report.style import grouped, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nparam_lint.records import BudgetResult, Finding, ModelReport, Report

State = Literal["holds", "broken", "not checked", "ignored"]
# A count that is not what was declared is a failure; these say that there is no answer.
UNANSWERED = ("NPL002", "NPL003", "NPL004", "NPL005", "NPL007", "NPL008", "NPL009")
_ON_RESULTS = ("NPL001", "NPL013")
_UNJUDGED = ("NPL002", "NPL007")  # a formula without a value; a selector that selects nothing


@dataclass(frozen=True, slots=True)
class ModelBudgets:
    """Models with what is declared of them and what came of it. `depth`: of their modules, where
    these are shown with them. `alone`: the page is about one model, and says the rest elsewhere."""

    models: tuple[ModelReport, ...]
    depth: int | None = None
    alone: bool = False

    @property
    def table(self) -> Table:
        return budgets_table(self.models)


@dataclass(frozen=True, slots=True)
class JudgedBudget:
    """One budget: a glob is one, whatever it matches. `results`: one for each module that it
    selects, or one without a count where nothing was measured. `findings`: what is reported of it;
    nothing where that was silenced."""

    model: ModelReport
    results: tuple[BudgetResult, ...]
    findings: tuple[Finding, ...]

    @property
    def prose(self) -> bool:
        return self.results[0].origin == "prose"

    @property
    def declared(self) -> str:
        return style.clean(self.results[0].declared)

    @property
    def name(self) -> str:
        """`nets/vit.py::ViT(depth=24)[blocks.*]`"""
        selector = self.results[0].selector
        return style.clean(self.model.target + (f"[{selector}]" if selector else ""))

    @property
    def state(self) -> State:
        if all(result.ok for result in self.results):
            return "holds"
        if not self.findings:
            return "ignored"
        measured = all(result.actual is not None for result in self.results)
        return "broken" if measured else "not checked"

    @property
    def mark(self) -> str:
        """✓, ✗, ! (a warning) or – (silenced)."""
        return worst(self.findings) or ("✓" if self.state == "holds" else "–")


def is_empty(model: ModelReport) -> bool:
    """Whether there is nothing to say of it: no parameters, and nobody who claims any."""
    found = model.measurement
    counted = isinstance(found, Measured) and not found.counts.total
    return counted and not (model.declared or model.budgets or model.findings)


def worst(findings: Iterable[Finding]) -> str:
    """✗ where one is an error, ! where all are warnings, and nothing where there are none."""
    severities = {finding.severity for finding in findings}
    return "✗" if "error" in severities else "!" if severities else ""


def all_budgets(report: Report) -> list[JudgedBudget]:
    return [claim for model in report.models for claim in budgets_of(model)]


def declared_budgets(report: Report) -> tuple[list[JudgedBudget], set[Finding]]:
    """Those that are no prose, and the findings that are about them."""
    declared = [claim for claim in all_budgets(report) if not claim.prose]
    return declared, {finding for claim in declared for finding in claim.findings}


def budgets_of(model: ModelReport) -> list[JudgedBudget]:
    return [
        JudgedBudget(
            model, tuple(group), tuple(f for f in model.findings if _is_about(f, group, model))
        )
        for group in as_declared(model.budgets)
    ]


def as_declared(results: Iterable[BudgetResult]) -> list[list[BudgetResult]]:
    """Those of one declared budget together."""
    groups = grouped(results, lambda one: (one.declared, one.selector, one.origin, one.position))
    return list(groups.values())


def _is_about(finding: Finding, group: Sequence[BudgetResult], model: ModelReport) -> bool:
    measured = model.measurement
    if not isinstance(measured, Measured):  # one finding stands for all budgets of the model
        return finding.code == measured.code
    if finding.position != group[0].position:
        return False
    if group[0].actual is None:
        return finding.code in _UNJUDGED
    broken = not all(result.ok for result in group)
    return finding.code in (_ON_RESULTS if broken else ("NPL011",))


# --- rows -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BudgetRow:
    """A line of a table of budgets. `name`: with the modules that it is about; `result`: what one
    of them, and so each that the line stands for, has."""

    mark: str
    name: str
    declared: str
    actual: str
    drift: str
    claim: JudgedBudget
    result: BudgetResult


def rows_of(claim: JudgedBudget) -> Iterator[BudgetRow]:
    """One for all that holds, and one for each count that does not."""
    held = [result for result in claim.results if result.ok]
    groups = grouped((one for one in claim.results if not one.ok), lambda one: one.actual)
    for group in groups.values():
        yield _row(claim, claim.mark, _named(claim, group), group)
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
    return BudgetRow(mark, name, claim.declared, actual, drift, claim, first)


def _named(claim: JudgedBudget, group: Sequence[BudgetResult]) -> str:
    """Of a glob, the modules that are off."""
    first, last = group[0], group[-1]
    if not first.module or first.module == first.selector:
        return claim.name
    span = first.module if first is last else f"{first.module} … {last.module}"
    return f"{claim.name} {style.clean(span)}"


def failing(models: Iterable[ModelReport]) -> list[BudgetRow]:
    """What does not hold, and is reported: errors first, then what is furthest off in proportion,
    then what nobody could measure."""
    rows = [row for model in models for claim in budgets_of(model) for row in rows_of(claim)]
    rows = [row for row in rows if row.mark in ("✗", "!")]
    return sorted(rows, key=lambda row: (row.mark == "!", -size(row.result)))


def size(result: BudgetResult) -> float:
    """How far off, in proportion."""
    return abs(result.drift) if result.drift is not None and not isnan(result.drift) else 0.0


# --- the sentence -----------------------------------------------------------------------------


def headline(report: Report) -> tuple[str, list[str]]:
    """A mark and a few words, worst first: `✗`, `2 budgets broken`, `1 warning`. The mark is –
    where nothing is declared."""
    if report.error is not None:
        return "✗", ["nothing could be checked"]
    declared, told = declared_budgets(report)
    states = Counter(claim.state for claim in declared)
    errors = [finding for finding in report.findings if finding.severity == "error"]
    others = sum(finding not in told for finding in errors)
    warnings = len(report.findings) - len(errors)
    holds = "holds" if states["holds"] == 1 else "hold"
    parts = [
        (states["broken"], "budget", " broken"),
        (states["not checked"], "budget", " not checked"),
        (others, "other error" if others < len(errors) else "error", ""),
        (states["holds"], "budget", f" {holds}"),
        (states["ignored"], "budget", " ignored"),
        (warnings, "warning", ""),
    ]
    words = [f"{plural(count, noun)}{verb}" for count, noun, verb in parts if count]
    if not declared:
        words.append(_undeclared(report))
    mark = worst(report.findings) or ("✓" if declared or report.source_only else "–")
    return mark, words


def _undeclared(report: Report) -> str:
    if report.source_only:
        return f"{plural(report.files, 'Python file')}, source only"
    if not report.models:
        return "nothing to check"
    counted = sum(isinstance(model.measurement, Measured) for model in report.models)
    return f"{plural(counted, 'model')} counted, no budget declared"


_COLUMNS = (
    Column("model", "code"),
    Column("declared", "code"),
    Column("actual", "number"),
    Column("drift", "number"),
)


def budgets_table(models: Iterable[ModelReport]) -> Table:
    """All budgets, and the models that have none, in one table."""
    rows: list[Row] = []
    for model in models:
        found = model.measurement
        made = [_table_row(row) for claim in budgets_of(model) for row in rows_of(claim)]
        total = f"{found.counts.total:,}" if isinstance(found, Measured) else "not measured"
        unbudgeted = Row((style.clean(model.target), "", total, ""), worst(model.findings) or "–")
        rows += made or [unbudgeted]
    return Table(_COLUMNS, tuple(rows))


def failing_table(models: Iterable[ModelReport]) -> Table:
    """What was counted, and is not what was declared."""
    rows = tuple(_table_row(row) for row in failing(models) if row.drift)
    return Table(_COLUMNS, rows, noun="broken budget")


def _table_row(row: BudgetRow) -> Row:
    return Row((row.name, row.declared, row.actual, row.drift), row.mark)
