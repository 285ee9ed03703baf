"""Finds the formula of a quantity that was observed at some points: exactly, or not at all.

A point gives each name a value. What is found holds at every point that it was found from, and
there were more points than unknowns; whoever prints it verifies it at others first.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product as product_range
from itertools import repeat
from math import comb
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.polynomial import (
    PRIME,
    DesignMatrix,
    Exponential,
    Extreme,
    Generator,
    Monomial,
    Polynomial,
    Rounded,
    product,
    residue,
)
from nparam_lint.analysis.closed_forms.rounding import multiple, quotients

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from nparam_lint.analysis.closed_forms.polynomial import Values

SPARE = 3  # points beyond the number of unknowns that a solution has to hold at
DEGREE = 4  # the highest total degree that is looked for
LEVELS = 64  # the most that anything doubles by
TERMS = 130  # unknowns of one system
_NUMERATOR, _DENOMINATOR = 1 << 46, 1 << 10  # of coefficients; others are a sign of chance


def fit(
    matrix: DesignMatrix,
    observed: Sequence[Fraction],
    names: Iterable[str],
    spare: int = SPARE,
    *,
    rounded: bool = True,
) -> Polynomial | None:
    """The simplest form in these names that gives what was observed at every point: a polynomial,
    then one in powers of two, or in rounded quotients; None where there is none, or where the
    points are too few: there must be `spare` more than unknowns. Without `rounded` quotients, of
    which there are many, it takes no time."""
    names = sorted(names)
    if not matrix.points:
        return None
    found = polynomial(matrix, observed, names, range(DEGREE + 1 if names else 1), spare)
    found = found or multiple(matrix.points, observed, names)
    found = found or _bounded(matrix, observed, names, spare)
    found = found or _doubling(matrix, observed, names, spare)
    if found or not rounded:
        return found
    lines = _lines(matrix, observed, names)
    for atoms in quotients(matrix, names):
        if _explains(atoms, lines):
            degrees = (1, 2, 3)[: 4 - len(atoms)]
            found = polynomial(matrix, observed, [*atoms, *names], degrees, spare)
            if found:
                return found
    return None


@dataclass(frozen=True, slots=True)
class _Axis:
    """What was seen where one name alone was varied; `straight`: there is a polynomial in it."""

    matrix: DesignMatrix
    observed: Sequence[Fraction]
    straight: bool


def _lines(
    matrix: DesignMatrix, observed: Sequence[Fraction], names: Sequence[str]
) -> dict[str, _Axis]:
    """From the first point, where they are long enough to tell."""
    found = {}
    for name in names:
        there = matrix.line(name, names)
        if len(there) > DEGREE + 1:
            line, seen = matrix.some(there), [observed[i] for i in there]
            straight = polynomial(line, seen, [name], range(DEGREE), spare=1) is not None
            found[name] = _Axis(line, seen, straight)
    return found


def _explains(atoms: Sequence[Rounded], lines: Mapping[str, _Axis]) -> bool:
    """Whether something like them could be at work: they bend the lines that are bent, which costs
    little to try, and none that is straight. Where lines are too few to tell, it could."""
    equal = len(atoms) == 2 and atoms[0].top == atoms[1].bottom  # one where both are, else nothing
    for atom in atoms:
        if not equal and all(name in lines and lines[name].straight for name in atom.names):
            return False
    for name, line in lines.items():
        if line.straight:
            continue
        own: list[Generator] = [atom for atom in atoms if name in atom.names]
        generators = [*own, name]
        enough = len(line.observed) > comb(len(generators) + 3, 3)
        if not own or (
            enough and not polynomial(line.matrix, line.observed, generators, (1, 2, 3), spare=1)
        ):
            return False
    return True


def depends_only_on(
    names: Iterable[str], points: Sequence[Values], observed: Sequence[Fraction]
) -> bool:
    """Whether points that agree in these names agree in what was observed."""
    names = list(names)
    seen: dict[tuple[Fraction, ...], Fraction] = {}
    return all(
        seen.setdefault(tuple(point[name] for name in names), value) == value
        for point, value in zip(points, observed, strict=True)
    )


# --- polynomials ------------------------------------------------------------------------------


def polynomial(
    matrix: DesignMatrix,
    observed: Sequence[Fraction],
    generators: Sequence[Generator],
    degrees: Iterable[int],
    spare: int,
) -> Polynomial | None:
    """The polynomial of the lowest of these degrees that gives what was observed."""
    columns = [column for g in generators if (column := matrix.column(g)) is not None]
    if len(columns) < len(generators):
        return None
    values = zip(*columns, strict=True) if generators else repeat(())
    # Rows that say something new: points may differ in names that do not matter here.
    rows = list(dict.fromkeys(zip(values, map(residue, observed), strict=bool(generators))))
    for degree in degrees:
        if comb(len(generators) + degree, degree) > TERMS:
            return None
        monomials = _monomials(len(generators), degree)
        solution = _solve(rows, monomials, spare)
        if solution is None:
            continue
        names = (_monomial(generators, powers) for powers in monomials.exponents)
        found = Polynomial.of(dict(zip(names, solution, strict=True)))
        if all(found.value(p) == o for p, o in zip(matrix.points, observed, strict=True)):
            return found
    return None


def _monomial(generators: Sequence[Generator], powers: tuple[int, ...]) -> Monomial:
    factors = zip(generators, powers, strict=True)
    return product((), tuple((generator, power) for generator, power in factors if power))


@dataclass(frozen=True, slots=True)
class _Monomials:
    """All of some generators up to a total degree, those of low degree first. `steps`: each after
    the first as an earlier one times a generator."""

    exponents: tuple[tuple[int, ...], ...]
    steps: tuple[tuple[int, int], ...]

    def values(self, row: Sequence[int]) -> list[int]:
        """Modulo a prime, where the generators have these values."""
        found = [1]
        for before, generator in self.steps:
            found.append(found[before] * row[generator] % PRIME)
        return found


@lru_cache(maxsize=256)
def _monomials(number: int, degree: int) -> _Monomials:
    exponents = sorted(
        (p for p in product_range(range(degree + 1), repeat=number) if sum(p) <= degree),
        key=lambda powers: (sum(powers), [-power for power in powers]),
    )
    indices = {powers: index for index, powers in enumerate(exponents)}
    steps = []
    for powers in exponents[1:]:
        generator = next(g for g, power in enumerate(powers) if power)
        less = tuple(p - (g == generator) for g, p in enumerate(powers))
        steps.append((indices[less], generator))
    return _Monomials(tuple(exponents), tuple(steps))


def _solve(
    rows: Sequence[tuple[tuple[int, ...], int]], monomials: _Monomials, spare: int
) -> list[Fraction] | None:
    """The coefficients of a solution that has to hold at more points than it has unknowns; None
    where there is none. Where the points cannot tell monomials apart (`d` is always `h * (d//h)`),
    those of low degree are taken, then those in the first generators."""
    width = len(monomials.exponents)
    pivots: dict[int, list[int]] = {}
    proofs = 0
    for values, goal in rows:
        line = [*monomials.values(values), goal]
        for column in range(width + 1):
            if not line[column]:
                continue
            if column == width:
                return None  # no polynomial of this degree has these values
            if column in pivots:
                factor, other = line[column], pivots[column]
                line = [(a - factor * b) % PRIME for a, b in zip(line, other, strict=True)]
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
        known = sum(line[i] * solution[i] for i in range(column + 1, width))
        solution[column] = (line[width] - known) % PRIME
    fractions = [f for number in solution if (f := _rational(number)) is not None]
    return fractions if len(fractions) == width else None


def _rational(residue: int) -> Fraction | None:
    """The fraction of small numbers that has this residue (half of Euclid's algorithm)."""
    high, low = PRIME, residue
    before, now = 0, 1
    while low > _NUMERATOR:
        quotient = high // low
        high, low = low, high - quotient * low
        before, now = now, before - quotient * now
    return Fraction(low, now) if 0 < abs(now) <= _DENOMINATOR else None


def _bounded(
    matrix: DesignMatrix, observed: Sequence[Fraction], names: Sequence[str], spare: int
) -> Polynomial | None:
    """What is never below, or never above, a name or a number: `max(8, d // 16)`."""
    points = matrix.points
    for larger in (True, False):
        end = min(observed) if larger else max(observed)
        bounds = [Polynomial.constant(end), *map(Polynomial.generator, names)]
        for bound in bounds:
            limits = [bound.value(point) for point in points]
            free = [i for i, o in enumerate(observed) if o != limits[i]]
            beyond = any((observed[i] < limits[i]) is larger for i in free)
            if beyond or not free or len(observed) - len(free) < max(spare, 1):
                continue
            there, seen = matrix.some(free), [observed[i] for i in free]
            form = polynomial(there, seen, names, (1, 2), spare)
            form = form or multiple(there.points, seen, names)
            if form is None:
                continue
            whole = Polynomial.generator(Extreme(bound, form, larger))
            if all(whole.value(p) == o for p, o in zip(points, observed, strict=True)):
                return whole
    return None


def _doubling(
    matrix: DesignMatrix, observed: Sequence[Fraction], names: Sequence[str], spare: int
) -> Polynomial | None:
    """What doubles with every level, summed over the levels: `base**2*(4**depth - 1)`; with the
    number of levels in no other place, then with it."""
    for name in names:
        power = Exponential(name)
        if not _doubles(matrix, observed, power, names, spare):
            continue
        for others in ([other for other in names if other != name], names):
            found = polynomial(matrix, observed, [*others, power], range(1, DEGREE + 3), spare)
            if found:
                return found
    return None


def _doubles(
    matrix: DesignMatrix,
    observed: Sequence[Fraction],
    power: Exponential,
    names: Sequence[str],
    spare: int,
) -> bool:
    """Whether there is such a form along the line on which the exponent alone differs from the
    first point, and no polynomial in the exponent."""
    points, name = matrix.points, power.exponent
    line = matrix.line(name, names)
    numbers = {points[i][name] for i in line}
    if min(numbers) < 0 or max(numbers) > LEVELS or any(n.denominator > 1 for n in numbers):
        return False
    there, seen = matrix.some(line), [observed[i] for i in line]
    if polynomial(there, seen, [name], range(DEGREE + 1), spare=1) is not None:
        return False
    ways: tuple[list[str], ...] = ([], [name])
    return any(polynomial(there, seen, [*way, power], range(1, DEGREE), spare) for way in ways)
