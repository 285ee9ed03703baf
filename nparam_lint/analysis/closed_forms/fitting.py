"""Finds the formula of a quantity that was observed at some points: exactly, or not at all.

A point gives each name a value. A formula that is found holds at every given point, and there were
more points than unknowns. The caller verifies it at other points before it prints it.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, permutations, product
from math import comb
from typing import TYPE_CHECKING

from msgspec import Struct

from nparam_lint.analysis.closed_forms import limits
from nparam_lint.analysis.closed_forms.algebra import bounded
from nparam_lint.analysis.closed_forms.polynomial import (
    ONE,
    Bound,
    Generator,
    Number,
    Operation,
    Polynomial,
    Rounding,
    evaluate,
    monomial_of,
    power_of_two,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nparam_lint.analysis.closed_forms.polynomial import Values

PRIME = (1 << 61) - 1  # systems are solved modulo this; solutions are checked exactly
_NUMERATOR, _DENOMINATOR = 1 << 46, 1 << 10  # of coefficients; others are a sign of chance
DIVISORS = (2, 3, 4, 8, 16, 32, 64, 5, 6, 10, 12, 128, 256)  # the usual ones first


class Samples(Struct, frozen=True):
    """Points, and what was observed there."""

    points: Sequence[Values]
    observed: Sequence[Number]

    def column(self, generator: Generator) -> list[int] | None:
        """The residues of a generator at all points; None where it has no value at one of them."""
        try:
            return [residue(evaluate(generator, point)) for point in self.points]
        except ZeroDivisionError:
            return None

    def some(self, indices: Sequence[int]) -> Samples:
        """Those at some of the points."""
        observed = [self.observed[i] for i in indices] if self.observed else []
        return Samples([self.points[i] for i in indices], observed)

    def line(self, name: str, names: Sequence[str]) -> Samples:
        """Those at points that differ from the first in one of the names alone, the first among
        them; one for each value."""
        start, fixed = self.points[0], [n for n in names if n != name]
        line = [i for i, p in enumerate(self.points) if all(p[n] == start[n] for n in fixed)]
        return self.some([*{self.points[i][name]: i for i in reversed(line)}.values()][::-1])

    def agree(self, form: Polynomial) -> bool:
        """Whether a form gives what was observed."""
        pairs = zip(self.points, self.observed, strict=True)
        return all(form.value(point) == value for point, value in pairs)

    def depend_only_on(self, names: Sequence[str]) -> bool:
        """Whether what was observed is the same at points that agree in these names."""
        pairs = zip(self.points, self.observed, strict=True)
        distinct = {(tuple(point[name] for name in names), value) for point, value in pairs}
        return len(dict(distinct)) == len(distinct)


def residue(number: Number) -> int:
    """A fraction modulo PRIME."""
    if number.denominator == 1:
        return number.numerator % PRIME
    return number.numerator * pow(number.denominator, -1, PRIME) % PRIME


def fit(samples: Samples, names: Iterable[str]) -> Polynomial | None:
    """The simplest form in these names that gives what was observed at every point: a polynomial,
    then one in powers of two, or in rounded quotients; None where there is none, or where the
    points are too few."""
    names = sorted(names)
    form = (
        polynomial(samples, names, range(limits.DEGREE + 1))
        or _bounded(samples, names)
        or _doubling(samples, names)
    )
    if form:
        return form
    candidates = quotients(samples, names)
    forms = (polynomial(samples, [q, *names], range(1, limits.DEGREE)) for q in candidates)
    return next(filter(None, forms), None)


# --- polynomials ------------------------------------------------------------------------------


def polynomial(
    samples: Samples,
    generators: Sequence[Generator],
    degrees: Iterable[int],
    spare: int = limits.SPARE,
) -> Polynomial | None:
    """The polynomial of the lowest of these degrees that gives what was observed; None also where
    there are fewer than `spare` points more than unknowns."""
    columns = [column for g in generators if (column := samples.column(g)) is not None]
    if len(columns) < len(generators):
        return None
    # Rows that say something new: points may differ in names that do not matter here.
    rows = list(dict.fromkeys(zip(*columns, map(residue, samples.observed), strict=True)))
    for degree in degrees:
        if comb(len(generators) + degree, degree) > limits.TERMS:
            return None
        # Those of low degree first, each as the places of its factors.
        places = range(len(generators))
        monomials = [
            factors
            for number in range(degree + 1)
            for factors in combinations_with_replacement(places, number)
        ]
        solution = _solve(rows, monomials, spare)
        if solution is None:
            continue
        names = (monomial_of((generators[place], 1) for place in m) for m in monomials)
        form = Polynomial.of(dict(zip(names, solution, strict=True)))
        if samples.agree(form):
            return form
    return None


def _solve(
    rows: Sequence[tuple[int, ...]], monomials: Sequence[tuple[int, ...]], spare: int
) -> list[Number] | None:
    """The coefficients of a solution that has to hold at more points than it has unknowns; None
    where there is none. Each row: the values of the generators, and that of the form. Where the
    points cannot tell monomials apart (`d` is always `h * (d//h)`), those of low degree are taken,
    then those in the first generators."""
    width = len(monomials)
    pivots: dict[int, list[int]] = {}
    proofs = 0
    for row in rows:
        values: dict[tuple[int, ...], int] = {(): 1}
        for monomial in monomials[1:]:
            values[monomial] = values[monomial[:-1]] * row[monomial[-1]] % PRIME
        line = [*values.values(), row[-1]]
        for column in range(width + 1):
            if not line[column]:
                continue
            if column == width:
                return None  # no polynomial of this degree has these values
            if column in pivots:
                factor, pivot = line[column], pivots[column]
                line = [(a - factor * b) % PRIME for a, b in zip(line, pivot, strict=True)]
            else:
                inverse = pow(line[column], -1, PRIME)
                pivots[column] = [a * inverse % PRIME for a in line]
                break
        else:
            proofs += 1
    if proofs < spare:
        return None
    solution = [0] * width
    for column in sorted(pivots, reverse=True):
        line = pivots[column]
        solved = sum(line[i] * solution[i] for i in range(column + 1, width))
        solution[column] = (line[width] - solved) % PRIME
    fractions = [f for number in solution if (f := _rational(number)) is not None]
    return fractions if len(fractions) == width else None


def _rational(residue: int) -> Number | None:
    """The fraction of small numbers that has this residue (half of Euclid's algorithm)."""
    high, low = PRIME, residue
    before, now = 0, 1
    while low > _NUMERATOR:
        quotient = high // low
        high, low = low, high - quotient * low
        before, now = now, before - quotient * now
    return Fraction(low, now) if 0 < abs(now) <= _DENOMINATOR else None


def _bounded(samples: Samples, names: Sequence[str]) -> Polynomial | None:
    """What is never below, or never above, a name or a number: `max(8, d // 16)`."""
    observed = samples.observed
    multiples = []  # names, times what is most often observed for one of each
    for name in names:
        pairs = zip(samples.points, observed, strict=True)
        ratios = Counter(Fraction(value, point[name]) for point, value in pairs if point[name])
        factors = dict.fromkeys([Fraction(1), *(ratio for ratio, _ in ratios.most_common(2))])
        multiples += [Polynomial.generator(name) * factor for factor in factors if factor > 0]
    ends: tuple[tuple[Bound, Number], ...] = ("max", min(observed)), ("min", max(observed))
    for kind, end in ends:
        for bound in [Polynomial.constant(end), *multiples]:
            bounds = [bound.value(point) for point in samples.points]
            free = [i for i, o in enumerate(observed) if o != bounds[i]]
            is_crossed = any((observed[i] < bounds[i]) is (kind == "max") for i in free)
            if is_crossed or not free or len(observed) - len(free) < limits.SPARE:
                continue
            unbounded = polynomial(samples.some(free), names, (1, 2))
            if unbounded is not None:
                form = bounded(kind, bound, unbounded)
                if samples.agree(form):
                    return form
    return None


def _doubling(samples: Samples, names: Sequence[str]) -> Polynomial | None:
    """What doubles with every level, summed over the levels: `base**2*(4**depth - 1)`; with the
    number of levels in no other place, then with it."""
    for name in names:
        power, line = power_of_two(name), samples.line(name, names)
        levels = {point[name] for point in line.points}
        if not all(n.denominator == 1 and 0 <= n <= limits.LEVELS for n in levels):
            continue
        # Where the levels alone differ, there is such a form, and no polynomial in them.
        ways: tuple[list[Generator], ...] = ([power], [name, power])
        if polynomial(line, [name], range(limits.DEGREE + 1), spare=1) or not any(
            polynomial(line, way, range(1, limits.DEGREE)) for way in ways
        ):
            continue
        for bases in ([base for base in names if base != name], names):
            form = polynomial(samples, [*bases, power], range(1, limits.DEGREE + 3))
            if form:
                return form
    return None


# --- rounded quotients ------------------------------------------------------------------------


def quotients(samples: Samples, names: Sequence[str]) -> Iterator[Operation]:
    """Rounded quotients that a formula might be a polynomial in."""
    generator = Polynomial.generator
    pairs = [(generator(a), generator(b)) for a, b in permutations(names, 2)]
    pairs += product(map(generator, names), map(Polynomial.constant, DIVISORS))
    kinds: tuple[Rounding, ...] = ("floor", "ceil")
    rounded = [Operation(kind, pair) for pair in pairs for kind in kinds]
    for a, b in combinations(names, 2):
        if any(p[a].denominator > 1 or p[b].denominator > 1 for p in samples.points):
            rounded.append(Operation("floor", (generator(a) * generator(b), ONE)))
    return (q for q in rounded if len(set(samples.column(q) or ())) > 1)
