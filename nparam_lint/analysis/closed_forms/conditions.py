"""Conditions on arguments: decisions that a constructor took, in one canonical form each."""

from __future__ import annotations

import re
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from math import gcd
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from nparam_lint.analysis.closed_forms.algebra import as_written, from_least, ratio_of
from nparam_lint.analysis.closed_forms.compiled_form import at_point, function
from nparam_lint.analysis.closed_forms.form_writer import side
from nparam_lint.analysis.closed_forms.polynomial import (
    ONE,
    ZERO,
    Number,
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

_NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


class Condition(Struct, frozen=True):
    """How the form compares with zero. Of whole numbers it has whole coefficients, and is zero
    (`==`), is not (`!=`), or is not below it (`>=`); of floats, all comparisons are possible."""

    operation: str
    form: Polynomial

    @property
    def is_whole(self) -> bool:
        return self.form.is_exact

    @property
    def names(self) -> frozenset[str]:
        return self.form.names

    @property
    def negated(self) -> Condition:
        if self.is_whole and self.operation == ">=":
            return Condition(">=", -self.form - ONE)
        return Condition(_NEGATED[self.operation], self.form)

    @property
    def above(self) -> Polynomial | None:
        """What is not below zero; None for `==` and `!=`."""
        return {">": self.form, "<": -self.form}.get(self.operation[0])

    def without_factors(self, least: Mapping[str, Number]) -> Condition:
        """The same where no name is below its `least`: `c == c*m` is `m == 1`."""
        if not self.is_whole:
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
        if self.operation == "==":
            return self.form == ZERO
        sides = (self.form, -self.form) if self.above is None else (self.above,)
        with suppress(ArithmeticError):
            bounds = [lower_bound(from_least(side, least)) for side in sides]
            may_be_zero = self.operation in (">=", "<=")
            return any(b is not None and (b > 0 or (may_be_zero and b == 0)) for b in bounds)
        return False

    @property
    def constants(self) -> set[int]:
        """The numbers that stand alone in it, or divide."""
        if not self.is_whole:
            return set()
        numbers = {abs(self.form.constant_term.numerator)} - {0}
        for generator in self.form.generators:
            for part in () if isinstance(generator, str) else generator.parts[1:]:
                numbers.update(abs(c.numerator) for _, c in part.terms)
        return numbers

    def text(self, order: Sequence[str]) -> str:
        """As in Python, and in budgets as far as these have its functions."""
        operation, form = self.operation, self.form
        is_bound = self.is_whole and operation == ">="
        remainder = None if is_bound else remainder_of(form)
        if remainder is not None:
            top, bottom, value = remainder
            texts = side(top, order), side(bottom, order)
            sides = (t if re.fullmatch(r"[\w.]+", t) else f"({t})" for t in texts)
            return f"{' % '.join(sides)} {operation} {value}"
        left, right = _sides(form)
        constant = form.constant_term
        if is_bound:
            above, below = left, right + Polynomial.constant(constant)
            if not above.terms:  # at most
                return _bound(side(below, order), "<=", constant)
            if not below.terms:
                return _bound(side(above, order), ">=", -constant)
            if constant == -1:
                operation, constant = ">", 0
            left = above + Polynomial.constant(max(constant, 0))
            right = below - Polynomial.constant(min(constant, 0))
        elif not left.terms or (constant > 0 and right.number is None):
            operation = _TURNED.get(operation, operation)
            left, right = _sides(-form)
        if not constant and operation in ("==", "!="):  # a name comes first, the first of two
            places = {Polynomial.generator(name): place for place, name in enumerate(order)}
            left, right = sorted((left, right), key=lambda side: places.get(side, len(places)))
        return f"{side(left, order)} {operation} {side(right, order)}"


@lru_cache(maxsize=4096)  # each is compiled once, and asked at many points
def truth_of(condition: Condition) -> Test:
    """Whether it holds at a point, as Python finds it; not where it has no value there."""
    left, right = (condition.form, ZERO) if condition.is_whole else _sides(condition.form)
    compare: Test = function(
        f"lambda point: {at_point(left)} {condition.operation} {at_point(right)}"
    )

    def holds(point: Mapping[str, NameValue]) -> bool:
        try:
            return compare(point)
        except (ArithmeticError, ValueError, TypeError):
            return False

    return holds


def truth_of_all(conditions: Sequence[Condition]) -> Test:
    """Whether all of them hold at a point; the last one is asked first."""
    tests = [truth_of(condition) for condition in reversed(conditions)]
    return lambda point: all(test(point) for test in tests)


def _sides(form: Polynomial) -> tuple[Polynomial, Polynomial]:
    """What is added, and what is subtracted, with the number."""
    left = Polynomial.of({m: c for m, c in form.terms if m and c > 0})
    return left, left - form


def remainder_of(form: Polynomial) -> tuple[Polynomial, Polynomial, Number] | None:
    """a, b, and c of `a % b == c`, for a - b*(a//b) - c."""
    for generator in form.generators:
        match generator:
            case Operation("floor", (top, bottom)):
                remainder = top - bottom * Polynomial.generator(generator)
                for constant in ((form - remainder).number, (-form - remainder).number):
                    if constant is not None:
                        return top, bottom, -constant
    return None


def _bound(text: str, operation: str, bound: Number) -> str:
    """`x > 10000` rather than `x >= 10001`."""
    excluded = bound - 1 if operation == ">=" else bound + 1
    if _digits(excluded) < _digits(bound):
        return f"{text} {operation[0]} {excluded}"
    return f"{text} {operation} {bound}"


def _digits(number: Number) -> int:
    return len(str(number).rstrip("0"))


def condition_of(operation: str, first: Polynomial, second: Polynomial) -> Condition | bool:
    """The condition; its truth value where there is no variable in it."""
    match ratio_of(first), ratio_of(second):  # that by a number is rounded once
        case (top, bottom), (other, divisor) if bottom.number and divisor.number:
            quotients = top * Fraction(1, bottom.number), other * Fraction(1, divisor.number)
            return _whole(operation, quotients[0] - quotients[1])
    match first.terms:
        case ((((Operation("sqrt", (square,)), 1),), 1),) if second == ZERO:
            return condition_of(operation, square, second)
    form = as_written(first) - as_written(second)
    if form == ZERO:
        return operation in ("==", "<=", ">=")
    return Condition(operation, form) if form.names else True


def _whole(operation: str, form: Polynomial) -> Condition | bool:
    """With whole coefficients that have nothing in common, and one sign for both of `==`."""
    number = form.number
    if number is not None:
        if number == 0:
            return operation in ("==", "<=", ">=")
        return operation == "!=" or operation[0] == ("<" if number < 0 else ">")
    form = form * form.denominator
    match form.terms:
        case ((((Operation("floor", parts), 1),), _),) if all(map(is_positive, parts)):
            top, bottom = parts
            # ⌊a/b⌋ is nothing below b.
            if operation == "==":
                return Condition(">=", bottom - top - ONE)
            if operation == "!=":
                return Condition(">=", top - bottom)
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
        case [(((Operation("floor", (top, bottom)), 1),), sign)] if is_positive(bottom):
            if sign == 1:
                return _without_floor(top + bottom * constant)
            if sign == -1:
                return _without_floor(bottom * (constant + 1) - top - ONE)
    return form
