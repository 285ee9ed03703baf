"""Which arguments to build a model with, to find out what its count depends on."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, count, islice, product
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.constraints import Constraint, repaired
from nparam_lint.analysis.closed_forms.observations import (
    Point,
    Value,
    Variable,
    exact,
    whole_numbers,
    written,
)
from nparam_lint.analysis.closed_forms.polynomial import place_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.analysis.closed_forms.polynomial import Polynomial, Values

FAR = 6  # points beyond all others, at least
WILD = 12  # points without regard for what is usual
PAIRS = 36  # of widths that are made equal
SMALL = 16  # a number below this is varied between 1 and 8: it is a number of layers, heads, …


def probes(variable: Variable) -> list[Value]:
    """Two or three other values that show whether a variable has any effect."""
    if variable.choices:
        return [value for value in variable.choices if value != variable.base]
    base = variable.base
    if isinstance(base, float):
        return [base * 2, base / 2] if base else [0.5, 1.0]
    assert isinstance(base, int)
    return [base + 1, base * 2] if base > 0 else [base + 1, base + 2]


def line(variable: Variable) -> list[Value]:
    """Values for one variable alone, the others as they are."""
    base = variable.base
    if variable.choices:
        return [value for value in variable.choices if value != base]
    if isinstance(base, float):
        # Multiples of a power of two: a product with them is the same in floating point.
        step = 2.0 ** (math.floor(math.log2(base)) - 5) if base > 0 else 0.5
        values = [
            round(base * f / step) * step for f in (0.25, 0.4, 0.6, 0.85, 1.15, 1.7, 2.0, 3.0)
        ]
        return [value for value in values if value not in (base, 0.0)]
    assert isinstance(base, int)
    near = [base + step for step in (1, 2, 3, 4, 8, -1)]
    far = [base * 2, base // 2]
    low = range(1, 9) if base < SMALL else ()
    return [v for v in dict.fromkeys([*low, *near, *far]) if v > 0 and v != base]


@dataclass(slots=True)
class Sampler:
    """Chooses points. `variables`: what is varied; `lines`: values that each of them was built
    with; `rules`: what has to hold at all points; `free`: names that may have other values, too."""

    variables: list[Variable] = field(default_factory=list)
    lines: dict[str, list[Value]] = field(default_factory=dict)
    rules: list[Constraint] = field(default_factory=list)
    free: set[str] = field(default_factory=set)
    dice: random.Random = field(default_factory=lambda: random.Random(0))  # the same every time

    @property
    def base(self) -> dict[str, Value]:
        return {v.name: v.base for v in self.variables}

    def scattered(self) -> Iterator[Point]:
        """An endless sequence of points: every second one differs from the base in only two or
        three variables, the others in all of them."""
        base, numbers = self.base, [v for v in self.variables if not v.choices]
        for turn in count():
            point, chosen = dict(base), self.variables
            if turn % 2 and len(chosen) > 3:
                chosen = self.dice.sample(chosen, self.dice.choice((2, 3)))
            for variable in chosen:
                at_will = variable.name in self.free and turn % 4 < 2
                point[variable.name] = self._value(variable, at_will)
            allowed = self._allowed(point, numbers)
            if allowed is not None and allowed != base:
                yield allowed

    def far(self, points: Sequence[Point]) -> Iterator[Point]:
        """For each variable a point far beyond all values that it had (some, where there are few of
        them): what only fits between them fails there."""
        whole = whole_numbers(self.variables)
        for name in [*whole] * -(-FAR // max(len(whole), 1)):
            # Many layers of many experts each would take long to build.
            point = dict(points[0] if whole[name] < SMALL else self.dice.choice(points))
            most = max(value for p in points if isinstance(value := p[name], int))
            point[name] = most * 2 + self.dice.randint(1, most)
            allowed = self._allowed(point)
            if allowed is not None and exact(allowed[name]) > most:
                yield allowed

    def wild(self) -> Iterator[Point]:
        """Points at which usually large values may be small, and vice versa: a bound that no other
        point reached (`max(divisor, …)`) shows there."""
        whole = whole_numbers(self.variables)
        for _ in range(WILD):
            point: dict[str, Value] = {}
            for variable in self.variables:
                name = variable.name
                if name in whole and name in self.free:
                    high = 12 if whole[name] < SMALL else 8 * whole[name]
                    point[name] = min(high, int(2 ** self.dice.uniform(0, math.log2(high + 1))))
                else:
                    point[name] = self._value(variable, at_will=False)
            allowed = self._allowed(point)
            if allowed is not None:
                yield allowed

    def equal(self) -> Iterator[Point]:
        """Points at which two widths are equal, and all small numbers are one as well: there,
        models leave out what they do not need (a projection, a shortcut)."""
        free = {n: value for n, value in whole_numbers(self.variables).items() if n in self.free}
        ones = {name: 1 for name, value in free.items() if value < SMALL}
        for one, other in islice(combinations([n for n in free if n not in ones], 2), PAIRS):
            for point in ({one: free[other]}, {one: free[other], **ones}):
                # What a form is limited to has been found with these points: it is kept, not they.
                allowed = self._allowed({**self.base, **point})
                if allowed is not None and allowed[one] == allowed[other]:
                    yield allowed

    def low(self) -> Iterator[Point]:
        """Each whole number alone at its least values: one alone is often made in another way."""
        for (name, base), value in product(whole_numbers(self.variables).items(), (1, 2)):
            allowed = self._allowed({**self.base, name: value}) if base > 2 else None
            if allowed is not None:
                yield allowed

    def _allowed(self, point: Point, variables: Sequence[Variable] | None = None) -> Point | None:
        """The point, with as few other numbers as are easy to find so that the rules hold, changing
        these `variables` alone."""
        changed = self.variables if variables is None else variables
        numbers = {v.name: exact(point[v.name]) for v in changed if v.is_number}
        allowed = repaired(numbers, [r for r in self.rules if r.names <= numbers.keys()])
        if allowed is None:
            return None
        return {**point, **{n: written(v) for n, v in allowed.items() if v != numbers[n]}}

    def _value(self, variable: Variable, at_will: bool) -> Value:
        if variable.choices:
            return self.dice.choice([variable.base, *variable.choices])
        base = variable.base
        if isinstance(base, float) or not at_will:
            return self.dice.choice([base, *self.lines[variable.name]])
        assert isinstance(base, int)
        if base < SMALL:
            return self.dice.randint(1, 8)
        return self.dice.randint(max(2, base // 4), 2 * base)

    def edges(self, form: Polynomial, base: Values) -> Iterator[Values]:
        """Points at which the rounded quotients of a form are about to change, each in one
        variable."""
        for generator in sorted(form.generators, key=place_of):
            if isinstance(generator, str) or generator.kind == "**":
                continue
            if generator.is_rounded:
                yield from self._edges(generator.left, generator.right, base)
            else:
                yield from self.edges(generator.left, base)
                yield from self.edges(generator.right, base)

    def _edges(self, top: Polynomial, bottom: Polynomial, base: Values) -> Iterator[Values]:
        # Where it is below one: what is kept from vanishing shows there.
        small = {name: Fraction(1) for name in top.names - bottom.names}
        large = {name: 8 * base[name] for name in bottom.names}
        yield {**base, **large}
        yield {**base, **large, **small}
        above, below = top.value(base), bottom.value(base)
        for name in sorted(top.names):
            yield {**base, name: Fraction(1)}
            if top.factors and above > 0 and below > 0:
                # A power of two: a product with it is the same in floating point.
                share = base[name] * below / above
                yield {**base, name: Fraction(2) ** (math.ceil(math.log2(share)) - 1)}
            if base[name].denominator != 1:
                continue
            slope = top.value({**base, name: base[name] + 1}) - above
            if slope <= 0 or below <= 0:
                continue
            multiple = below * self.dice.randint(1, 4) + below * (above // below)
            value = base[name] + (multiple - above) // slope
            for step in (-1, 0, 1, 2):
                if value + step > 0:
                    yield {**base, name: Fraction(int(value + step))}
