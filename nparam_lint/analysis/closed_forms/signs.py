"""What is proved by the signs of terms: that a form is never below zero."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from nparam_lint.analysis.closed_forms.polynomial import Generator, Opaque, Polynomial

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
def _least(own: Generator) -> Fraction | None:
    if isinstance(own, str):
        return Fraction(0)
    if isinstance(own, Opaque):
        return _least_opaque(own)
    left, right = lower_bound(own.left), lower_bound(own.right)
    match own.kind:
        case "**":
            return Fraction(1) if right is not None and right >= 0 else None
        case "max":
            return max((low for low in (left, right) if low is not None), default=None)
        case "min":
            return None if left is None or right is None else min(left, right)
    return Fraction(0) if is_positive(own.left) and is_positive(own.right) else None


def _least_opaque(own: Opaque) -> Fraction | None:
    if own.operation == "number":
        return Fraction(0) if float(own.text) >= 0 else None
    if own.operation not in _RISING or not all(map(is_positive, own.parts)):
        return None
    base = own.parts[0]
    low = lower_bound(base) if own.operation == "**" and isinstance(base, Polynomial) else None
    return Fraction(1) if low is not None and low >= 1 else Fraction(0)
