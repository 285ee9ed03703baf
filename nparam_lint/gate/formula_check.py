"""Formulas at other arguments than those that were declared: a claim about every size.

Pure: which arguments to try, and what to say of a formula that is right for one size alone.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.design_matrix import Places
from nparam_lint.analysis.closed_forms.fitting import fit
from nparam_lint.analysis.closed_forms.form_writer import factored
from nparam_lint.analysis.closed_forms.observations import Built, Tensor
from nparam_lint.analysis.closed_forms.parameter_families import families
from nparam_lint.claims.expression import Formula, FormulaError
from nparam_lint.judge.budgets import Budget, amount, finding, judge, selected

if TYPE_CHECKING:
    from nparam_lint.claims.grammar import Tolerance
    from nparam_lint.records import BudgetResult, Finding, Measured, NameValue

Factors = Mapping[str, int]
ALONE = (2, 3, 4)  # times what was declared, for each name
TOGETHER = (2, 3)  # for all names: what has to divide evenly still does
MOST = 6  # names that are varied


def factors(budgets: Sequence[Budget]) -> Sequence[Factors]:
    """By what to multiply the arguments that formulas speak of."""
    names = sorted({n for b in budgets if b.origin != "prose" for n in b.value.names})[:MOST]
    if not names:
        return []
    alone = [{name: factor} for name in names for factor in ALONE]
    return alone + [dict.fromkeys(names, f) for f in TOGETHER if len(names) > 1]


def judge_elsewhere(
    budget: Budget,
    base: Measured,
    others: Sequence[Measured],
    tolerance: Tolerance | None,
    broken: Sequence[Finding],
) -> list[Finding]:
    """The findings about a formula: those that are known already, with the term that it lacks; else
    NPL011 for the first other arguments with which it does not hold."""
    if broken:
        lines = missing_term(budget, [base, *others])
        return [
            replace(f, detail=(*f.detail[:1], *lines, *f.detail[1:])) if f.code == "NPL001" else f
            for f in broken
        ]
    for other in others:
        results, _ = judge(budget, other, tolerance)
        wrong = next((result for result in results if not result.ok), None)
        if wrong is not None:
            return [_wrong_elsewhere(budget, base, other, wrong, [base, *others])]
    return []


def _wrong_elsewhere(
    budget: Budget,
    base: Measured,
    other: Measured,
    wrong: BudgetResult,
    measured: Sequence[Measured],
) -> Finding:
    point = ", ".join(_changed(budget, base, other)) or other.call
    actual, value = wrong.actual or 0, wrong.value or 0
    message = (
        f"the formula is right for {base.call} and wrong for others: with {point} it gives "
        f"{value:,}, the model has {actual:,}: {actual - value:+,}"
    )
    target = str(budget.target)
    detail = [f"built: {other.call}", *missing_term(budget, measured)]
    detail.append(f"a form that holds for all: nparam-lint formula {shlex.quote(target)}")
    return finding("NPL011", budget.position, message, target, detail)


def missing_term(budget: Budget, measured: Sequence[Measured]) -> list[str]:
    """What would have to be added to the formula, in its own names, and which parameters that are;
    nothing where the models that were built do not tell."""
    formula = next((t for t in budget.value.terms if isinstance(t, Formula)), None)
    if formula is None or budget.selector.metric not in ("total", "trainable"):
        return []
    points: list[dict[str, Fraction]] = []
    missing: list[Fraction] = []
    kept: list[Measured] = []
    for one in measured:
        point, rows = _numbers(one.names), selected(budget.selector, one.modules)
        if not rows or not formula.names <= point.keys():
            continue
        try:
            value = formula.evaluate(one.names)
        except FormulaError:
            continue
        points.append(point)
        missing.append(amount(rows[0], budget.selector.metric) - value)
        kept.append(one)
    term = fit(Places(points), missing, formula.names, spare=1) if points else None
    if term is None or term.is_zero:
        return []
    text = factored(term, sorted(formula.names))
    sign = "too much" if text.startswith("-") else "missing"
    which = "" if budget.selector.module else _parameters(kept, missing)
    return [f"{sign}: {text.removeprefix('-') if sign == 'too much' else text}{which}"]


def _numbers(names: Mapping[str, NameValue]) -> dict[str, Fraction]:
    return {
        name: Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
        for name, value in names.items()
        if isinstance(value, int | float)
    }


def _parameters(measured: Sequence[Measured], missing: Sequence[Fraction]) -> str:
    """Whose elements these are: of one family of parameters, or of all of one name."""
    builds = [Built(tuple(Tensor(p.name, p.shape) for p in one.parameters)) for one in measured]
    found = families(builds)
    groups: dict[str, list[list[int]]] = {}
    for family in found:
        groups.setdefault(family.name, []).append(family.sizes)
        kind = family.name.rpartition(".")[2]
        groups.setdefault(f"all {kind}", []).append(family.sizes)
    for name, sizes in groups.items():
        if [sum(column) for column in zip(*sizes, strict=True)] == list(missing):
            return f" ({name})"
    return ""


def _changed(budget: Budget, base: Measured, other: Measured) -> Iterator[str]:
    for name in sorted(budget.value.names):
        if name in other.names and other.names[name] != base.names.get(name):
            yield f"{name}={other.names[name]}"
