"""The words with which people say which count a number is, and in which unit it is written."""

from __future__ import annotations

import re

from nparam_lint.ground.notation import Selector

_MEASURES = (  # the first whose word stands in the text
    (
        re.compile(r"non[-_\s]?embed|w/?o\.?\s+emb|without\s+embed|excl\w*\.?\s+embed"),
        "non_embedding",
    ),
    (re.compile(r"non[-_\s]?trainable|frozen"), "frozen"),
    (re.compile(r"trainable|learn"), "trainable"),
    (re.compile(r"activ|\bact\.?\b"), "active"),
)
# Before a number.
LIMITS = r"(?:under|below|fewer\s+than|less\s+than|at\s+most|no\s+more\s+than)"
ABOUT = r"(?:about|around|approximately|approx\.?|roughly|circa|nearly)"
UNIT_WORDS = {"thousand": "k", "million": "M", "billion": "B", "trillion": "T"}
_UNITS = UNIT_WORDS | {"k": "k", "m": "M", "mil": "M", "mn": "M", "b": "B", "bn": "B", "g": "G"}
_UNITS |= {"mb": "M", "mib": "M", "megabyte": "M"}  # said of counts as often as of bytes
_UNITS |= {"t": "T", "6": "M", "3": "k", "⁶": "M", "³": "k"}  # powers of ten by their last digit
_EXPONENTS = {"T": 12, "G": 9, "B": 9, "M": 6, "k": 3}


def selector_of(words: str) -> Selector:
    """The measure that some words name."""
    low = words.lower()
    return Selector(next((metric for word, metric in _MEASURES if word.search(low)), "total"))


def suffix_of(unit: str | None) -> str:
    """A unit as a suffix of budgets: `M` of `million`, `mn` or `10^6`; "" where there is none."""
    word = re.sub(r"[\s.-]", "", unit or "").lower()
    return _UNITS.get(word[-1:] if word[-1:].isdigit() else word.removesuffix("s"), "")


def written_value(number: str, unit: str | None) -> str:
    """A number of a text, with the unit that it is written in, in the notation of budgets."""
    digits = re.sub("[,_]", "", number)
    if suffix := suffix_of(unit):
        # `350M` may be rounded to tens of millions: two of its digits say something.
        zeros = len(digits) - max(len(digits.rstrip("0")), 2) if digits.isdigit() else 0
        return f"{digits[:-zeros]}e{zeros + _EXPONENTS[suffix]}" if zeros > 0 else digits + suffix
    # In prose, 59880000 is a rounded number: its zeros say nothing.
    stripped = digits.rstrip("0")
    zeros = len(digits) - len(stripped)
    return f"{stripped}e{zeros}" if zeros >= 3 and stripped else digits
