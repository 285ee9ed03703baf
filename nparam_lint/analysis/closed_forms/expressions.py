"""What traced numbers recorded, and what is written in a formula, read as polynomials.

Numbers are exact as far as Python's own result is: whole numbers, and quotients of two of them that
are rounded at once (`int(8*d/3)` is `8*d//3` as long as `d` is below 2**50). What is rounded twice
(`int(1.3*int(d/3))`) stays as it was written, and is computed as Python does, in floats.
"""

from __future__ import annotations

import ast
import math
import operator
from fractions import Fraction
from functools import partial, reduce
from typing import TYPE_CHECKING

from msgspec import Struct

from nparam_lint.analysis.closed_forms.compiled_form import NoPolynomial, applied
from nparam_lint.analysis.closed_forms.polynomial import ONE, ZERO, Kind, Opaque, Polynomial
from nparam_lint.analysis.closed_forms.signs import is_positive
from nparam_lint.ground.notation import read_expression

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nparam_lint.ground.notation.expression import Formula

Row = tuple[str | int, ...]
_EXACT: dict[str, Callable[..., Polynomial]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "neg": operator.neg,
}
_DYADIC = 1 << 20  # the largest power of two by which whole numbers are divided exactly
_MOST_POWER = 12  # the largest exponent that is multiplied out
_KEEPING = frozenset("+ - * // % ** & | ^ << >> abs max min neg invert".split())  # of whole numbers
_WHOLE = frozenset("trunc floor ceil gcd lcm comb factorial isqrt bit_length bit_count".split())


class Quotient(Struct, frozen=True):
    """A float that is exactly top / bottom, or that rounded once."""

    top: Polynomial
    bottom: Polynomial
    is_exact: bool


Value = Polynomial | Quotient | Opaque


class ExpressionTable:
    """The rows of one answer of the worker. `whole`: the variables that are whole numbers."""

    def __init__(self, rows: Sequence[Row], whole: frozenset[str]) -> None:
        self.rows, self.whole = rows, whole
        self._values: dict[int, Value] = {}

    def polynomial(self, number: int) -> Polynomial:
        """A whole number."""
        part = part_of(self.value(number))
        return part if isinstance(part, Polynomial) else Polynomial.generator(part)

    def value(self, number: int) -> Value:
        if number not in self._values:
            operation, *parts = self.rows[number]
            value: Value
            if operation == "s":
                value = Polynomial.generator(str(parts[0]))
                value = value if parts[0] in self.whole else Opaque("float", (value,))
            elif operation == "n":
                value = constant_of(str(parts[0]))
            else:
                value = combined(str(operation), [self.value(int(part)) for part in parts])
            self._values[number] = value
        return self._values[number]


def constant_of(text: str) -> Value:
    """A float of few binary places is exact in what is done with it; others are as written."""
    try:
        return Polynomial.constant(int(text))
    except ValueError:
        value = float(text)
    if math.isfinite(value):
        exact = Fraction(value)
        if exact.denominator <= _DYADIC and abs(exact.numerator) < 1 << 40:
            bottom = Polynomial.constant(exact.denominator)
            return Quotient(Polynomial.constant(exact.numerator), bottom, is_exact=True)
    return Opaque("number", (), repr(value))


def as_quotient(value: Value) -> Quotient | None:
    """None for a float that may have been rounded more than once."""
    if isinstance(value, Polynomial):
        return Quotient(value, ONE, is_exact=True)
    return value if isinstance(value, Quotient) else None


def as_opaque(value: Value) -> Opaque:
    if isinstance(value, Opaque):
        return value
    if isinstance(value, Quotient) and value.bottom != ONE:
        return Opaque("/", (value.top, value.bottom))
    return Opaque("whole", (value.top if isinstance(value, Quotient) else value,))


def part_of(value: Value) -> Polynomial | Opaque:
    """As it stands in an operation."""
    if isinstance(value, Quotient):
        return value.top if value.bottom == ONE else as_opaque(value)
    return value


def combined(operation: str, values: Sequence[Value]) -> Value:
    """The value of an operation, as exact as can be."""
    wholes = [value for value in values if isinstance(value, Polynomial)]
    quotients = [quotient for value in values if (quotient := as_quotient(value))]
    exact = None
    if len(wholes) == len(values):
        exact = _of_whole(operation, wholes)
    elif len(quotients) == len(values):
        exact = _of_quotients(operation, quotients)
    if exact is not None:
        return exact
    opaque = Opaque(operation, tuple(map(part_of, values)))
    is_whole = len(wholes) == len(values) and operation in _KEEPING
    is_whole = is_whole or operation in _WHOLE or (operation == "round" and len(values) == 1)
    return Polynomial.generator(opaque) if is_whole else opaque


def _of_quotients(operation: str, quotients: Sequence[Quotient]) -> Value | None:
    first = quotients[0]
    if operation in ("trunc", "floor", "ceil"):
        if operation == "trunc" and not is_positive(first.top):
            return None
        return _applied("ceil" if operation == "ceil" else "floor", first.top, first.bottom)
    if operation == "float":
        return first
    if not all(q.is_exact for q in quotients):
        return None
    if operation == "neg":
        return Quotient(-first.top, first.bottom, is_exact=True)
    if len(quotients) < 2 or operation not in ("+", "-", "*"):
        return None
    second = quotients[1]
    if any((q.bottom.number or _DYADIC + 1) > _DYADIC for q in (first, second)):
        return None
    bottom = first.bottom * second.bottom
    if operation == "*":
        return _shortened(first.top * second.top, bottom)
    tops = first.top * second.bottom, second.top * first.bottom
    return _shortened(_EXACT[operation](*tops), bottom)


def _shortened(top: Polynomial, bottom: Polynomial) -> Quotient:
    share = math.gcd(*(c.numerator for _, c in (*top.terms, *bottom.terms)))
    if all(c.denominator == 1 for _, c in (*top.terms, *bottom.terms)) and share > 1:
        top, bottom = top * Fraction(1, share), bottom * Fraction(1, share)
    return Quotient(top, bottom, is_exact=True)


def _applied(kind: Kind, first: Polynomial, second: Polynomial) -> Polynomial | None:
    try:
        return applied(kind, first, second)
    except ArithmeticError:
        return None


def _of_whole(operation: str, values: Sequence[Polynomial]) -> Value | None:
    if operation in _EXACT:
        return _EXACT[operation](*values)
    first = values[0]
    second = values[1] if len(values) > 1 else ZERO
    number = second.number
    match operation:
        case "trunc" | "floor" | "ceil" | "round" if len(values) == 1:
            return first
        case "float":
            return Quotient(first, ONE, is_exact=True)
        case "//":
            return _applied("floor", first, second)
        case "%":
            quotient = _applied("floor", first, second)
            return None if quotient is None else first - second * quotient
        case "/" if second != ZERO:
            if isinstance(number, int) and number > 0 and number.bit_count() == 1:
                return _shortened(first, second)
            return Quotient(first, second, is_exact=False)
        case "**" if isinstance(number, int) and 0 <= number <= _MOST_POWER:
            return first**number
        case "**" if number is None and first.number == 2:
            return _applied("**", first, second)
        case "max" | "min":
            return applied(operation, first, second)
        case "<<" if isinstance(number, int) and 0 <= number <= 64:
            return first * (1 << number)
        case ">>" if isinstance(number, int) and 0 <= number <= 64:
            return _applied("floor", first, Polynomial.constant(1 << number))
    return None


# --- what is written --------------------------------------------------------------------------

_OPERATORS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}


def polynomial_of(formula: Formula) -> Polynomial:
    """Raises NoPolynomial."""
    return read(read_expression(formula.text))


def read(node: ast.expr) -> Polynomial:
    """The polynomial that an expression denotes, in which a quotient is exact. Raises
    NoPolynomial."""
    match node:
        case ast.Name(id=name):
            return Polynomial.generator(name)
        case ast.Subscript() | ast.Attribute():
            return Polynomial.generator(ast.unparse(node))
        case ast.Constant(value=int() | float() as value) if repr(value)[0].isdigit():  # not True
            return Polynomial.constant(Fraction(repr(value)))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -read(operand)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            number = read(right).number
            if number:
                return read(left) * Fraction(1, number)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            combination = _of_whole(_OPERATORS[type(op)], [read(left), read(right)])
            if isinstance(combination, Polynomial):
                return combination
        case ast.Call(func=ast.Name(id="ceil" | "floor" as kind), args=[argument]):
            return applied(kind, read(argument), ONE)
        case ast.Call(func=ast.Name(id="max" | "min" as kind), args=[_, *_] as values):
            return reduce(partial(applied, kind), map(read, values))
    raise NoPolynomial
