"""What is proved of forms by the signs of their terms, or by solving what is linear: that one never
falls, and what follows from conditions."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.analysis.closed_forms.algebra import (
    from_least,
    quotient_of,
    substituted,
    transformed,
)
from nparam_lint.analysis.closed_forms.conditions import Condition, remainder_of
from nparam_lint.analysis.closed_forms.polynomial import (
    ONE,
    Generator,
    Number,
    Polynomial,
    names_of,
    quotient,
)
from nparam_lint.analysis.closed_forms.signs import is_positive

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


# --- what never falls -------------------------------------------------------------------------


def growing(form: Polynomial, least: Mapping[str, int]) -> frozenset[str]:
    """The names in which the form never falls, whatever the values of the others, from their
    `least` values on: every term that contains the name has a positive coefficient, once the names
    are counted from there. The form may also grow in names that are not returned."""
    shifted = transformed(from_least(form, least), _above_one)
    return frozenset(name for name in least.keys() & form.names if _rises(shifted, name))


def _above_one(generator: Generator) -> Polynomial | None:
    """What a power of two has above one, which is positive too."""
    name = None if isinstance(generator, str) else generator.levels
    return None if name is None else Polynomial.generator(f"2**{name}") + ONE


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
    bottom = generator.parts[-1]
    if generator.is_rounded and (name in bottom.names or not is_positive(bottom)):
        return False
    rises = generator.is_rounded or generator.kind in ("max", "min")
    return all(_rises(part, name) if rises else name not in part.names for part in generator.parts)


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
    for name in sorted(condition.names) if condition.operation == "==" else ():
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
        if condition.operation != "==":
            continue
        match remainder_of(condition.form):
            case (top, Polynomial(((_, 1),)) as bottom, 0) if all(
                isinstance(generator, str) for generator in bottom.generators
            ):
                product = bottom * quotient_of(top, bottom)
                terms = (Polynomial((term,)) for term in form.terms)
                shares = ((term, quotient(term, product)) for term in terms)
                form = Polynomial.sum(
                    term if share is None else top * share for term, share in shares
                )
    return form


def contradict(conditions: Sequence[Condition], least: Mapping[str, Number]) -> bool:
    """Whether it is certain that not all of these hold. `least`: the least value of each
    variable."""
    *above, last = conditions
    if last.negated in above or follows(last.negated, above, least):
        return True
    # What is neither less nor more is equal.
    bounds = {c.form for c in conditions if c.operation == ">="}
    equal = [Condition("==", form) for form in bounds if -form in bounds]
    equations = [*equal, *(c for c in conditions if c.operation == "==")]
    return any(
        Condition(condition.operation, form).negated.is_certain(least)
        for equation in equations
        for condition in conditions
        if condition != equation and not condition.names.isdisjoint(equation.names)
        for form in with_value(condition.form, equation)
    )


def follows(
    condition: Condition, premises: Sequence[Condition], least: Mapping[str, Number]
) -> bool:
    """Whether a bound follows from another one, or from an equation, by the signs of what lies
    between."""
    goal = condition.above
    if goal is None:
        return False
    for premise in premises:
        form = premise.form if premise.above is None else premise.above
        if premise == condition or premise.operation == "!=":
            continue
        is_strict = condition.operation in ("<", ">") and premise.operation not in ("<", ">")
        between = Condition(">" if is_strict else ">=", goal - form)
        if between.is_certain(least):
            return True
        if premise.above is None and replace(between, form=goal + form).is_certain(least):
            return True
    return False
