"""What is proved by the signs of terms: that a form is never below zero."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from nparam_lint.analysis.closed_forms.polynomial import ONE, Generator, Opaque, Polynomial

# Never below zero where their parts are not.
_RISING = frozenset(
    "trunc floor ceil gcd lcm comb factorial isqrt bit_length bit_count"
    " float whole + * / // ** % & | << >> max min sqrt round".split()
)


def is_positive(part: Polynomial | Generator) -> bool:
    """Whether it is never below zero where no variable is."""
    low = lower_bound(part) if isinstance(part, Polynomial) else _least(part)
    return low is not None and low >= 0


def lower_bound(form: Polynomial) -> Fraction | None:
    """What it is never below, where no variable is below zero; None where nothing is known."""
    total = Fraction(0)
    for monomial, coefficient in form.terms:
        if not monomial:
            total += coefficient
            continue
        least = coefficient
        for generator, exponent in monomial:
            low = _least(generator)
            if low is None or low < 0 or coefficient < 0:
                return None
            least *= low**exponent
        total += least
    return total


@lru_cache(maxsize=4096)  # one that stands in many others is asked for by each of them
def _least(generator: Generator) -> Fraction | None:
    if isinstance(generator, str):
        return Fraction(0)
    if isinstance(generator, Opaque):
        if generator.operation == "number":
            return Fraction(0) if float(generator.text) >= 0 else None
        if generator.operation not in _RISING or not all(map(is_positive, generator.parts)):
            return None
        match generator.operation, generator.parts[0]:
            case "**", Polynomial() as base if is_positive(base - ONE):
                return Fraction(1)
        return Fraction(0)
    if generator.kind == "**":
        return Fraction(1) if is_positive(generator.right) else None
    bounds = [low for part in generator.parts if (low := lower_bound(part)) is not None]
    if generator.kind == "max":
        return max(bounds, default=None)
    if len(bounds) < 2:
        return None
    if generator.kind == "min":
        return min(bounds)
    return Fraction(0) if min(bounds) >= 0 else None
