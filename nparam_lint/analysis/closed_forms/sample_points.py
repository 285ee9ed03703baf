"""Which arguments to build a model with, to find out what its count depends on."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, count, islice
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.constraint_inference import Constraint, repaired
from nparam_lint.analysis.closed_forms.observations import Point, Value, Variable, exact
from nparam_lint.analysis.closed_forms.polynomial import Extreme, Rounded

if TYPE_CHECKING:
    import random
    from collections.abc import Container, Iterator, Mapping, Sequence

    from nparam_lint.analysis.closed_forms.polynomial import Polynomial

FAR = 6  # points beyond all others, at least
WILD = 12  # points without regard for what is usual
PAIRS = 36  # of widths that are made equal
SMALL = 16  # a number below this is varied between 1 and 8: it is a number of layers, heads, …


def probes(variable: Variable) -> list[Value]:
    """Two or three other values that show whether a variable matters at all."""
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


def scattered(
    variables: Sequence[Variable],
    rules: Sequence[Constraint],
    lines: Mapping[str, Sequence[Value]],
    free: Container[str],
    dice: random.Random,
) -> Iterator[dict[str, Value]]:
    """Points without end: every other one differs from the base in two or three variables only, the
    others in all of them. `lines`: values that each variable was built with, the others as they
    are; only those that are `free` are given others."""
    base = {v.name: v.base for v in variables}
    open_ = [v for v in variables if not v.choices]
    for turn in count():
        point = dict(base)
        chosen = list(variables)
        if turn % 2 and len(variables) > 3:
            chosen = dice.sample(chosen, dice.choice((2, 3)))
        for variable in chosen:
            name = variable.name
            at_will = name in free and turn % 4 < 2
            point[name] = _value(variable, lines.get(name, ()), at_will, dice)
        allowed = _allowed(point, open_, rules)
        if allowed is not None and allowed != base:
            yield allowed


def far(
    variables: Sequence[Variable],
    points: Sequence[Point],
    rules: Sequence[Constraint],
    dice: random.Random,
) -> list[dict[str, Value]]:
    """For each variable a point far beyond all values that it had (some, where there are few of
    them): what only fits between them fails there."""
    found: list[dict[str, Value]] = []
    whole = [v for v in variables if not v.choices and isinstance(v.base, int)]
    for variable in whole * -(-FAR // max(len(whole), 1)):
        # Many layers of many experts each would take long to build.
        deep = isinstance(variable.base, int) and variable.base < SMALL
        point = dict(points[0] if deep else dice.choice(points))
        most = max(value for p in points if isinstance(value := p[variable.name], int))
        point[variable.name] = most * 2 + dice.randint(1, most)
        allowed = _allowed(point, variables, rules)
        if allowed is not None and exact(allowed[variable.name]) > most and allowed not in found:
            found.append(allowed)
    return found


def low(variables: Sequence[Variable], rules: Sequence[Constraint]) -> list[dict[str, Value]]:
    """Each whole number alone at its least values: a single one is often made in another way."""
    base = {v.name: v.base for v in variables}
    whole = [v.name for v in variables if not v.choices and isinstance(v.base, int) and v.base > 2]
    points = (
        _allowed({**base, name: value}, variables, rules) for name in whole for value in (1, 2)
    )
    return [point for point in points if point is not None]


def _allowed(
    point: Mapping[str, Value], variables: Sequence[Variable], rules: Sequence[Constraint]
) -> dict[str, Value] | None:
    """The point, with as few other numbers as are easy to find so that the rules hold."""
    exactly = {v.name: exact(point[v.name]) for v in variables if v.is_number}
    allowed = repaired(exactly, [r for r in rules if r.names <= exactly.keys()])
    if allowed is None:
        return None
    return {**point, **{n: written(v) for n, v in allowed.items() if v != exactly[n]}}


def _value(variable: Variable, known: Sequence[Value], at_will: bool, dice: random.Random) -> Value:
    if variable.choices:
        return dice.choice([variable.base, *variable.choices])
    base = variable.base
    if isinstance(base, float) or not at_will:
        return dice.choice([base, *known])
    assert isinstance(base, int)
    if base < SMALL:
        return dice.randint(1, 8)
    return dice.randint(max(2, base // 4), 2 * base)


def wild(
    variables: Sequence[Variable],
    rules: Sequence[Constraint],
    lines: Mapping[str, Sequence[Value]],
    free: Container[str],
    dice: random.Random,
) -> list[dict[str, Value]]:
    """Points at which what is usually large may be small, and the other way round: a bound that
    nothing came near (`max(divisor, …)`) shows there."""
    found = []
    for _ in range(WILD):
        point: dict[str, Value] = {}
        for variable in variables:
            name, base = variable.name, variable.base
            if isinstance(base, int) and not variable.choices and name in free:
                high = 12 if base < SMALL else 8 * base
                point[name] = min(high, int(2 ** dice.uniform(0, math.log2(high + 1))))
            else:
                point[name] = _value(variable, lines.get(name, ()), False, dice)
        allowed = _allowed(point, variables, rules)
        if allowed is not None:
            found.append(allowed)
    return found


def equal(
    variables: Sequence[Variable], free: Container[str], rules: Sequence[Constraint]
) -> list[dict[str, Value]]:
    """Points at which two widths are the same, all that is small being one as well: what is left
    out where it is not needed (a projection, a shortcut) is left out there."""
    large = {
        v.name: v.base
        for v in variables
        if isinstance(v.base, int) and v.base >= SMALL and not v.choices and v.name in free
    }
    small = {
        v.name: 1
        for v in variables
        if isinstance(v.base, int) and v.base < SMALL and not v.choices and v.name in free
    }
    base = {v.name: v.base for v in variables}
    found: list[dict[str, Value]] = []
    for one, other in islice(combinations(large, 2), PAIRS):
        for point in ({one: large[other]}, {one: large[other], **small}):
            # What a form is limited to has been found with these points: it is kept, not they.
            allowed = _allowed({**base, **point}, variables, rules)
            if allowed is not None and allowed[one] == allowed[other]:
                found.append(allowed)
    return found


def written(number: Fraction) -> int | float:
    """A number as an argument."""
    return int(number) if number.denominator == 1 else float(number)


def edges(
    form: Polynomial, base: Mapping[str, Fraction], dice: random.Random
) -> list[dict[str, Fraction]]:
    """Points at which the rounded quotients of a form are about to change, each in one variable."""
    found = []
    for generator in form.generators:
        if isinstance(generator, Rounded):
            found += list(_edges(generator, base, dice))
        elif isinstance(generator, Extreme):
            found += [*edges(generator.left, base, dice), *edges(generator.right, base, dice)]
    return found


def _edges(
    rounded: Rounded, base: Mapping[str, Fraction], dice: random.Random
) -> Iterator[dict[str, Fraction]]:
    # Where it is below one: what is kept from vanishing shows there.
    small = {name: Fraction(1) for name in rounded.top.names - rounded.bottom.names}
    large = {name: 8 * base[name] for name in rounded.bottom.names}
    yield {**base, **large}
    yield {**base, **large, **small}
    for name in sorted(rounded.top.names):
        yield {**base, name: Fraction(1)}
        top, bottom = rounded.top.value(base), rounded.bottom.value(base)
        if rounded.top.factors and top > 0 and bottom > 0:
            # A power of two: a product with it is the same in floating point.
            share = base[name] * bottom / top
            yield {**base, name: Fraction(2) ** (math.ceil(math.log2(share)) - 1)}
        if base[name].denominator != 1:
            continue
        slope = rounded.top.value({**base, name: base[name] + 1}) - top
        if slope <= 0 or bottom <= 0:
            continue
        multiple = bottom * dice.randint(1, 4) + bottom * (top // bottom)
        value = base[name] + (multiple - top) // slope
        for step in (-1, 0, 1, 2):
            if value + step > 0:
                yield {**base, name: Fraction(int(value + step))}
