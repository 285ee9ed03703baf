"""Formulas checked with other arguments than the declared ones: a formula is about every size.

Pure: which arguments to try, and the finding about a formula that is right for only one size.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from nparam_lint.judge import finding, judge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nparam_lint.claims.grammar import Tolerance
    from nparam_lint.gate import RunContext
    from nparam_lint.gate.requests import ModelRequest
    from nparam_lint.records import Budget, BudgetResult, Finding, Measured, ModelReport

# (times, plus): of the declared value, for one name at a time. What is added makes it odd, or a
# prime: a formula may be right for all that divides evenly.
CHANGES = ((2, 0), (3, 0), (4, 0), (1, 1), (1, 3))
COMMON_CHANGES = ((2, 0), (3, 0), (1, 1))  # for all names at once: what has to divide still does
MAX_NAMES = 6
MOST_TERMS = 3  # wrong formulas whose missing term is looked for


def resized_requests(requests: Sequence[ModelRequest]) -> list[tuple[int, ModelRequest]]:
    """The models whose budgets are formulas, with other arguments: the number of the request, and
    the same request resized."""
    return [
        (number, replace(request, device="meta", changes=changes))
        for number, request in enumerate(requests)
        if any(budget.value.names for budget in request.budgets)
        for changes in changes_to_try(request.budgets)
    ]


def changes_to_try(budgets: Sequence[Budget]) -> Sequence[Mapping[str, tuple[int, int]]]:
    """The changes of the arguments that the formulas name, one mapping for each build."""
    names = sorted({n for b in budgets if b.origin != "prose" for n in b.value.names})[:MAX_NAMES]
    one_by_one = [{name: change} for name in names for change in CHANGES]
    return one_by_one + [dict.fromkeys(names, c) for c in COMMON_CHANGES if len(names) > 1]


def check_formula(
    budget: Budget,
    declared: Measured,
    others: Sequence[Measured],
    tolerance: Tolerance | None,
    broken: Sequence[Finding],
) -> list[Finding]:
    """The findings about a formula. `declared`: the model with the declared arguments, of which
    `broken` are the findings. Where there are none, NPL011 for the first of the `others` for which
    the formula is wrong."""
    if broken:
        return [*broken]
    judged = ((other, judge(budget, other, tolerance)[0]) for other in others)
    wrong = next(((other, one) for other, found in judged for one in found if not one.ok), None)
    return [] if wrong is None else [_wrong_at_other_size(budget, declared, *wrong)]


def with_missing_terms(
    models: Sequence[ModelReport], requests: Sequence[ModelRequest], context: RunContext
) -> list[ModelReport]:
    """With the term that each wrong formula lacks, of the first few: each takes many builds."""
    left, found = MOST_TERMS, []
    by_target = {str(request.target): request for request in requests}
    for model in models:
        request = by_target.get(model.target)
        wrong = {f.position: f for f in model.findings if f.code in ("NPL001", "NPL011")}
        for budget in request.budgets if request and request.target.host is None else ():
            one = wrong.get(budget.position)
            if one is None or not left or not budget.value.names:
                continue
            left -= 1
            if line := context.explain(budget, context) if context.explain else "":
                new = replace(one, detail=(*one.detail[:1], line, *one.detail[1:]))
                findings = tuple(new if f is one else f for f in model.findings)
                model = replace(model, findings=findings)
        found.append(model)
    return found


def _wrong_at_other_size(
    budget: Budget,
    declared: Measured,
    other: Measured,
    wrong: BudgetResult,
) -> Finding:
    changed = ", ".join(
        f"{name}={other.names[name]}"
        for name in sorted(budget.value.names & other.names.keys())
        if other.names[name] != declared.names.get(name)
    )
    actual, value = wrong.actual or 0, wrong.value or 0
    message = (
        f"the formula is right for {declared.call} and wrong for others: with "
        f"{changed or other.call} it gives {value:,}, the model has {actual:,}: {actual - value:+,}"
    )
    target = str(budget.target)
    step = f"to derive one that holds for all: nparam-lint formula {shlex.quote(target)}"
    detail = [f"built: {other.call}", step]
    return finding("NPL011", budget.position, message, target, detail)
