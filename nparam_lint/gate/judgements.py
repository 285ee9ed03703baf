"""Answers × budgets → one `ModelReport` for each model."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from nparam_lint.capabilities import AUTO
from nparam_lint.gate.requests import arguments_entry, experts_entry
from nparam_lint.judge.budgets import (
    Budget,
    finding,
    judge,
    judge_devices,
    judge_hidden,
    judge_not_measured,
)
from nparam_lint.records import BudgetResult, Finding, Measured, ModelReport, NotMeasured

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Set

    from nparam_lint.config.settings import Settings
    from nparam_lint.count.jobs import Answers
    from nparam_lint.gate.requests import ModelRequest

    _Judged = tuple[list[BudgetResult], list[Finding]]


@dataclass(frozen=True, slots=True)
class ResizedModel:
    """A model built with other arguments: the names of those, and what was measured."""

    names: Set[str]
    measured: Measured


def judge_models(
    requests: Sequence[ModelRequest],
    answers: Answers,
    settings: Settings,
    resized: Mapping[int, Sequence[ResizedModel]] = MappingProxyType({}),
) -> list[ModelReport]:
    """Every request with its results and findings. `resized`: by the number of the request, the
    same model with other arguments, to check its formulas with."""
    measured = [m for m in answers.measurements.values() if isinstance(m, Measured)]
    # That a model holds an nn.Sequential says nothing of the factory that returns another one.
    inner = {kind for m in measured for kind in m.types if not kind.startswith("torch.nn.")}
    reports = []
    for number, request in enumerate(requests):
        answer, own = answers.measurements[number], settings.for_file(request.target.location)
        if isinstance(answer, NotMeasured):
            results, findings = _judge_failure(request, answer, own)
        else:
            results, findings = _judge_measured(request, answer, own, resized.get(number, ()))
        reports.append(
            ModelReport(
                str(request.target),
                request.position,
                answer,
                tuple(results),
                tuple(findings),
                request.is_declared,
                isinstance(answer, Measured) and answer.type not in inner,
            )
        )
    return reports


def _judge_failure(request: ModelRequest, failure: NotMeasured, settings: Settings) -> _Judged:
    declared = [budget for budget in request.budgets if budget.origin != "prose"]
    if not declared:
        return [], []
    hints = (
        *_not_staged(failure, settings),
        *arguments_entry(request.target, failure.missing, settings),
    )
    found = judge_not_measured(failure, declared[0].position, str(request.target), hints)
    return [_no_result(budget) for budget in declared], [found]


def _judge_measured(
    request: ModelRequest,
    measured: Measured,
    settings: Settings,
    resized: Sequence[ResizedModel],
) -> _Judged:
    target, position = str(request.target), request.position
    results: list[BudgetResult] = []
    findings: list[Finding] = []
    experts_hint = _experts_hint(request, measured, settings)
    for budget in request.budgets:
        judged, broken = judge(budget, measured, settings.tolerance, experts_hint)
        results += judged or [_no_result(budget)] * (budget.origin != "prose")
        # A model in which an argument differs that the formula does not name says nothing of it.
        others = [one.measured for one in resized if one.names <= budget.value.names]
        if others:
            from nparam_lint.gate.formula_check import check_formula

            broken = check_formula(budget, measured, others, settings.tolerance, broken)
        findings += broken
    is_required = (request.device or settings.device) != AUTO
    findings += judge_devices(measured, position, target, is_required)
    findings += judge_hidden(measured, position, target)
    findings += _wrong_experts(request, measured, settings)
    if not request.budgets:
        message = f"{request.target.callable} has no budget; it has {measured.counts.total:,}"
        findings.append(finding("NPL012", position, message, target))
    return results, findings


def _wrong_experts(request: ModelRequest, measured: Measured, settings: Settings) -> list[Finding]:
    """NPL002 where the declared number of experts that a token uses does not fit the model, unless
    a budget of the active parameters has said so."""
    wrong, target = measured.misdeclared, request.target
    has_active_budget = any(budget.selector.metric == "active" for budget in request.budgets)
    if wrong is None or (has_active_budget and wrong == measured.no_routing):
        return []
    number = request.recipe.experts_per_token
    entries = (
        entry.position
        for entry in settings.budgets
        if entry.target == target and entry.recipe and entry.recipe.experts_per_token == number
    )
    at = next(entries, settings.recipe_positions.get(target.bare, request.position))
    usual = "experts are modules of one size in a list called so, or parameters stacked there"
    return [finding("NPL002", at, f"{measured.call}: {wrong}", str(target), [usual])]


def _experts_hint(request: ModelRequest, measured: Measured, settings: Settings) -> tuple[str, ...]:
    """How to declare how many experts a token uses, where that alone is unknown."""
    if "experts_per_token" not in (measured.no_routing or "") or measured.misdeclared:
        return ()
    return experts_entry(request.target, settings)


def _no_result(budget: Budget) -> BudgetResult:
    return BudgetResult(
        budget.declared,
        str(budget.selector),
        low=None,
        high=None,
        actual=None,
        drift=None,
        ok=False,
        origin=budget.origin,
        position=budget.position,
        module=budget.selector.module or None,
        reason=budget.reason,
    )


def _not_staged(failure: NotMeasured, settings: Settings) -> tuple[str, ...]:
    """Which file of the working tree is missing in the index, where the model failed for that."""
    if settings.snapshot is None or failure.cause == "not_tracked":
        return ()
    fault = settings.snapshot.at_fault(failure.reason, settings.root)
    return (fault,) if fault else ()
