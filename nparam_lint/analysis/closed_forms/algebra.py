"""What becomes of operations on exact forms: the rules of this algebra, and forms with others in
the place of names.

Forms are exact as far as Python's own result is: whole numbers, and quotients of two of them that
are rounded at once (`int(8*d/3)` is `8*d//3` as long as `d` is below 2**50). What is rounded twice
(`int(1.3*int(d/3))`) stays as it was written, and is computed as Python does, in floats.
"""

from __future__ import annotations

import operator
from fractions import Fraction
from functools import cache
from math import gcd, lcm, prod
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms import limits
from nparam_lint.analysis.closed_forms.polynomial import (
    ONE,
    TWO,
    ZERO,
    Bound,
    Generator,
    Number,
    Operation,
    Polynomial,
    Rounding,
    common_factor,
    power_of_two,
    quotient,
)
from nparam_lint.analysis.closed_forms.signs import is_positive

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_EXACT: dict[str, Callable[..., Polynomial]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "neg": operator.neg,
}


# --- operations -------------------------------------------------------------------------------


def combined(kind: str, *parts: Polynomial) -> Polynomial:
    """The form of an operation, as simple as can be. Raises ZeroDivisionError."""
    form = None
    if kind in ("trunc", "floor", "ceil", "round"):
        form = _rounded(kind, *parts)
    elif all(part.is_exact for part in parts):
        form = _exact(kind, *parts)
    if form is not None:
        return form
    operation = Operation(kind, tuple(map(as_written, parts)))
    if operation.names:
        return Polynomial.generator(operation)
    return Polynomial.constant(operation.value({}))


def ratio_of(form: Polynomial) -> tuple[Polynomial, Polynomial] | None:
    """Two whole forms of which it is the quotient, rounded once at most; None for other floats."""
    if form.is_exact:
        return form * form.denominator, Polynomial.constant(form.denominator)
    match form.terms:
        case ((((Operation("/", (top, bottom)), 1),), 1),) if top.is_exact and bottom.is_exact:
            return top, bottom
    return None


def as_written(part: Polynomial) -> Polynomial:
    """A quotient that is exact as one that Python computes."""
    if part.number is not None or part.denominator == 1:
        return part
    top, bottom = part * part.denominator, Polynomial.constant(part.denominator)
    return Polynomial.generator(Operation("/", (top, bottom)))


def _rounded(kind: str, form: Polynomial, *more: Polynomial) -> Polynomial | None:
    """A float made whole, or a rounded quotient."""
    if kind in ("floor", "ceil"):
        rounding: Rounding = "floor" if kind == "floor" else "ceil"
        if more and more != (ONE,):
            return quotient_of(form, more[0], rounding)
        ratio = ratio_of(form)
        # In what is fitted a name may be a float.
        if ratio is None or (more and ratio[1] == ONE):
            return _quotient(form, ONE, rounding)
        return quotient_of(*ratio, rounding)
    ratio = ratio_of(form)
    if ratio is None or more:
        return None
    if ratio[1] == ONE:
        return form
    return quotient_of(*ratio) if kind == "trunc" and is_positive(ratio[0]) else None


def _exact(kind: str, first: Polynomial, *more: Polynomial) -> Polynomial | None:
    """Of forms that nothing was rounded in; None where there is no rule."""
    if kind in _EXACT:
        result = _EXACT[kind](first, *more)
        return result if result.is_exact else None
    if kind == "float":
        return first
    if len(more) != 1:
        return None
    (second,) = more
    number, is_whole = second.number, first.denominator == second.denominator == 1
    match kind:
        case "//":
            return quotient_of(first, second)
        case "%":
            return first - second * quotient_of(first, second)
        case "/" if number and Fraction(number).numerator.bit_count() == 1:
            return first * Fraction(1, number)
        case "/":
            both = first.denominator * second.denominator
            return Polynomial.generator(Operation("/", (first * both, second * both)))
        case "max" | "min":
            return bounded("max" if kind == "max" else "min", first, second)
        case "**" if is_whole and first == TWO:
            return _power_of_two(second)
        case "**" if is_whole and isinstance(number, int) and 0 <= number <= limits.POWER:
            return first**number
        case "<<" if is_whole and isinstance(number, int) and 0 <= number <= limits.SHIFT:
            return first * (1 << number)
        case ">>" if is_whole and isinstance(number, int) and 0 <= number <= limits.SHIFT:
            return quotient_of(first, Polynomial.constant(1 << number))
    return None


def _power_of_two(exponent: Polynomial) -> Polynomial | None:
    """2 to the power of a name and a whole number."""
    constant = exponent.constant_term
    if not -limits.EXPONENT <= constant <= limits.EXPONENT:
        return None
    number = Fraction(2) ** constant.numerator
    match (exponent - Polynomial.constant(constant)).terms:
        case ():
            return Polynomial.constant(number)
        case ((((str() as name, 1),), 1),):
            return Polynomial.generator(power_of_two(name)) * number
    return None


def bounded(kind: Bound, first: Polynomial, second: Polynomial) -> Polynomial:
    """The larger or the smaller one, with what both have in common before it: numbers, and names of
    arguments, which are not below zero. What a loop was run for (`#0`) may be."""
    operation = Operation(kind, (first, second))
    if not operation.names:
        return Polynomial.constant(operation.value({}))
    number, powers = common_factor(first.terms + second.terms)
    names = tuple((g, e) for g, e in powers if isinstance(g, str))
    is_plain = len(first.terms) < 2 and len(second.terms) < 2
    if is_plain or any(str(name).startswith("#") for name, _ in names):
        names = ()
    common = Polynomial.of({names: number})
    left, right = (quotient(part, common) or ZERO for part in (first, second))
    return Polynomial.generator(Operation(kind, (left, right))) * common


def quotient_of(first: Polynomial, second: Polynomial, rounding: Rounding = "floor") -> Polynomial:
    """The rounded quotient of exact forms. Raises ZeroDivisionError."""
    if second == ZERO:
        raise ZeroDivisionError
    whole = lcm(first.denominator, second.denominator)
    first, second = first * whole, second * whole
    if first.terms and all(c < 0 for _, c in first.terms):  # `-(-a//b)` is how Python rounds up
        return -quotient_of(-first, second, "ceil" if rounding == "floor" else "floor")
    exact = quotient(first, second)
    if exact is not None and exact.denominator == 1:
        return exact
    above = first - second + ONE
    if rounding == "floor" and () not in dict(above.terms) and above.terms and second != ONE:
        return quotient_of(above, second, "ceil")  # ⌊(a + b - 1)/b⌋
    constant = first.constant_term
    match [(m, c) for m, c in first.terms if m]:
        case [(((Operation(kind, (top, bottom)), 1),), 1)] if kind == rounding:
            # ⌊(⌊a/b⌋ + c)/d⌋ is ⌊(a + b*c)/(b*d)⌋
            return quotient_of(top + bottom * constant, bottom * second, rounding)
    return _quotient(first, second, rounding)


def _quotient(top: Polynomial, bottom: Polynomial, rounding: Rounding) -> Polynomial:
    """Without the whole factors that both have in common."""
    share = Fraction(1, gcd(*(c.numerator for _, c in top.terms + bottom.terms)))
    operation = Operation(rounding, (top * share, bottom * share))
    if operation.names:
        return Polynomial.generator(operation)
    return Polynomial.constant(operation.value({}))


# --- other names ------------------------------------------------------------------------------


def substituted(form: Polynomial, values: Mapping[str, Polynomial]) -> Polynomial:
    """The form with other forms in place of some names. Raises ZeroDivisionError."""
    names = frozenset(values)

    def of_form(form: Polynomial) -> Polynomial:
        return form if names.isdisjoint(form.names) else transformed(form, of_generator)

    @cache  # one often stands in many terms
    def of_generator(generator: Generator) -> Polynomial | None:
        if isinstance(generator, str):
            return values.get(generator)
        if names.isdisjoint(generator.names):
            return None
        return combined(generator.kind, *map(of_form, generator.parts))

    return of_form(form)


def from_least(form: Polynomial, least: Mapping[str, Number]) -> Polynomial:
    """The form in how far the names are above their `least` values. Raises ZeroDivisionError."""
    generator, constant = Polynomial.generator, Polynomial.constant
    return substituted(form, {name: generator(name) + constant(low) for name, low in least.items()})


def transformed(form: Polynomial, replaced: Callable[[Generator], Polynomial | None]) -> Polynomial:
    """With something else for each generator; None: it stays."""
    terms = []
    for monomial, coefficient in form.terms:
        factors = [(g, exponent, replaced(g)) for g, exponent in monomial]
        same = tuple((g, exponent) for g, exponent, factor in factors if factor is None)
        powers = (factor**exponent for _, exponent, factor in factors if factor is not None)
        terms.append(prod(powers, start=Polynomial(((same, coefficient),))))
    return Polynomial.sum(terms)
