"""Conditions on arguments: decisions that a constructor took, in one canonical form each."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cached_property
from math import gcd, lcm
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from nparam_lint.analysis.closed_forms.compiled_form import at_point, from_least, function
from nparam_lint.analysis.closed_forms.expressions import Value, as_opaque, as_quotient
from nparam_lint.analysis.closed_forms.form_writer import expanded
from nparam_lint.analysis.closed_forms.polynomial import (
    ONE,
    ZERO,
    Number,
    Opaque,
    Operation,
    Polynomial,
    common_factor,
    quotient,
)
from nparam_lint.analysis.closed_forms.signs import is_positive, lower_bound

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from nparam_lint.ground.values import NameValue

    Test = Callable[[Mapping[str, NameValue]], bool]

Ray = tuple[Opaque, str, float]
_NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


class Condition(Struct, frozen=True, dict=True):
    """`form` is zero (`==`), is not (`!=`), or is not below zero (`>=`), where it is whole; or
    `left operation right` of floats."""

    operation: str
    form: Polynomial = ZERO
    left: Opaque | None = None
    right: Opaque | None = None

    @property
    def sides(self) -> tuple[Polynomial, Polynomial]:
        if self.left is None or self.right is None:
            return self.form, ZERO
        return Polynomial.generator(self.left), Polynomial.generator(self.right)

    @property
    def names(self) -> frozenset[str]:
        return frozenset().union(*(side.names for side in self.sides))

    @property
    def negated(self) -> Condition:
        if self.left is None and self.operation == ">=":
            return Condition(">=", -self.form - ONE)
        return replace(self, operation=_NEGATED[self.operation])

    @cached_property
    def ray(self) -> Ray | None:
        """A float, how it compares, and the number that it is compared with."""
        if self.left is None or self.right is None:
            return None
        value, operation, bound = self.left, self.operation, self.right
        if not value.names:
            value, operation, bound = bound, _TURNED.get(operation, operation), value
        return None if bound.names else (value, operation, bound.number({}))

    def without_factors(self, least: Mapping[str, Number]) -> Condition:
        """The same where no name is below its `least`: `c == c*m` is `m == 1`."""
        if self.left is not None:
            return self
        number, powers = common_factor(self.form.terms)
        names = tuple((g, e) for g, e in powers if isinstance(g, str))
        shorter = quotient(self.form, Polynomial.of({names: number}))
        is_known = all(least.get(str(name), 0) > 0 for name, _ in names)
        return replace(self, form=shorter) if is_known and shorter else self

    def is_settled(self, least: Mapping[str, Number]) -> bool:
        """Whether it is the same for all values from the `least` on."""
        return self.is_certain(least) or self.negated.is_certain(least)

    def is_certain(self, least: Mapping[str, Number]) -> bool:
        """Whether it holds for all values from the `least` on, by the signs of its terms."""
        if self.ray is not None:
            value, operation, bound = self.ray
            is_above = bound < 0 or (bound == 0 and operation == ">=")
            return operation in (">", ">=") and is_above and is_positive(value)
        if self.left is not None:
            return False
        if self.operation == "==":
            return self.form == ZERO
        try:
            shifted = from_least(self.form, least)
        except ArithmeticError:
            return False
        if self.operation == ">=":
            return is_positive(shifted)
        bounds = (lower_bound(part) for part in (shifted, -shifted))
        return any(bound is not None and bound > 0 for bound in bounds)

    @property
    def constants(self) -> set[int]:
        """The numbers that stand alone in it, or divide."""
        numbers = {abs(self.form.constant_term.numerator)} - {0}
        for generator in self.form.generators:
            if isinstance(generator, Operation):
                numbers.update(abs(c.numerator) for _, c in generator.right.terms)
        return numbers

    def test(self) -> Test:
        """Whether it holds at a point, as Python finds it; not where it has no value there."""
        left, right = map(at_point, self.sides)
        compare: Test = function(f"lambda point: {left} {self.operation} {right}")

        def holds(point: Mapping[str, NameValue]) -> bool:
            try:
                return compare(point)
            except (ArithmeticError, ValueError, TypeError):
                return False

        return holds

    def text(self, order: Sequence[str]) -> str:
        """As in Python, and in budgets as far as these have its functions."""
        if self.left is not None:
            left, right = (expanded(side, order) for side in self.sides)
            return f"{left} {self.operation} {right}"
        remainder = remainder_of(self.form) if self.operation != ">=" else None
        if remainder is not None:
            top, bottom, value = remainder
            texts = expanded(top, order), expanded(bottom, order)
            sides = (t if re.fullmatch(r"[\w.]+", t) else f"({t})" for t in texts)
            return f"{' % '.join(sides)} {self.operation} {value}"
        return _two_sides(self.operation, self.form, order)


def remainder_of(form: Polynomial) -> tuple[Polynomial, Polynomial, Number] | None:
    """a, b, and c of `a % b == c`, for a - b*(a//b) - c."""
    for generator in form.generators:
        if isinstance(generator, Operation) and generator.kind == "floor":
            top, bottom = generator.left, generator.right
            remainder = top - bottom * Polynomial.generator(generator)
            for constant in ((form - remainder).number, (-form - remainder).number):
                if constant is not None:
                    return top, bottom, -constant
    return None


def _two_sides(operation: str, form: Polynomial, order: Sequence[str]) -> str:
    constant = form.constant_term
    positive = Polynomial.of({m: c for m, c in form.terms if m and c > 0})
    negative = positive + Polynomial.constant(constant) - form
    if operation != ">=":
        if not positive.terms or (constant > 0 and negative.terms):
            positive, negative, constant = negative, positive, -constant
        if not constant:  # a name alone comes first, the first of two
            places = {Polynomial.generator(name): place for place, name in enumerate(order)}
            sides = sorted((positive, negative), key=lambda side: places.get(side, len(places)))
            positive, negative = sides
        right = negative - Polynomial.constant(constant)
        return f"{expanded(positive, order)} {operation} {expanded(right, order)}"
    if not positive.terms:  # at most
        return _bound(expanded(negative, order), "<=", constant)
    if not negative.terms:
        return _bound(expanded(positive, order), ">=", -constant)
    if constant == -1:
        operation, constant = ">", 0
    left = positive + Polynomial.constant(max(constant, 0))
    right = negative - Polynomial.constant(min(constant, 0))
    return f"{expanded(left, order)} {operation} {expanded(right, order)}"


def _bound(text: str, operation: str, bound: Number) -> str:
    """`x > 10000` rather than `x >= 10001`."""
    excluded = bound - 1 if operation == ">=" else bound + 1
    if bound.denominator == 1 and _digits(excluded) < _digits(bound):
        return f"{text} {operation[0]} {excluded}"
    return f"{text} {operation} {bound}"


def _digits(number: Number) -> int:
    return len(str(number).rstrip("0"))


def condition_of(operation: str, first: Value, second: Value) -> Condition | bool:
    """The condition; its truth value where there is no variable in it."""
    p, q = as_quotient(first), as_quotient(second)
    if p and q and p.bottom.number and q.bottom.number:
        return _whole(operation, p.top * q.bottom - q.top * p.bottom)
    if isinstance(first, Opaque) and first.operation == "sqrt" and second == ZERO:
        return condition_of(operation, first.parts[0], second)
    condition = Condition(operation, ZERO, as_opaque(first), as_opaque(second))
    if condition.left == condition.right:
        return operation in ("==", "<=", ">=")
    return condition if condition.names else True


def _whole(operation: str, form: Polynomial) -> Condition | bool:
    """With whole coefficients that have nothing in common, and one sign for both of `==`."""
    number = form.number
    if number is not None:
        if number == 0:
            return operation in ("==", "<=", ">=")
        return operation == "!=" or operation[0] == ("<" if number < 0 else ">")
    form = form * lcm(*(c.denominator for _, c in form.terms))
    match form.terms:
        case ((((Operation(kind="floor") as ratio, 1),), _),) if all(map(is_positive, ratio.parts)):
            # ⌊a/b⌋ is nothing below b.
            if operation == "==":
                return Condition(">=", ratio.right - ratio.left - ONE)
            if operation == "!=":
                return Condition(">=", ratio.left - ratio.right)
    if operation in ("==", "!="):
        share = gcd(*(c.numerator for _, c in form.terms))
        sign = -1 if form.terms[-1][1] < 0 else 1
        return Condition(operation, form * Fraction(sign, share))
    if operation in ("<", "<="):
        form, operation = -form, _TURNED[operation]
    return Condition(">=", _without_floor(form - ONE if operation == ">" else form))


def _without_floor(form: Polynomial) -> Polynomial:
    """`d//4 >= 17` is `d >= 68`."""
    constant = form.constant_term
    match [(m, c) for m, c in form.terms if m]:
        case [(((Operation(kind="floor") as ratio, 1),), sign)] if is_positive(ratio.right):
            if sign == 1:
                return _without_floor(ratio.left + ratio.right * constant)
            if sign == -1:
                return _without_floor(ratio.right * (constant + 1) - ratio.left - ONE)
    return form
