"""Polynomials with rational coefficients, in names and in what is no polynomial itself: exact, and
small.

A generator is a name (`n_embd`), a rounded quotient (`n_embd // n_head`), the larger or smaller of
two values (`max(8, d // 16)`), or a power of two (`2**depth`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd, prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Values = Mapping[str, Fraction]


@dataclass(frozen=True)
class Rounded:
    """⌊top / bottom⌋ or ⌈top / bottom⌉; both parts have whole coefficients."""

    top: Polynomial
    bottom: Polynomial
    up: bool = False

    def value(self, values: Values) -> Fraction:
        """Raises ZeroDivisionError where the bottom is zero."""
        top, bottom = self.top.value(values), self.bottom.value(values)
        return Fraction(-(-top // bottom) if self.up else top // bottom)

    @property
    def names(self) -> frozenset[str]:
        return self.top.names | self.bottom.names


@dataclass(frozen=True)
class Extreme:
    """The larger of two values, or the smaller."""

    left: Polynomial
    right: Polynomial
    larger: bool = True

    def value(self, values: Values) -> Fraction:
        choose = max if self.larger else min
        return choose(self.left.value(values), self.right.value(values))

    @property
    def names(self) -> frozenset[str]:
        return self.left.names | self.right.names


@dataclass(frozen=True)
class Exponential:
    """2 to the power of a name: what doubles with every level."""

    exponent: str

    def value(self, values: Values) -> Fraction:
        return Fraction(2) ** values[self.exponent].numerator

    @property
    def names(self) -> frozenset[str]:
        return frozenset((self.exponent,))


Generator = str | Rounded | Extreme | Exponential
Monomial = tuple[tuple[Generator, int], ...]  # (generator, exponent), sorted; () is the constant


def _order(factor: tuple[Generator, int]) -> tuple[bool, str]:
    generator = factor[0]
    return (False, generator) if isinstance(generator, str) else (True, repr(generator))


@dataclass(frozen=True)
class Polynomial:
    """A sum of terms: monomial → coefficient, without zeros."""

    terms: tuple[tuple[Monomial, Fraction], ...] = ()

    @staticmethod
    def of(terms: Mapping[Monomial, Fraction]) -> Polynomial:
        """A polynomial of these terms, those with coefficient zero left out."""
        kept = [(m, c) for m, c in terms.items() if c]
        return Polynomial(tuple(sorted(kept, key=lambda term: [_order(f) for f in term[0]])))

    @staticmethod
    def constant(number: int | Fraction) -> Polynomial:
        return Polynomial.of({(): Fraction(number)})

    @staticmethod
    def generator(generator: Generator) -> Polynomial:
        return Polynomial(((((generator, 1),), Fraction(1)),))

    def __add__(self, other: Polynomial) -> Polynomial:
        terms = dict(self.terms)
        for monomial, coefficient in other.terms:
            terms[monomial] = terms.get(monomial, Fraction(0)) + coefficient
        return Polynomial.of(terms)

    def __neg__(self) -> Polynomial:
        return Polynomial(tuple((m, -c) for m, c in self.terms))

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + -other

    def __mul__(self, other: Polynomial | int | Fraction) -> Polynomial:
        if not isinstance(other, Polynomial):
            return Polynomial(tuple((m, c * other) for m, c in self.terms if other))
        terms: dict[Monomial, Fraction] = {}
        for left, a in self.terms:
            for right, b in other.terms:
                monomial = product(left, right)
                terms[monomial] = terms.get(monomial, Fraction(0)) + a * b
        return Polynomial.of(terms)

    def __pow__(self, exponent: int) -> Polynomial:
        return prod([self] * exponent, start=ONE)

    def value(self, values: Values) -> Fraction:
        """Its value where the names have these `values`. Raises KeyError for a name without."""
        total = Fraction(0)
        for monomial, coefficient in self.terms:
            for generator, exponent in monomial:
                coefficient *= evaluate(generator, values) ** exponent
            total += coefficient
        return total

    @cached_property
    def generators(self) -> frozenset[Generator]:
        return frozenset(g for monomial, _ in self.terms for g, _ in monomial)

    @property
    def names(self) -> frozenset[str]:
        return frozenset().union(*map(names_of, self.generators))

    @property
    def factors(self) -> tuple[Fraction, tuple[str, ...]] | None:
        """A number and the names that it is multiplied with, if it is nothing else."""
        if len(self.terms) != 1:
            return None
        ((monomial, number),) = self.terms
        names = [name for name, exponent in monomial for _ in range(exponent)]
        plain = tuple(name for name in names if isinstance(name, str))
        return (number, plain) if len(plain) == len(names) else None

    @property
    def is_zero(self) -> bool:
        return not self.terms

    @property
    def number(self) -> Fraction | None:
        """Its value where it is a constant."""
        if not self.terms:
            return Fraction(0)
        ((monomial, coefficient), *more) = self.terms
        return None if monomial or more else coefficient


ZERO, ONE = Polynomial(), Polynomial.constant(1)


def evaluate(generator: Generator, values: Values) -> Fraction:
    """The value of a generator. Raises KeyError or ZeroDivisionError."""
    return values[generator] if isinstance(generator, str) else generator.value(values)


def names_of(generator: Generator) -> frozenset[str]:
    return frozenset((generator,)) if isinstance(generator, str) else generator.names


def rounded(top: Polynomial, bottom: Polynomial, up: bool = False) -> Polynomial:
    """A rounded quotient, without the whole factors that its parts have in common."""
    share = Fraction(1, gcd(*(c.numerator for _, c in top.terms + bottom.terms)))
    return Polynomial.generator(Rounded(top * share, bottom * share, up))


def product(left: Monomial, right: Monomial) -> Monomial:
    exponents = dict(left)
    for generator, exponent in right:
        exponents[generator] = exponents.get(generator, 0) + exponent
    return tuple(sorted(exponents.items(), key=_order))


def degree(monomial: Monomial) -> int:
    """The total degree of a monomial."""
    return sum(exponent for _, exponent in monomial)


# --- many points at once -----------------------------------------------------------------------

PRIME = (1 << 61) - 1  # systems are solved modulo this; solutions are checked exactly


class DesignMatrix:
    """The points of a fit, and a column of residues for each generator, computed once."""

    def __init__(self, points: Sequence[Values]) -> None:
        self.points = points
        self._columns: dict[Generator, list[int] | None] = {}

    def column(self, generator: Generator) -> list[int] | None:
        """The residues of a generator at all points; None where it has no value at one of them."""
        if generator not in self._columns:
            try:
                column = [residue(evaluate(generator, point)) for point in self.points]
            except ZeroDivisionError:
                column = None
            self._columns[generator] = column
        return self._columns[generator]

    def line(self, name: str, names: Sequence[str]) -> list[int]:
        """The indices of points that differ from the first in one of the names alone, the first
        among them; one for each value."""
        start, others = self.points[0], [other for other in names if other != name]
        there = [i for i, p in enumerate(self.points) if all(p[o] == start[o] for o in others)]
        return list({self.points[i][name]: i for i in reversed(there)}.values())[::-1]

    def some(self, indices: Sequence[int]) -> DesignMatrix:
        """The same for some of the points."""
        return DesignMatrix([self.points[index] for index in indices])


def residue(number: Fraction) -> int:
    """A fraction modulo PRIME."""
    if number.denominator == 1:
        return number.numerator % PRIME
    return number.numerator * pow(number.denominator, -1, PRIME) % PRIME
