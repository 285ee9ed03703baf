"""What is proved by the signs of terms: that a form never falls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.compiled_form import from_least, transformed
from nparam_lint.analysis.closed_forms.polynomial import (
    ONE,
    Generator,
    Opaque,
    Polynomial,
    names_of,
)
from nparam_lint.analysis.closed_forms.signs import is_positive

if TYPE_CHECKING:
    from collections.abc import Mapping


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
        coefficient > 0 and all(is_positive(g) and _follows(g, name) for g, _ in monomial)
        for monomial, coefficient in form.terms
        if any(names_of(generator) & {name, f"2**{name}"} for generator, _ in monomial)
    )


def _follows(generator: Generator, name: str) -> bool:
    """Whether it never falls where the name grows."""
    if isinstance(generator, str):
        return True
    if isinstance(generator, Opaque):
        return name not in generator.names
    bottom = generator.right
    if generator.is_rounded and (name in bottom.names or not is_positive(bottom)):
        return False
    return all(_rises(part, name) for part in generator.parts)
