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
    from nparam_lint.gate.requests import ModelRequest
    from nparam_lint.records import Budget, BudgetResult, Finding, Measured

FACTORS = (2, 3, 4)  # of the declared value, for one name at a time
COMMON_FACTORS = (2, 3)  # for all names at once: what has to divide evenly still does
MAX_NAMES = 6


def resized_requests(requests: Sequence[ModelRequest]) -> list[tuple[int, ModelRequest]]:
    """The models whose budgets are formulas, with other arguments: the number of the request, and
    the same request resized."""
    return [
        (number, replace(request, device="meta", factors=factors))
        for number, request in enumerate(requests)
        if any(budget.value.names for budget in request.budgets)
        for factors in factors_to_try(request.budgets)
    ]


def factors_to_try(budgets: Sequence[Budget]) -> Sequence[Mapping[str, int]]:
    """The factors for the arguments that the formulas name, one mapping for each build."""
    names = sorted({n for b in budgets if b.origin != "prose" for n in b.value.names})[:MAX_NAMES]
    one_by_one = [{name: factor} for name in names for factor in FACTORS]
    return one_by_one + [dict.fromkeys(names, f) for f in COMMON_FACTORS if len(names) > 1]


def check_formula(
    budget: Budget,
    declared: Measured,
    others: Sequence[Measured],
    tolerance: Tolerance | None,
    broken: Sequence[Finding],
) -> list[Finding]:
    """The findings about a formula. `declared`: the model with the declared arguments, of which
    `broken` are the findings: they get the missing term. Where there are none, NPL011 for the first
    of the `others` for which the formula is wrong."""
    judged = () if broken else ((other, judge(budget, other, tolerance)[0]) for other in others)
    wrong = next(((other, one) for other, found in judged for one in found if not one.ok), None)
    if not broken and wrong is None:
        return []
    lines: Sequence[str] = ()
    if budget.target.host is None:
        # The one thing that the gate asks of `analysis`, and only of a formula that is wrong.
        from nparam_lint.analysis.missing_term import missing_term

        lines = missing_term(budget, [declared, *others])
    if wrong is not None:
        return [_wrong_at_other_size(budget, declared, *wrong, lines)]
    return [
        replace(f, detail=(*f.detail[:1], *lines, *f.detail[1:])) if f.code == "NPL001" else f
        for f in broken
    ]


def _wrong_at_other_size(
    budget: Budget,
    declared: Measured,
    other: Measured,
    wrong: BudgetResult,
    missing_term: Sequence[str],
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
    detail = [f"built: {other.call}", *missing_term]
    detail.append(f"to derive one that holds for all: nparam-lint formula {shlex.quote(target)}")
    return finding("NPL011", budget.position, message, target, detail)
