"""A closed form as a fast function of a few of its names, and with others in place of some."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from math import lcm, prod
from typing import TYPE_CHECKING, Any

from nparam_lint.analysis.closed_forms.form_writer import factored
from nparam_lint.analysis.closed_forms.polynomial import (
    ONE,
    ZERO,
    Generator,
    Kind,
    Number,
    Opaque,
    Operation,
    Polynomial,
    bounded,
    power_of_two,
    quotient,
    rounded,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Count = Callable[..., int]

NOWHERE = 1 << 256  # the count where a form has no value: no budget allows it
_MOST_LEVELS = 4096  # beyond those of a name in a power of two: more would only take memory
_NAMES: dict[str, Any] = {  # that forms may have beside those of arguments
    "__builtins__": {},
    "math": math,
    **{function.__name__: function for function in (abs, int, max, min, round)},
}


class NoPolynomial(ArithmeticError):
    """Something that polynomials with rounding, `min` and `max` cannot express."""


def compiled(form: Polynomial, names: Sequence[str]) -> Count:
    """The form as a function of whole numbers, in the order of the `names`, which must be all of
    its names. A search calls it a million times, so it is compiled from text that we generate, made
    of names, numbers and operators only. Where it divides by zero, its value is NOWHERE."""
    arguments = [f"x{number}" for number in range(len(names))]
    text = _in_python(form, dict(zip(names, arguments, strict=True)))
    count: Count = function(f"lambda {', '.join(arguments)}: {text}")

    def guarded(*values: int) -> int:
        try:
            return count(*values)
        except ZeroDivisionError:
            return NOWHERE

    return guarded if "//" in text else count


def at_point(form: Polynomial) -> str:
    """In Python, with the values that a mapping, `point`, has for its names."""
    return _in_python(form, {name: f"point[{name!r}]" for name in form.names})


def _in_python(form: Polynomial, names: Mapping[str, str]) -> str:
    values = {name: Polynomial.generator(text) for name, text in names.items()}
    return factored(substituted(form, values), [*names.values()], "python")


def function(text: str) -> Callable[..., Any]:
    """Of Python that we generate."""
    return eval(compile(text, "<closed form>", "eval"), _NAMES)  # type: ignore[no-any-return]


# --- other names ------------------------------------------------------------------------------


def substituted(form: Polynomial, values: Mapping[str, Polynomial]) -> Polynomial:
    """The form with other forms in place of some names. Raises ArithmeticError: NoPolynomial, or
    where it divides by zero."""
    names = frozenset(values)

    def of_form(form: Polynomial) -> Polynomial:
        return form if names.isdisjoint(form.names) else transformed(form, of_generator)

    def of_opaque(opaque: Opaque) -> Opaque:
        parts = (of_opaque(p) if isinstance(p, Opaque) else of_form(p) for p in opaque.parts)
        return opaque.of_parts(parts)

    @cache  # one often stands in many terms
    def of_generator(generator: Generator) -> Polynomial | None:
        if isinstance(generator, str):
            return values.get(generator)
        if names.isdisjoint(generator.names):
            return None
        if isinstance(generator, Operation):
            return applied(generator.kind, of_form(generator.left), of_form(generator.right))
        opaque = of_opaque(generator)
        if opaque.names:
            return Polynomial.generator(opaque)
        return Polynomial.constant(opaque.value({}))

    return of_form(form)


def from_least(form: Polynomial, least: Mapping[str, Number]) -> Polynomial:
    """The form in how far the names are above their `least` values. Raises ArithmeticError."""
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


def applied(kind: Kind, first: Polynomial, second: Polynomial) -> Polynomial:
    """An operation on two forms. Raises ArithmeticError: NoPolynomial, or where it divides by
    zero."""
    if kind == "**":
        return _power_of_two(second)
    if first.number is not None and second.number is not None:
        return Polynomial.constant(Operation(kind, first, second).value({}))
    if kind in ("max", "min"):
        return bounded(kind, first, second)
    # The coefficients of both made whole.
    whole = lcm(*(c.denominator for _, c in first.terms + second.terms))
    first, second = first * whole, second * whole
    if second == ZERO:
        raise ZeroDivisionError
    if first.terms and all(c < 0 for _, c in first.terms):  # `-(-a//b)` is how Python rounds up
        return -applied("ceil" if kind == "floor" else "floor", -first, second)
    exact = quotient(first, second)
    if exact is not None and all(c.denominator == 1 for _, c in exact.terms):
        return exact
    above = first - second + ONE
    if kind == "floor" and () not in dict(above.terms) and above.terms and second != ONE:
        return applied("ceil", above, second)  # ⌊(a + b - 1)/b⌋
    constant = first.constant_term
    match [(m, c) for m, c in first.terms if m]:
        case [(((Operation() as inner, 1),), 1)]:  # ⌊(⌊a/b⌋ + c)/d⌋ is ⌊(a + b*c)/(b*d)⌋
            if inner.kind == kind and constant.denominator == 1:
                return applied(kind, inner.left + inner.right * constant, inner.right * second)
    return rounded(first, second, kind)


def _power_of_two(exponent: Polynomial) -> Polynomial:
    """2 to the power of a name and a whole number."""
    constant = exponent.constant_term
    if not -_MOST_LEVELS <= constant <= _MOST_LEVELS:
        raise NoPolynomial
    number = Fraction(2) ** constant.numerator
    match (exponent - Polynomial.constant(constant)).terms:
        case () if constant.denominator == 1:
            return Polynomial.constant(number)
        case ((((str() as name, 1),), coefficient),) if coefficient == constant.denominator == 1:
            return Polynomial.generator(power_of_two(name)) * number
    raise NoPolynomial
