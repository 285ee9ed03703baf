"""Polynomials with rational coefficients, in names and in what is no polynomial itself: exact, and
small.

A generator is a name (`n_embd`), or an operation: a rounded quotient (`n_embd // n_head`), the
larger or smaller of two values (`max(8, d // 16)`), a power of two (`2**depth`), or what there are
no rules for (`gcd(a, b)`, arithmetic of floats that rounds twice).
"""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from functools import cached_property, lru_cache
from math import gcd, lcm, prod
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from nparam_lint.analysis.closed_forms import limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Values = Mapping[str, "Number"]

Number = int | Fraction  # exact; a whole one is an `int`, with which arithmetic is fast
Bound = Literal["max", "min"]
Rounding = Literal["floor", "ceil"]
_EXACTLY: dict[str, Callable[..., Number]] = {
    "max": max,
    "min": min,
    "floor": operator.floordiv,
    "ceil": lambda top, bottom: -(-top // bottom),
}
_AS_PYTHON: dict[str, Callable[..., float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "neg": operator.neg,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "invert": operator.invert,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "and": lambda *tests: all(tests),
    "or": lambda *tests: any(tests),
    "not": operator.not_,
    "if": lambda test, value, other: value if test else other,
    "bit_length": int.bit_length,
    "bit_count": int.bit_count,
    "real": float,
    "inf": lambda: math.inf,
    "-inf": lambda: -math.inf,
    "nan": lambda: math.nan,
    **{function.__name__: function for function in (abs, round)},
    **{name: getattr(math, name) for name in ("sqrt", "log", "log2", "log10", "exp", "pow")},
    **{name: getattr(math, name) for name in ("isqrt", "gcd", "lcm", "comb", "factorial", "trunc")},
}
_WHOLE = frozenset("floor ceil trunc gcd lcm comb factorial isqrt bit_length bit_count".split())
_KEEPING = frozenset(  # what rounds nothing where its parts are exact
    "+ - * // % ** & | ^ << >> abs max min neg invert".split()
)
_ORDER = "max", "min", "floor", "ceil"


class Operation(Struct, frozen=True, dict=True):
    """What is no polynomial in its parts. `floor` and `ceil` round the quotient of two parts, and
    are exact, as `max` and `min` are; all others are computed as Python does. `real`: a variable
    that is a float."""

    kind: str
    parts: tuple[Polynomial, ...]

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.kind, self.parts))

    def value(self, values: Values) -> Number:
        """Raises ZeroDivisionError where Python has no value."""
        numbers = [plain(part.value(values)) for part in self.parts]
        if self.kind in _EXACTLY:
            return _EXACTLY[self.kind](*numbers)
        try:
            plain_numbers = (n if isinstance(n, int) else float(n) for n in numbers)
            return plain(Fraction(_AS_PYTHON[self.kind](*plain_numbers)))
        except (ValueError, OverflowError, TypeError) as error:
            raise ZeroDivisionError(str(error)) from None

    @property
    def is_rounded(self) -> bool:
        return self.kind in ("floor", "ceil")

    @property
    def levels(self) -> str | None:
        """The name of what two is raised to, where it is nothing else."""
        match self:
            case Operation("**", (base, Polynomial(((((str() as name, 1),), 1),)))) if base == TWO:
                return name
        return None

    @cached_property
    def is_exact(self) -> bool:
        """Whether its value was not rounded as floats are."""
        if self.kind == "round":
            return len(self.parts) == 1
        is_kept = self.kind in _KEEPING and all(part.is_exact for part in self.parts)
        return is_kept or self.kind in _WHOLE

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset().union(*(part.names for part in self.parts))


Generator = str | Operation
Monomial = tuple[tuple[Generator, int], ...]  # (generator, exponent), sorted; () is the constant


@lru_cache(maxsize=4096)
def place_of(generator: Generator) -> tuple[int, str]:
    """What generators are sorted by: names, powers of two, then operations by their kinds."""
    if isinstance(generator, str):
        return 0, generator
    if generator.levels is not None:
        return 1, repr(generator)
    place = _ORDER.index(generator.kind) if generator.kind in _ORDER else len(_ORDER)
    return place + 2, repr(generator)


def plain(number: Number) -> Number:
    return number.numerator if number.denominator == 1 else number


class Polynomial(Struct, frozen=True, dict=True):
    """A sum of terms: monomial → coefficient, without zeros."""

    terms: tuple[tuple[Monomial, Number], ...] = ()

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:  # asked for often, and slow for many fractions
        return hash(self.terms)

    @staticmethod
    def of(terms: Mapping[Monomial, Number]) -> Polynomial:
        """A polynomial of these terms, those with coefficient zero left out."""
        nonzero = ((m, plain(c)) for m, c in terms.items() if c)
        return Polynomial(
            tuple(sorted(nonzero, key=lambda term: [(place_of(g), e) for g, e in term[0]]))
        )

    @staticmethod
    def constant(number: Number) -> Polynomial:
        return Polynomial.of({(): number})

    @staticmethod
    def generator(generator: Generator) -> Polynomial:
        return Polynomial(((((generator, 1),), 1),))

    def __add__(self, other: Polynomial) -> Polynomial:
        return Polynomial.sum((self, other))

    @staticmethod
    def sum(forms: Iterable[Polynomial]) -> Polynomial:
        """Of many: one after another would sort the terms each time."""
        terms: dict[Monomial, Number] = {}
        for form in forms:
            for monomial, coefficient in form.terms:
                terms[monomial] = terms.get(monomial, 0) + coefficient
        return Polynomial.of(terms)

    def __neg__(self) -> Polynomial:
        return Polynomial(tuple((m, -c) for m, c in self.terms))

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + -other

    def __mul__(self, factor: Polynomial | Number) -> Polynomial:
        if not isinstance(factor, Polynomial):
            return Polynomial(tuple((m, plain(c * factor)) for m, c in self.terms if factor))
        if factor.number is not None:
            return self if factor.number == 1 else self * factor.number
        terms: dict[Monomial, Number] = {}
        for powers, a in self.terms:
            for more_powers, b in factor.terms:
                monomial = monomial_of(powers + more_powers)
                terms[monomial] = terms.get(monomial, 0) + a * b
        return Polynomial.of(terms)

    def __pow__(self, exponent: int) -> Polynomial:
        return prod([self] * exponent, start=ONE)

    def value(self, values: Values) -> Number:
        """Its value where the names have these `values`. Raises KeyError for a name without."""
        total: Number = 0
        for monomial, coefficient in self.terms:
            for generator, exponent in monomial:
                coefficient *= evaluate(generator, values) ** exponent
            total += coefficient
        return total

    @cached_property
    def is_exact(self) -> bool:
        """Whether nothing in it was rounded as floats are."""
        is_fine = self.denominator <= limits.DENOMINATOR
        return is_fine and all(isinstance(g, str) or g.is_exact for g in self.generators)

    @cached_property
    def denominator(self) -> int:
        """Of all coefficients."""
        return lcm(*(c.denominator for _, c in self.terms))

    @cached_property
    def generators(self) -> frozenset[Generator]:
        return frozenset(g for monomial, _ in self.terms for g, _ in monomial)

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset().union(*map(names_of, self.generators))

    def degree_in(self, name: str) -> int:
        """The highest power of a name; one, where it stands only inside of operations."""
        powers = [e for m, _ in self.terms for g, e in m if g == name]
        return max(powers, default=1)

    @property
    def number(self) -> Number | None:
        """Its value where it is a constant."""
        return None if self.generators else self.constant_term

    @property
    def constant_term(self) -> Number:
        return next((c for m, c in self.terms if not m), 0)


ZERO, ONE, TWO = Polynomial(), Polynomial.constant(1), Polynomial.constant(2)


def evaluate(generator: Generator, values: Values) -> Number:
    """The value of a generator. Raises KeyError or ZeroDivisionError."""
    return values[generator] if isinstance(generator, str) else generator.value(values)


def names_of(generator: Generator) -> frozenset[str]:
    return frozenset((generator,)) if isinstance(generator, str) else generator.names


def common_factor(terms: Sequence[tuple[Monomial, Number]]) -> tuple[Fraction, Monomial]:
    """The largest number above zero, and the powers, that divide all of these."""
    numbers = [number for _, number in terms]
    number = Fraction(gcd(*(n.numerator for n in numbers)), lcm(*(n.denominator for n in numbers)))
    common = dict(terms[0][0])
    for monomial, _ in terms:
        powers = dict(monomial)
        common = {g: min(e, powers[g]) for g, e in common.items() if g in powers}
    return number, monomial_of(common.items())


def quotient(dividend: Polynomial, divisor: Polynomial) -> Polynomial | None:
    """Where a product divides every term; a sum divides only itself."""
    if dividend == divisor:
        return ONE
    if len(divisor.terms) != 1:
        return None
    ((below, number),) = divisor.terms
    terms: dict[Monomial, Number] = {}
    for monomial, coefficient in dividend.terms:
        powers = dict(monomial)
        for generator, exponent in below:
            powers[generator] = powers.get(generator, 0) - exponent
        if any(exponent < 0 for exponent in powers.values()):
            return None
        # In the order of the monomial, which has all that the divisor has.
        terms[tuple((g, e) for g, e in powers.items() if e)] = Fraction(coefficient) / number
    return Polynomial.of(terms)


def power_of_two(name: str) -> Operation:
    """What doubles with every level."""
    return Operation("**", (TWO, Polynomial.generator(name)))


def monomial_of(powers: Iterable[tuple[Generator, int]]) -> Monomial:
    """The product of these, in any order."""
    exponents: dict[Generator, int] = {}
    for generator, exponent in powers:
        exponents[generator] = exponents.get(generator, 0) + exponent
    return tuple(sorted(exponents.items(), key=lambda power: place_of(power[0])))
