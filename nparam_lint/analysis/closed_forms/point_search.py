"""Finds arguments that meet conditions: for the other side of a decision, and to verify a form."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.compiled_form import NOWHERE, compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence

    from nparam_lint.analysis.closed_forms.conditions import Condition
    from nparam_lint.analysis.closed_forms.observations import Value, Variable
    from nparam_lint.analysis.closed_forms.traced_runs import Tracer

    Point = Mapping[str, Value]

_SMALL = range(1, 33)
_LOW = range(6)
_LARGE = (48, 56, 64, 96, 97, 101, 112, 128, 160, 192, 224, 255, 256, 257, 320, 384, 512, 768, 1000)
_HUGE = (1024, 2048, 3000, 4096, 8192, 10_000, 30_000, 32_768, 65_536, 100_000)
_FLOATS = (0.25, 0.5, 0.75, 1.0, 1.3, 1.5, 2.0, 2.67, 3.0, 4.0, 0.1, 1 / 3, 0.001)
_FACTORS = (Fraction(1, 4), Fraction(1, 2), Fraction(2), Fraction(3), Fraction(4), Fraction(8))
LOOPS = 12  # the most that something is repeated in a search
PAIRS, RANDOM, SCANNED = 1500, 2000, 3000  # points that are tried
NEAR = 64
FURTHEST = 4  # times the base, of the values that a form is verified with


class PointSearch:
    """`repeated`: variables that count loops: large values would only take long."""

    def __init__(self, tracer: Tracer, repeated: Container[str]) -> None:
        self.tracer, self.repeated = tracer, repeated
        self.random = random.Random(0)

    def pool(self, variable: Variable) -> list[Value]:
        """The values that a variable is tried with, those near its base first."""
        constants = sorted(self.tracer.constants)[:NEAR]
        base, least = variable.base, self.tracer.least[variable.name]
        if isinstance(base, float):
            found: list[Value] = [base, *(base * float(f) for f in _FACTORS), *_FLOATS]
            return list(dict.fromkeys(v for v in found if v > 0))  # type: ignore[operator]
        if not isinstance(base, int):
            return [base]
        others = [v for v in self.tracer.base.values() if type(v) is int]
        near = [base, base + 1, base - 1, *(int(base * f) for f in _FACTORS), 2 * base + 1]
        near += [c + step for c in constants for step in (0, 1, -1)]
        near += [*_SMALL, *others, *_LARGE, *_HUGE, *(n * o for n in (2, 4) for o in others)]
        kept = dict.fromkeys(v for v in near if v >= least)
        if variable.name in self.repeated:
            return [v for v in kept if v <= max(LOOPS, base)]
        return list(kept)

    def satisfying(self, conditions: Sequence[Condition], near: Point) -> dict[str, Value] | None:
        """A point that meets all conditions, as near as may be to one that meets most of them."""
        if self.tracer.implied.contradict(conditions):
            return None
        return next(self._candidates(conditions, near), None)

    def _candidates(
        self, conditions: Sequence[Condition], near: Point
    ) -> Iterator[dict[str, Value]]:
        goal, meets = conditions[-1], self.tracer.test_of(conditions)
        variables = {v.name: v for v in self.tracer.variables}
        names = [n for n in variables if any(n in c.names for c in conditions)]
        own = sorted(goal.names, key=lambda name: (name in self.repeated, names.index(name)))
        pools = {name: self.pool(variables[name]) for name in names}
        solve = {name: self.solver(goal, name) for name in own}
        if meets(near):
            yield dict(near)
        for name in own:
            for value in [*pools[name], *solve[name](near)]:
                point = {**near, name: value}
                if meets(point):
                    yield point
        for tries in range(PAIRS if len(names) > 1 else 0):
            number = 2 if tries % 2 else min(3, len(names))
            chosen = self.random.sample(names, number)
            point = {**near, **{name: self.random.choice(pools[name]) for name in chosen}}
            name = own[tries % len(own)]
            for value in solve[name](point)[:1]:
                point[name] = value
            if meets(point):
                yield point
        for name in own:  # a residue, or what lies between
            for value in range(1, SCANNED) if name not in self.repeated else ():
                if meets({**near, name: value}):
                    yield {**near, name: value}

    def solver(self, goal: Condition, name: str) -> Callable[[Point], list[Value]]:
        """The values of a whole variable near where a condition is met as an equality, if it is
        linear there."""
        if goal.left is not None or name not in self.tracer.whole:
            return lambda _: []
        names = sorted(goal.form.names)
        value, least = compiled(goal.form, names), self.tracer.least[name]

        def solve(point: Point) -> list[Value]:
            now = point[name]
            try:
                start = value(*(point[n] for n in names))
                step = value(*(point[n] + (n == name) for n in names)) - start  # type: ignore[operator]
            except (ArithmeticError, ValueError, TypeError):
                return []
            if not step or abs(start) >= NOWHERE or abs(step) >= NOWHERE:
                return []
            found = int(now - start // step)  # type: ignore[operator]
            return [v for v in (found, found + 1, found - 1) if v >= least]

        return solve

    def spread(
        self, conditions: Sequence[Condition], near: Point, number: int, fixed: frozenset[str]
    ) -> list[dict[str, Value]]:
        """Points in general position that meet all conditions, some of them near the edges."""
        return list(islice(self._scattered(conditions, near, fixed), number))

    def _scattered(
        self, conditions: Sequence[Condition], near: Point, fixed: frozenset[str]
    ) -> Iterator[dict[str, Value]]:
        variables = [v for v in self.tracer.variables if v.name not in fixed]
        pools = {v.name: self.pool(v) for v in variables}
        for v in variables:  # where a table grows with the square, a large value takes minutes
            if isinstance(v.base, int):
                most = max(FURTHEST * v.base, 64, *self.tracer.constants) + 1
                pools[v.name] = [value for value in pools[v.name] if value <= most]  # type: ignore[operator]
        meets = self.tracer.test_of(conditions)
        equal = [
            [(name, self.solver(c, name)) for name in sorted(c.names - fixed)]
            for c in conditions
            if c.operation == "==" and c.left is None and c.names - fixed
        ]
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
            for own in equal:
                name, solve = own[self.random.randrange(len(own))]
                for value in solve(point)[:1]:
                    point[name] = value
            if meets(point) and point not in seen:
                seen.append(point)
                yield point
