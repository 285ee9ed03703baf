"""Arguments on all sides of the conditions that a constructor asks for, where a formula may be
wrong that is right for the declared ones."""

from __future__ import annotations

from itertools import combinations, zip_longest
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms import limits
from nparam_lint.analysis.closed_forms.conditions import Condition, truth_of
from nparam_lint.analysis.closed_forms.exploration import LOOP, Exploration, Learned
from nparam_lint.analysis.closed_forms.observations import differs, variable_of
from nparam_lint.analysis.closed_forms.polynomial import Operation, Polynomial
from nparam_lint.analysis.closed_forms.traced_runs import Tracer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.analysis.closed_forms.observations import Point
    from nparam_lint.analysis.closed_forms.traced_runs import Run
    from nparam_lint.count.measured import Measured
    from nparam_lint.ground.values import NameValue


def boundaries(traced: Measured) -> list[dict[str, NameValue]]:
    """What differs from the arguments of the call, for each further call: the other value of a
    boolean; of two numbers, the other one larger; then beyond each condition on the call's path,
    and where it just changes.
    `traced`: a build with traced numbers at the call's own arguments."""
    rows = [row for row in traced.variables if row.name in traced.names]
    switched: list[dict[str, NameValue]] = [
        {row.name: not row.value} for row in rows if isinstance(row.value, bool)
    ]
    numbers = [variable for variable in map(variable_of, rows) if variable.is_number]
    # Of each two, the smaller one just above the other: what is left of `n` layers after the
    # `first` is less than none then. The larger comes down, so that no depth becomes large.
    values = {v.name: v.base for v in numbers if isinstance(v.base, int)}
    pairs = (sorted(pair, key=values.__getitem__) for pair in combinations(values, 2))
    crossings: list[dict[str, NameValue]] = [
        {small: values[small] + 1, large: values[small]}
        for small, large in pairs
        if 0 < values[small] < values[large]
    ]
    tracer = Tracer(lambda _: [traced.traces], lambda all_: [range(len(all_))], numbers)
    (run,) = tracer.build([{}]) if numbers else (None,)
    if run is None or run.error is not None:
        return switched + crossings
    sides: list[dict[str, NameValue]] = []
    for point in _beyond(run, tracer):
        change = {n: value for n, value in point.items() if differs(value, tracer.base[n])}
        if change and change not in sides:
            sides.append(change)
        if len(sides) == limits.BOUNDARIES:
            break
    return switched + crossings + sides


def _beyond(run: Run, tracer: Tracer) -> Iterator[Point]:
    """A point on each side; what the project itself asks comes first."""
    way = Exploration(tracer, (), Learned(), is_large=True)
    for kind, form in run.lost:
        way.lose(set(form.names) if kind == "loop" else set(), LOOP)
    way.ignore_loops(run)
    conditions = [c for c, place in run.decisions.items() if place not in way.ignored]
    decisions = [(c, conditions[:n]) for n, c in enumerate(conditions)]
    decisions.sort(key=lambda pair: "torch/nn/" in run.decisions[pair[0]])
    decisions += [(condition, conditions) for condition in _extremes(run, run.form)]
    for sides in zip_longest(*(_sides(condition) for condition, _ in decisions), fillvalue=()):
        for (_, above), side in zip(decisions, sides, strict=True):
            points = (way.search.satisfying([*above, condition], run.point) for condition in side)
            point = next((point for point in points if point is not None), None)
            if point and not any(_is_deep(point[name], run.point[name]) for name in way.lost):
                yield point


def _extremes(run: Run, form: Polynomial) -> Iterator[Condition]:
    """Which of two is the larger, for each `min` and `max` in the form."""
    for generator in form.generators:
        if isinstance(generator, Operation) and generator.kind in ("min", "max"):
            condition = Condition(">=", generator.parts[0] - generator.parts[1])
            yield condition if truth_of(condition)(run.point) else condition.negated
        for part in () if isinstance(generator, str) else generator.parts:
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
    negated = condition.negated
    if condition.operation != ">=" or not condition.is_whole:
        return [[negated]]
    bound = Polynomial.constant(condition.form.constant_term)
    farther = Condition(">=", negated.form - (bound if bound.constant_term > 0 else -bound))
    begin, end = Condition("==", negated.form), Condition("==", condition.form)
    return [[begin, negated], [farther], [end]]
