"""Which term a wrong formula lacks: the only thing that a check needs from this package."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.fitting import fit
from nparam_lint.analysis.closed_forms.form_writer import factored
from nparam_lint.analysis.closed_forms.observations import Built, exactly, families
from nparam_lint.analysis.closed_forms.polynomial import Samples
from nparam_lint.claims import FormulaError
from nparam_lint.claims.expression import Formula
from nparam_lint.judge import amount, selected

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from nparam_lint.records import Budget, Measured


def missing_term(budget: Budget, measured: Sequence[Measured]) -> list[str]:
    """The term that must be added to the budget's formula, in its own names, and the parameters
    that it stands for: one line; none if the measured models do not determine it."""
    formula = next((t for t in budget.value.terms if isinstance(t, Formula)), None)
    if formula is None or budget.selector.metric not in ("total", "trainable"):
        return []
    points: list[dict[str, Fraction]] = []
    missing: list[Fraction] = []
    kept: list[Measured] = []
    for one in measured:
        point, rows = exactly(one.names), selected(budget.selector, one.modules)
        if not rows or not formula.names <= point.keys():
            continue
        try:
            value = formula.evaluate(one.names)
        except FormulaError:
            continue
        points.append(point)
        missing.append(amount(rows[0], budget.selector.metric) - value)
        kept.append(one)
    term = fit(Samples(points, missing), formula.names, spare=1)
    if term is None or not term.terms:
        return []
    text = factored(term, sorted(formula.names))
    parameters = "" if budget.selector.module else _parameters(kept, missing)
    if text.startswith("-"):
        return [f"too much: {text[1:]}{parameters}"]
    return [f"missing: {text}{parameters}"]


def _parameters(measured: Sequence[Measured], missing: Sequence[Fraction]) -> str:
    """Whose elements these are: of one family of parameters, or of all of one name."""
    builds = [Built(one.parameters) for one in measured]
    groups: dict[str, list[list[int]]] = defaultdict(list)
    for family in families(builds):
        groups[family.name].append(family.sizes)
        groups[f"all {family.name.rpartition('.')[2]}"].append(family.sizes)
    for name, sizes in groups.items():
        if [sum(column) for column in zip(*sizes, strict=True)] == list(missing):
            return f" ({name})"
    return ""
