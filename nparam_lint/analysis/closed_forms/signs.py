"""What is proved by the signs of terms: that a form is never below zero."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from nparam_lint.analysis.closed_forms.polynomial import Generator, Polynomial

# Never below zero where their parts are not.
_RISING = frozenset(
    "trunc floor ceil gcd lcm comb factorial isqrt bit_length bit_count"
    " real + * / // ** % & | << >> sqrt round".split()
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
    bounds = [lower_bound(part) for part in generator.parts]
    lows = [low for low in bounds if low is not None]
    if generator.kind == "max":
        return max(lows, default=None)
    if len(lows) < len(bounds):
        return None
    if generator.kind == "min":
        return min(lows)
    if generator.kind not in _RISING or min(lows) < 0:
        return None
    return Fraction(generator.kind == "**" and lows[0] >= 1)
