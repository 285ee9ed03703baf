"""A closed form as a fast function of a few of its names, and what can be proved of its course."""

from __future__ import annotations

import ast
import math
from fractions import Fraction
from functools import reduce
from math import lcm, prod
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.form_writer import factored
from nparam_lint.analysis.closed_forms.polynomial import (
    ONE,
    ZERO,
    Exponential,
    Extreme,
    Generator,
    Polynomial,
    Rounded,
    names_of,
    rounded,
)
from nparam_lint.claims.notation import read_expression

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from nparam_lint.claims.expression import Formula

    Count = Callable[..., int]

NOWHERE = 1 << 256  # the count where a form has no value: it is never met
_MOST_POWER = 16  # the largest exponent that is multiplied out
_BUILTINS = {"__builtins__": {}, "max": max, "min": min, "int": int}


class NoPolynomial(Exception):
    """Something that polynomials with rounding, `min` and `max` cannot say."""


def compiled(form: Polynomial, names: Sequence[str]) -> Count:
    """The form as a function of whole numbers, in the order of the `names`, which are all that it
    has. What is evaluated is our own text, of names, numbers and operators: a search asks for it a
    million times. What divides by zero is NOWHERE."""
    arguments = [f"x{number}" for number in range(len(names))]
    own = substituted(form, dict(zip(names, map(Polynomial.generator, arguments), strict=True)))
    text = f"lambda {', '.join(arguments)}: {factored(own, arguments, 'python')}"
    count: Count = eval(compile(text, "<closed form>", "eval"), _BUILTINS)

    def guarded(*values: int) -> int:
        try:
            return count(*values)
        except ZeroDivisionError:
            return NOWHERE

    return guarded if "//" in text else count


# --- other names ------------------------------------------------------------------------------


def substituted(form: Polynomial, values: Mapping[str, Polynomial]) -> Polynomial:
    """The form with others in the place of some names. Raises NoPolynomial, ZeroDivisionError."""

    def replaced(generator: Generator) -> Polynomial:
        match generator:
            case str():
                return values.get(generator, Polynomial.generator(generator))
            case Rounded(top=top, bottom=bottom, up=up):
                return quotient(substituted(top, values), substituted(bottom, values), up)
            case Extreme(left=left, right=right, larger=larger):
                return extreme(substituted(left, values), substituted(right, values), larger)
            case Exponential(exponent=name):
                return _power_of_two(values.get(name, Polynomial.generator(name)))

    return _transformed(form, replaced)


def _transformed(form: Polynomial, replaced: Callable[[Generator], Polynomial]) -> Polynomial:
    terms = (
        prod((replaced(g) ** exponent for g, exponent in monomial), start=ONE) * coefficient
        for monomial, coefficient in form.terms
    )
    return sum(terms, ZERO)


def quotient(top: Polynomial, bottom: Polynomial, up: bool = False) -> Polynomial:
    """Rounded. Raises ZeroDivisionError."""
    if bottom.is_zero:
        raise ZeroDivisionError
    if top.number is not None and bottom.number is not None:
        exact = top.number / bottom.number
        return Polynomial.constant(math.ceil(exact) if up else math.floor(exact))
    whole = _denominator(top, bottom)
    return rounded(top * whole, bottom * whole, up)


def extreme(left: Polynomial, right: Polynomial, larger: bool) -> Polynomial:
    """The larger or the smaller of two forms."""
    one, other = left.number, right.number
    if one is not None and other is not None:
        return Polynomial.constant(max(one, other) if larger else min(one, other))
    whole = _denominator(left, right)
    scaled = Extreme(left * whole, right * whole, larger)
    return Polynomial.generator(scaled) * Fraction(1, whole)


def _denominator(one: Polynomial, other: Polynomial) -> int:
    """What makes the coefficients of both whole."""
    return lcm(*(c.denominator for _, c in one.terms + other.terms))


def _power_of_two(exponent: Polynomial) -> Polynomial:
    """2 to the power of a name and a number."""
    constant = dict(exponent.terms).get((), Fraction(0))
    rest = exponent - Polynomial.constant(constant)
    if constant.denominator != 1:
        raise NoPolynomial
    number = Fraction(2) ** constant.numerator
    match rest.terms:
        case ():
            return Polynomial.constant(number)
        case ((((str() as name, 1),), coefficient),) if coefficient == 1:
            return Polynomial.generator(Exponential(name)) * number
    raise NoPolynomial


def polynomial_of(formula: Formula) -> Polynomial:
    """Raises NoPolynomial."""
    return read(read_expression(formula.text))


def read(node: ast.expr) -> Polynomial:
    """The polynomial that an expression says. Raises NoPolynomial."""
    match node:
        case ast.Name(id=name):
            return Polynomial.generator(name)
        case ast.Subscript():
            return Polynomial.generator(ast.unparse(node))
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return Polynomial.constant(value)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -read(operand)
        case ast.BinOp(left=left, op=op, right=right):
            return _combined(read(left), op, read(right))
        case ast.Call(func=ast.Name(id="ceil" | "floor" as name), args=[argument]):
            return quotient(read(argument), ONE, name == "ceil")
        case ast.Call(func=ast.Name(id="max" | "min" as name), args=[_, *_] as values):
            return reduce(lambda a, b: extreme(a, b, name == "max"), map(read, values))
    raise NoPolynomial


def _combined(left: Polynomial, op: ast.operator, right: Polynomial) -> Polynomial:
    number = right.number
    match op:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Div() if number:
            return left * (1 / number)
        case ast.FloorDiv() if not right.is_zero:
            return quotient(left, right)
        case ast.Pow() if number is not None and number in range(_MOST_POWER + 1):
            return left ** int(number)
    raise NoPolynomial


# --- proofs -----------------------------------------------------------------------------------


def growing(form: Polynomial, least: Mapping[str, int]) -> frozenset[str]:
    """Those of the names of which more never gives less, whatever the others are, from their
    `least` values on: counted from there, whatever they are multiplied with is positive. What is
    not here may grow all the same."""
    above = {
        name: Polynomial.generator(name) + Polynomial.constant(low) for name, low in least.items()
    }
    shifted = _transformed(substituted(form, above), _above_one)
    return frozenset(name for name in least.keys() & form.names if _rises(shifted, name))


def _above_one(generator: Generator) -> Polynomial:
    """What a power of two has above one, which is positive too."""
    if not isinstance(generator, Exponential):
        return Polynomial.generator(generator)
    return Polynomial.generator(f"2**{generator.exponent}") + ONE


def _rises(form: Polynomial, name: str) -> bool:
    return all(
        coefficient > 0 and all(_is_positive(g) and _follows(g, name) for g, _ in monomial)
        for monomial, coefficient in form.terms
        if any(names_of(generator) & {name, f"2**{name}"} for generator, _ in monomial)
    )


def _follows(generator: Generator, name: str) -> bool:
    match generator:
        case Rounded(top=top, bottom=bottom):
            return _rises(top, name) and name not in bottom.names and _positive(bottom)
        case Extreme(left=left, right=right):
            return _rises(left, name) and _rises(right, name)
        case _:
            return True


def _positive(form: Polynomial) -> bool:
    return all(c > 0 and all(_is_positive(g) for g, _ in monomial) for monomial, c in form.terms)


def _is_positive(generator: Generator) -> bool:
    match generator:
        case Rounded(top=top, bottom=bottom):
            return _positive(top) and _positive(bottom)
        case Extreme(left=left, right=right, larger=larger):
            signs = _positive(left), _positive(right)
            return any(signs) if larger else all(signs)
        case _:
            return True
