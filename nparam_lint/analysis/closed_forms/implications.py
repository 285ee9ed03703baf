"""What is proved of forms by the signs of their terms, or by solving what is linear: that one never
falls, and what follows from conditions."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.compiled_form import from_least, substituted, transformed
from nparam_lint.analysis.closed_forms.conditions import Condition, remainder_of
from nparam_lint.analysis.closed_forms.polynomial import (
    ONE,
    Generator,
    Number,
    Opaque,
    Polynomial,
    names_of,
    quotient,
    rounded,
)
from nparam_lint.analysis.closed_forms.signs import is_positive

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from nparam_lint.analysis.closed_forms.conditions import Ray


# --- what never falls -------------------------------------------------------------------------


def growing(form: Polynomial, least: Mapping[str, int]) -> frozenset[str]:
    """The names in which the form never falls, whatever the values of the others, from their
    `least` values on: every term that contains the name has a positive coefficient, once the names
    are counted from there. The form may also grow in names that are not returned."""
    shifted = transformed(from_least(form, least), _above_one)
    return frozenset(name for name in least.keys() & form.names if _rises(shifted, name))


def _above_one(generator: Generator) -> Polynomial | None:
    """What a power of two has above one, which is positive too."""
    if isinstance(generator, str | Opaque) or generator.kind != "**":
        return None
    (name,) = generator.names
    return Polynomial.generator(f"2**{name}") + ONE


def _rises(form: Polynomial, name: str) -> bool:
    return all(
        coefficient > 0 and all(is_positive(g) and _never_falls(g, name) for g, _ in monomial)
        for monomial, coefficient in form.terms
        if any(names_of(generator) & {name, f"2**{name}"} for generator, _ in monomial)
    )


def _never_falls(generator: Generator, name: str) -> bool:
    """Whether it never falls where the name grows."""
    if isinstance(generator, str):
        return True
    if isinstance(generator, Opaque):
        return name not in generator.names
    bottom = generator.right
    if generator.is_rounded and (name in bottom.names or not is_positive(bottom)):
        return False
    return all(_rises(part, name) for part in generator.parts)


# --- what follows -----------------------------------------------------------------------------


def solved(form: Polynomial, name: str) -> Polynomial | None:
    """The value of a name with which the form is zero, where it is linear in it."""
    terms = [term for term in form.terms if any(name in names_of(g) for g, _ in term[0])]
    match terms:
        case [(((generator, 1),), coefficient)] if generator == name:
            return (form - Polynomial(tuple(terms))) * (Fraction(-1) / coefficient)
    return None


def solutions(condition: Condition) -> Iterator[tuple[str, Polynomial]]:
    """The names in which an equality is linear, each with its value."""
    is_equality = condition.operation == "==" and condition.left is None
    for name in sorted(condition.names) if is_equality else ():
        value = solved(condition.form, name)
        if value is not None:
            yield name, value


def with_value(form: Polynomial, condition: Condition) -> Iterator[Polynomial]:
    """The form with the value that an equality gives to a name in its place, for each of them."""
    for name, value in solutions(condition):
        with suppress(ArithmeticError):
            yield substituted(form, {name: value})


def divided(form: Polynomial, conditions: Iterable[Condition]) -> Polynomial:
    """The form, where `b*(a//b)` is `a` because `a % b == 0`."""
    for condition in conditions:
        match remainder_of(condition.form):
            case (top, bottom, 0) if condition.operation == "==":
                if bottom.factors is None or bottom.factors[0] != 1:
                    continue
                product = bottom * rounded(top, bottom)
                terms = (Polynomial((term,)) for term in form.terms)
                shares = ((term, quotient(term, product)) for term in terms)
                form = Polynomial.sum(
                    term if share is None else top * share for term, share in shares
                )
    return form


def _is_within(ray: Ray, wider: Ray) -> bool:
    """Whether what is on one ray is on another one."""
    value, operation, bound = ray
    wider_value, wider_operation, end = wider
    if value != wider_value or wider_operation in ("==", "!=") or operation == "!=" or ray == wider:
        return False
    is_at_end = bound == end and (operation == wider_operation or "=" in wider_operation)
    if wider_operation[0] == ">":
        return operation[0] in ">=" and (bound > end or is_at_end)
    return operation[0] in "<=" and (bound < end or is_at_end)


class Implications:
    """`least`: the least value of each variable."""

    def __init__(self, least: Mapping[str, Number]) -> None:
        self.least = least

    def contradict(self, conditions: Sequence[Condition]) -> bool:
        """Whether it is certain that not all of these hold."""
        *above, last = conditions
        if self.follows(last.negated, above) or last.negated in above:
            return True
        for condition in above if last.left is None else ():
            for form in with_value(last.form, condition):
                if Condition(last.operation, form).negated.is_certain(self.least):
                    return True
        return self.is_empty([c for c in conditions if c.names == last.names])

    def is_empty(self, conditions: Sequence[Condition]) -> bool:
        """Whether no value of one variable meets conditions that are bounds and equalities."""
        if len(conditions[-1].names) != 1 or any(c.left is not None for c in conditions):
            return False
        (name,) = conditions[-1].names
        low: Number | float = self.least[name]
        high: Number | float = inf
        values: set[Number | float] = set()
        excluded: set[Number] = set()
        for condition in conditions:
            bound = solved(condition.form, name)
            if bound is None or bound.number is None:
                return False
            if condition.operation == "==":
                values.add(bound.number)
            elif condition.operation == "!=":
                excluded.add(bound.number)
            elif dict(condition.form.terms)[((name, 1),)] > 0:
                low = max(low, bound.number)
            else:
                high = min(high, bound.number)
        if low == high:
            values.add(low)
        return (
            high < low
            or len(values) > 1
            or any(value in excluded or not low <= value <= high for value in values)
        )

    def follows(self, condition: Condition, premises: Sequence[Condition]) -> bool:
        """Whether a bound follows from another one, by the signs of what lies between."""
        if condition.ray is not None:
            return any(p.ray is not None and _is_within(p.ray, condition.ray) for p in premises)
        if condition.left is not None or condition.operation != ">=":
            return False
        for premise in premises:
            if premise.operation == ">=" and premise.left is None and premise != condition:
                with suppress(ArithmeticError):
                    if is_positive(from_least(condition.form - premise.form, self.least)):
                        return True
        return False
