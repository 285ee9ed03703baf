"""Finds arguments that meet conditions: for the other side of a decision, and to verify a form."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nparam_lint.analysis.closed_forms.conditions import Condition
    from nparam_lint.analysis.closed_forms.observations import Value, Variable
    from nparam_lint.analysis.closed_forms.traced_runs import Tracer

    Point = Mapping[str, Value]

_SMALL = range(1, 33)
_LOW = range(6)
_LARGE = (48, 56, 64, 96, 97, 101, 112, 128, 160, 192, 224, 255, 256, 257, 320, 384, 512, 768, 1000)
_HUGE = (1024, 2048, 3000, 4096, 8192, 10_000, 30_000, 32_768, 65_536, 100_000)
_FLOATS = (0.25, 0.5, 0.75, 1.0, 1.3, 1.5, 2.0, 2.67, 3.0, 4.0, 0.1, 1 / 3)
_FACTORS = (Fraction(1, 4), Fraction(1, 2), Fraction(2), Fraction(3), Fraction(4), Fraction(8))
LOOPS = 12  # the most that something is repeated in a search
PAIRS, RANDOM = 4000, 3000  # points that are tried
NEAR = 64


class PointSearch:
    """`repeated`: variables that count loops: large values would only take long."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer
        self.repeated: set[str] = set()
        self.random = random.Random(0)

    def pool(self, variable: Variable, constants: Sequence[int] = ()) -> list[Value]:
        """The values that a variable is tried with, those near its base first."""
        base, least = variable.base, self.tracer.least[variable.name]
        if isinstance(base, float):
            found: list[Value] = [base, *(base * float(f) for f in _FACTORS), *_FLOATS]
            return list(dict.fromkeys(v for v in found if v > 0))  # type: ignore[operator]
        if not isinstance(base, int):
            return [base]
        others = [v for v in self.tracer.base.values() if type(v) is int]
        near = [base, base + 1, base - 1, *(int(base * f) for f in _FACTORS), 2 * base + 1]
        near += [c + step for c in constants for step in (0, 1, -1)]
        near += [*_SMALL, *others, *_LARGE, *_HUGE, *(2 * o for o in others), *(4 * o for o in others)]
        kept = dict.fromkeys(v for v in near if v >= least)
        if variable.name in self.repeated:
            return [v for v in kept if v <= max(LOOPS, base)]
        return list(kept)

    def satisfying(self, conditions: Sequence[Condition], near: Point) -> dict[str, Value] | None:
        """A point that meets all conditions, as near as may be to one that meets most of them."""
        goal = conditions[-1]
        return next(self._candidates(conditions, goal, near), None)

    def _candidates(
        self, conditions: Sequence[Condition], goal: Condition, near: Point
    ) -> Iterator[dict[str, Value]]:
        holds, variables = self.tracer.holds, {v.name: v for v in self.tracer.variables}
        constants = sorted(self.tracer.constants)[:NEAR]
        own = [name for name in variables if name in goal.names]
        own.sort(key=lambda name: name in self.repeated)
        if holds(conditions, near):
            yield dict(near)
        for name in own:
            for value in [*self.pool(variables[name], constants), *self.solved(goal, name, near)]:
                point = {**near, name: value}
                if holds(conditions, point):
                    yield point
        names = [n for n in variables if any(n in c.names for c in conditions)]
        pools = {name: self.pool(variables[name], constants) for name in names}
        for tries in range(PAIRS if len(names) > 1 else 0):
            number = 2 if tries % 2 else min(3, len(names))
            chosen = self.random.sample(names, number)
            point = {**near, **{name: self.random.choice(pools[name]) for name in chosen}}
            if own:
                name = self.random.choice(own)
                solved = self.solved(goal, name, point)
                point.update({name: self.random.choice(solved)} if solved else {})
            if holds(conditions, point):
                yield point
        for name in own:  # a residue, or what lies between
            for value in range(1, 5000):
                if name not in self.repeated and holds(conditions, {**near, name: value}):
                    yield {**near, name: value}

    def solved(self, goal: Condition, name: str, near: Point) -> list[Value]:
        """The value of a variable in which an equality, or a bound, is linear."""
        if goal.left is not None or name not in self.tracer.whole:
            return []
        point = {
            n: Fraction(repr(v)) if isinstance(v, float) else Fraction(v)
            for n, v in near.items()
            if isinstance(v, int | float)
        }
        try:
            start = goal.form.value(point)
            step = goal.form.value({**point, name: point[name] + 1}) - start
        except ArithmeticError:
            return []
        if not step:
            return []
        found = point[name] - start / step
        values = [int(found) + more for more in (0, 1, -1)]
        return [v for v in values if v >= self.tracer.least[name]]

    def spread(
        self, conditions: Sequence[Condition], near: Point, number: int, fixed: frozenset[str]
    ) -> list[dict[str, Value]]:
        """Points in general position that meet all conditions, some of them near the edges."""
        found: list[dict[str, Value]] = []
        for point in islice(self._scattered(conditions, near, fixed), number):
            found.append(point)
        return found

    def _scattered(
        self, conditions: Sequence[Condition], near: Point, fixed: frozenset[str]
    ) -> Iterator[dict[str, Value]]:
        variables = [v for v in self.tracer.variables if v.name not in fixed]
        constants = sorted(self.tracer.constants)[:NEAR]
        pools = {v.name: self.pool(v, constants) for v in variables}
        equal = [c for c in conditions if c.operation == "==" and c.left is None]
        seen: list[dict[str, Value]] = []
        for tries in range(RANDOM):
            share = (1.0, 0.5, 0.25, 1.0)[tries % 4]
            point = dict(near)
            for variable in variables:
                name, values = variable.name, pools[variable.name]
                if tries % 4 == 3:  # where what is small is made in another way
                    values = [v for v in values if v in _LOW] or values
                if self.random.random() < share:
                    point[name] = self.random.choice(values)
            for condition in equal:
                names = sorted(condition.names - fixed)
                if names:
                    name = self.random.choice(names)
                    solved = self.solved(condition, name, point)
                    point.update({name: solved[0]} if solved else {})
            if point not in seen and self.tracer.holds(conditions, point):
                seen.append(point)
                yield point
