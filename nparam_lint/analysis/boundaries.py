"""Arguments on all sides of the conditions that a constructor asks for, where a formula may be
wrong that is right for the declared ones."""

from __future__ import annotations

from itertools import combinations, zip_longest
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms import limits
from nparam_lint.analysis.closed_forms.conditions import Condition
from nparam_lint.analysis.closed_forms.exploration import LOOP, Exploration, Learned
from nparam_lint.analysis.closed_forms.observations import differs, variable_of
from nparam_lint.analysis.closed_forms.polynomial import Operation, Polynomial
from nparam_lint.analysis.closed_forms.traced_runs import Tracer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nparam_lint.analysis.closed_forms.observations import Point
    from nparam_lint.analysis.closed_forms.traced_runs import Run
    from nparam_lint.count.measured import Measured
    from nparam_lint.ground.values import NameValue


def boundaries(traced: Measured) -> list[dict[str, NameValue]]:
    """What differs from the arguments of the call, for each further call: of two arguments, the
    other one larger; then beyond each condition on the call's path, and where it just changes.
    `traced`: a build with traced numbers at the call's own arguments."""
    rows = [row for row in traced.variables if row.name in traced.names]
    numbers = [one for one in map(variable_of, rows) if one.is_number]
    tracer = Tracer(lambda _: [traced.traces], lambda all_: all_, numbers)
    (run,) = tracer.build([{}]) if numbers else (None,)
    crossed = [*_crossed({v.name: v.base for v in numbers if isinstance(v.base, int)})]
    if run is None or run.error is not None:
        return crossed
    found = []
    for point in _beyond(run, tracer):
        changed = {n: value for n, value in point.items() if differs(value, tracer.base[n])}
        if changed and changed not in found:
            found.append(changed)
        if len(found) == limits.BOUNDARIES:
            break
    return crossed + found


def _crossed(values: Mapping[str, int]) -> Iterator[dict[str, NameValue]]:
    """Of each two, the smaller one just above the other: what is left of `n` layers after the
    `first` is less than none then. The larger comes down, so that no depth becomes large."""
    for one, other in combinations(values, 2):
        small, large = sorted((one, other), key=values.__getitem__)
        if 0 < values[small] < values[large]:
            yield {small: values[small] + 1, large: values[small]}


def _beyond(run: Run, tracer: Tracer) -> Iterator[Point]:
    """A point on each side; what the project itself asks comes first."""
    way = Exploration(tracer, (), Learned(), is_large=True)
    for kind, form in run.lost:
        way.lose(set(form.names) if kind == "loop" else set(), LOOP)
    way.ignore_loops(run)
    conditions = [c for c, place in run.decisions.items() if place not in way.ignored]
    asked = [(c, conditions[:n]) for n, c in enumerate(conditions)]
    asked.sort(key=lambda pair: "torch/nn/" in run.decisions[pair[0]])
    asked += [(one, conditions) for one in _extremes(run, run.form)]
    for sides in zip_longest(*(_sides(condition) for condition, _ in asked), fillvalue=()):
        for (_, above), side in zip(asked, sides, strict=True):
            found = (way.search.satisfying([*above, one], run.point) for one in side)
            point = next((one for one in found if one is not None), None)
            if point and not any(_is_deep(point[name], run.point[name]) for name in way.lost):
                yield point


def _extremes(run: Run, form: Polynomial) -> Iterator[Condition]:
    """Which of two is the larger, for each `min` and `max` in the form."""
    for own in form.generators:
        if isinstance(own, Operation) and own.kind in ("min", "max"):
            found = Condition(">=", own.left - own.right)
            yield found if found.test()(run.point) else found.negated
        for part in () if isinstance(own, str) else own.parts:
            if isinstance(part, Polynomial):
                yield from _extremes(run, part)


def _is_deep(value: NameValue, base: NameValue) -> bool:
    """Whether so many repetitions would take long."""
    numbers = int, float
    return (
        isinstance(value, numbers) and isinstance(base, numbers) and value > 4 * base + limits.DEEP
    )


def _sides(condition: Condition) -> list[Sequence[Condition]]:
    """Its other side, of a bound where that begins; what lies farther beyond a bound, and the bound
    itself."""
    other = condition.negated
    if condition.operation != ">=" or condition.left is not None:
        return [[other]]
    bound = Polynomial.constant(condition.form.constant_term)
    farther = Condition(">=", other.form - (bound if bound.constant_term > 0 else -bound))
    begin, end = Condition("==", other.form), Condition("==", condition.form)
    return [[begin, other], [farther], [end]]
