"""A closed form as a fast function of a few of its names, and with others in place of some."""

from __future__ import annotations

import ast
import math
from fractions import Fraction
from functools import partial, reduce
from math import lcm, prod
from typing import TYPE_CHECKING, Any

from nparam_lint.analysis.closed_forms.form_writer import factored
from nparam_lint.analysis.closed_forms.polynomial import (
    ONE,
    ZERO,
    Generator,
    Kind,
    Monomial,
    Number,
    Opaque,
    Operation,
    Polynomial,
    power_of_two,
    quotient,
    rounded,
)
from nparam_lint.claims import read_expression

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from nparam_lint.claims.expression import Formula

    Count = Callable[..., int]

NOWHERE = 1 << 256  # the count where a form has no value: no budget allows it
_MOST_POWER = 16  # the largest exponent that is multiplied out
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
    return _Substitution(values).form(form)


def from_least(form: Polynomial, least: Mapping[str, Number]) -> Polynomial:
    """The form in how far the names are above their `least` values. Raises ArithmeticError."""
    generator, constant = Polynomial.generator, Polynomial.constant
    return substituted(form, {name: generator(name) + constant(low) for name, low in least.items()})


class _Substitution:
    """`known`: what came out for a generator, which often stands in many terms."""

    def __init__(self, values: Mapping[str, Polynomial]) -> None:
        self.values, self.names = values, frozenset(values)
        self.known: dict[Generator, Polynomial] = {}

    def form(self, form: Polynomial) -> Polynomial:
        if self.names.isdisjoint(form.names):
            return form
        return transformed(form, self.of)

    def of(self, generator: Generator) -> Polynomial | None:
        if isinstance(generator, str):
            return self.values.get(generator)
        if self.names.isdisjoint(generator.names):
            return None
        if generator not in self.known:
            self.known[generator] = self.operation(generator)
        return self.known[generator]

    def operation(self, own: Operation | Opaque) -> Polynomial:
        if isinstance(own, Operation):
            return applied(own.kind, self.form(own.left), self.form(own.right))
        new = self.opaque(own)
        return Polynomial.generator(new) if new.names else Polynomial.constant(new.value({}))

    def opaque(self, own: Opaque) -> Opaque:
        parts = (self.opaque(p) if isinstance(p, Opaque) else self.form(p) for p in own.parts)
        return own.of_parts(tuple(parts))


def transformed(form: Polynomial, replaced: Callable[[Generator], Polynomial | None]) -> Polynomial:
    """With something else for each generator; None: it stays."""
    kept: list[tuple[Monomial, Number]] = []
    changed: list[Polynomial] = []
    for monomial, coefficient in form.terms:
        new = [(g, exponent, replaced(g)) for g, exponent in monomial]
        same = tuple((g, exponent) for g, exponent, other in new if other is None)
        if len(same) == len(new):
            kept.append((monomial, coefficient))
            continue
        factors = (other**exponent for _, exponent, other in new if other is not None)
        changed.append(prod(factors, start=Polynomial(((same, coefficient),))))
    return Polynomial.sum([Polynomial(tuple(kept)), *changed])


def applied(kind: Kind, left: Polynomial, right: Polynomial) -> Polynomial:
    """An operation on two forms. Raises ArithmeticError: NoPolynomial, or where it divides by
    zero."""
    if kind == "**":
        return _power_of_two(right)
    if left.number is not None and right.number is not None:
        return Polynomial.constant(Operation(kind, left, right).value({}))
    # The coefficients of both made whole.
    whole = lcm(*(c.denominator for _, c in left.terms + right.terms))
    left, right = left * whole, right * whole
    if kind in ("floor", "ceil"):
        if right == ZERO:
            raise ZeroDivisionError
        exact = quotient(left, right)
        if exact is not None and all(c.denominator == 1 for _, c in exact.terms):
            return exact
        above = left - right + ONE
        if kind == "floor" and () not in dict(above.terms) and above.terms and right != ONE:
            return applied("ceil", above, right)  # ⌊(a + b - 1)/b⌋
        inner = _inner(left, kind)
        if inner is not None:  # ⌊(⌊a/b⌋ + c)/d⌋ is ⌊(a + b*c)/(b*d)⌋
            return applied(kind, inner[0], inner[1] * right)
        return rounded(left, right, kind)
    return Polynomial.generator(Operation(kind, left, right)) * Fraction(1, whole)


def _inner(left: Polynomial, kind: Kind) -> tuple[Polynomial, Polynomial] | None:
    """Top and bottom of what is rounded alike, if `left` is that and a whole number."""
    constant = left.constant_term
    match [(m, c) for m, c in left.terms if m]:
        case [(((Operation() as own, 1),), 1)]:
            if own.kind == kind and constant.denominator == 1:
                return own.left + own.right * constant, own.right
    return None


def _power_of_two(exponent: Polynomial) -> Polynomial:
    """2 to the power of a name and a whole number."""
    constant = exponent.constant_term
    number = Fraction(2) ** constant.numerator
    match (exponent - Polynomial.constant(constant)).terms:
        case () if constant.denominator == 1:
            return Polynomial.constant(number)
        case ((((str() as name, 1),), coefficient),) if coefficient == constant.denominator == 1:
            return Polynomial.generator(power_of_two(name)) * number
    raise NoPolynomial


def polynomial_of(formula: Formula) -> Polynomial:
    """Raises NoPolynomial."""
    return read(read_expression(formula.text))


def read(node: ast.expr) -> Polynomial:
    """The polynomial that an expression denotes. Raises NoPolynomial."""
    match node:
        case ast.Name(id=name):
            return Polynomial.generator(name)
        case ast.Subscript() | ast.Attribute():
            return Polynomial.generator(ast.unparse(node))
        case ast.Constant(value=int() | float() as value) if repr(value)[0].isdigit():  # not True
            return Polynomial.constant(Fraction(repr(value)))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -read(operand)
        case ast.BinOp(left=left, op=op, right=right):
            return _combined(read(left), op, read(right))
        case ast.Call(func=ast.Name(id="ceil" | "floor" as kind), args=[argument]):
            return applied(kind, read(argument), ONE)
        case ast.Call(func=ast.Name(id="max" | "min" as kind), args=[_, *_] as values):
            return reduce(partial(applied, kind), map(read, values))
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
            return left * Fraction(1, number)
        case ast.FloorDiv() if right != ZERO:
            return applied("floor", left, right)
        case ast.Mod() if right != ZERO:
            return left - right * applied("floor", left, right)
        case ast.Pow() if left.number == 2 and number is None:
            return applied("**", left, right)
        case ast.Pow() if number is not None and number in range(_MOST_POWER + 1):
            return left ** int(number)
    raise NoPolynomial
