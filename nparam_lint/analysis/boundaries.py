"""Arguments on all sides of the conditions that a constructor asks for: there a formula may be
wrong that is right for the declared ones."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.conditions import Condition
from nparam_lint.analysis.closed_forms.exploration import LOOP, Exploration, Learned
from nparam_lint.analysis.closed_forms.observations import differs, exactly, variable_of
from nparam_lint.analysis.closed_forms.polynomial import Polynomial
from nparam_lint.analysis.closed_forms.traced_runs import Tracer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.analysis.closed_forms.observations import Point
    from nparam_lint.analysis.closed_forms.traced_runs import Run
    from nparam_lint.records import Measured, NameValue

MOST = 12  # calls for one model
DEEP = 32  # repetitions that never take long


def boundaries(traced: Measured) -> list[dict[str, NameValue]]:
    """What differs from the arguments of the call, for each further call: beyond each condition on
    its path, and where it just changes. `traced`: a build with traced numbers at the call's own
    arguments; nothing where it could not be traced."""
    rows = [row for row in traced.variables if row.name in traced.names]
    numbers = [one for one in map(variable_of, rows) if one.is_number]
    base = {variable.name: variable.base for variable in numbers}
    tracer = Tracer(lambda _: traced.traces, lambda all_: all_, numbers, base)
    (run,) = tracer.build([{}]) if base else (None,)
    if run is None or run.error is not None:
        return []
    found = []
    for point in _beyond(run, tracer):
        changed = {name: value for name, value in point.items() if differs(value, base[name])}
        if changed and changed not in found:
            found.append(changed)
        if len(found) == MOST:
            break
    return found


def _beyond(run: Run, tracer: Tracer) -> Iterator[Point]:
    """A point on each side; what the project itself asks comes first."""
    way = Exploration(tracer, (), Learned(), is_large=True)
    for kind, form in run.lost:
        way.lose(set(form.names) if kind == "loop" else set(), LOOP)
    way.ignore_loops(run)
    taken = [d for d in run.decisions if d.place not in way.ignored]
    before = {d.condition: [one.condition for one in taken[:n]] for n, d in enumerate(taken)}
    taken.sort(key=lambda decision: "torch/nn/" in decision.place)
    for sides in zip_longest(*(_sides(d.condition, tracer) for d in taken)):
        for decision, side in zip(taken, sides, strict=True):
            above = before[decision.condition]
            point = side and way.search.satisfying([*above, side], run.point)
            if point and not any(_is_deep(point[name], run.point[name]) for name in way.lost):
                yield point


def _is_deep(value: NameValue, base: NameValue) -> bool:
    """Whether so many repetitions would take long."""
    numbers = int, float
    return isinstance(value, numbers) and isinstance(base, numbers) and value > 4 * base + DEEP


def _sides(condition: Condition, tracer: Tracer) -> list[Condition]:
    """Its other side; of a bound also what lies farther beyond it, and the bound itself."""
    other = condition.negated
    if condition.operation != ">=" or condition.left is not None:
        return [other]
    bound = Polynomial.constant(condition.form.constant_term)
    farther = Condition(">=", other.form - (bound if bound.constant_term > 0 else -bound))
    edge = Condition("==", condition.form)
    tracer.tests.setdefault(farther, lambda point: farther.form.value(exactly(point)) >= 0)
    tracer.tests.setdefault(edge, lambda point: edge.form.value(exactly(point)) == 0)
    return [other, farther, edge]
