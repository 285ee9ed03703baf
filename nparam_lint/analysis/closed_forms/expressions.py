"""What traced numbers recorded, read: rows of a table as polynomials.

Numbers are exact as far as Python's own result is: whole numbers, and quotients of two of them that
are rounded at once (`int(8*d/3)` is `8*d//3` as long as `d` is below 2**50). What is rounded twice
(`int(1.3*int(d/3))`) stays as it was written, and is computed as Python does, in floats.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.compiled_form import applied
from nparam_lint.analysis.closed_forms.polynomial import ONE, ZERO, Kind, Opaque, Polynomial
from nparam_lint.analysis.closed_forms.signs import is_positive

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Row = tuple[str | int, ...]
_EXACT: dict[str, Callable[..., Polynomial]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "neg": operator.neg,
}
_DYADIC = 1 << 20  # the largest power of two by which whole numbers are divided exactly
_MOST_POWER = 12
_KEEPING = frozenset("+ - * // % ** & | ^ << >> abs max min neg invert".split())  # of whole numbers
_WHOLE = frozenset("trunc floor ceil gcd lcm comb factorial isqrt bit_length bit_count".split())


@dataclass(frozen=True)
class Quotient:
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
        value = self.value(number)
        if isinstance(value, Polynomial):
            return value
        if isinstance(value, Quotient) and value.bottom == ONE:
            return value.top
        return Polynomial.generator(as_opaque(value))

    def value(self, number: int) -> Value:
        if number not in self._values:
            operation, *parts = self.rows[number]
            if operation in ("s", "n"):
                self._values[number] = self._leaf(str(operation), str(parts[0]))
            else:
                values = [self.value(int(part)) for part in parts]
                self._values[number] = combined(str(operation), values)
        return self._values[number]

    def _leaf(self, operation: str, text: str) -> Value:
        if operation == "s":
            name = Polynomial.generator(text)
            return name if text in self.whole else Opaque("float", (name,))
        try:
            return Polynomial.constant(int(text))
        except ValueError:
            return float_constant(float(text))


def float_constant(value: float) -> Value:
    """A float of few binary places is exact in what is done with it; others are as written."""
    if not math.isfinite(value):
        return Opaque("number", (), repr(value))
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
    if isinstance(value, Quotient) and value.bottom == ONE:
        return Opaque("whole", (value.top,))
    if isinstance(value, Quotient):
        return Opaque("/", (value.top, value.bottom))
    return Opaque("whole", (value,))


def part(value: Value) -> Polynomial | Opaque:
    if isinstance(value, Quotient) and value.bottom == ONE:
        return value.top
    return as_opaque(value) if isinstance(value, Quotient) else value


def combined(operation: str, values: Sequence[Value]) -> Value:
    """The value of an operation, as exact as can be."""
    exact = _exact(operation, values)
    if exact is not None:
        return exact
    own = Opaque(operation, tuple(map(part, values)))
    is_whole = all(isinstance(value, Polynomial) for value in values) and operation in _KEEPING
    is_whole = is_whole or operation in _WHOLE or (operation == "round" and len(values) == 1)
    return Polynomial.generator(own) if is_whole else own


def _exact(operation: str, values: Sequence[Value]) -> Value | None:
    if all(isinstance(value, Polynomial) for value in values):
        return _of_whole(operation, [v for v in values if isinstance(v, Polynomial)])
    quotients = [quotient for value in values if (quotient := as_quotient(value))]
    if len(quotients) < len(values):
        return None
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
    (top, bottom), (other, below) = ((q.top, q.bottom) for q in quotients[:2])
    denominators = bottom.number, below.number
    if None in denominators or max(denominators[0] or 0, denominators[1] or 0) > _DYADIC:
        return None
    if operation == "*":
        return _shortened(top * other, bottom * below)
    return _shortened(_EXACT[operation](top * below, other * bottom), bottom * below)


def _shortened(top: Polynomial, bottom: Polynomial) -> Quotient:
    share = math.gcd(*(c.numerator for _, c in (*top.terms, *bottom.terms)))
    if all(c.denominator == 1 for _, c in (*top.terms, *bottom.terms)) and share > 1:
        top, bottom = top * Fraction(1, share), bottom * Fraction(1, share)
    return Quotient(top, bottom, is_exact=True)


def _applied(kind: Kind, left: Polynomial, right: Polynomial) -> Polynomial | None:
    if right == ONE:  # nothing to round
        return left
    try:
        return applied(kind, left, right)
    except ArithmeticError:
        return None


def _of_whole(operation: str, values: Sequence[Polynomial]) -> Value | None:
    if operation in _EXACT:
        return _EXACT[operation](*values)
    left = values[0]
    right = values[1] if len(values) > 1 else ZERO
    match operation:
        case "trunc" | "floor" | "ceil" | "round" if len(values) == 1:
            return left
        case "float":
            return Quotient(left, ONE, is_exact=True)
        case "//" | "%":
            quotient = _applied("floor", left, right) if right != ZERO else None
            if quotient is None or operation == "//":
                return quotient
            return left - right * quotient
        case "/" if right != ZERO:
            number = right.number or 0
            is_power = number.denominator == 1 and number.numerator.bit_count() == 1 and number > 0
            return _shortened(left, right) if is_power else Quotient(left, right, is_exact=False)
        case "**":
            power = right.number
            if power is not None and power.denominator == 1 and 0 <= power <= _MOST_POWER:
                return left ** int(power)
            return _applied("**", left, right) if left.number == 2 else None
        case "max" | "min":
            return applied(operation, left, right)
        case "<<" if right.number is not None and 0 <= right.number <= 64:
            return left * (1 << int(right.number))
        case ">>" if right.number is not None and 0 <= right.number <= 64:
            return _applied("floor", left, Polynomial.constant(1 << int(right.number)))
    return None
