"""The words with which people say which count a number is, and in which unit it is written."""

from __future__ import annotations

import re

from nparam_lint.ground.notation import Selector
from nparam_lint.ground.patterns import late_pattern

WITHOUT_EMBEDDINGS = (
    r"(?:w/?o\.?|without|excl\w*\.?|not\s+counting)\s+"
    r"(?:(?:its|the|any|all|token|word|input|vocabulary)\s+){0,2}emb(?:ed\w*)?"
)
_MEASURES = (  # the first whose word stands in the text
    (late_pattern(rf"non[-_\s]?embed|{WITHOUT_EMBEDDINGS}"), "non_embedding"),
    (late_pattern(r"non[-_\s]?trainable|frozen"), "frozen"),
    (late_pattern(r"(?:train|tun)able|learn"), "trainable"),
    (late_pattern(r"activ|\bact\.?\b"), "active"),
)
NOUN = r"param(?:eter)?s?"
QUALIFIER = r"""(?:total|overall|unique|model|network|(?:non[-_\s]?)?trainable|tunable|learn[ae]ble
    |frozen|active|activated|non[-_\s]?embedding)"""
# Before a number.
LIMITS = r"(?:under|below|fewer\s+than|less\s+than|at\s+most|no\s+more\s+than)"
ABOUT = r"(?:about|around|approximately|approx\.?|roughly|circa|nearly)"
UNIT_WORDS = {"thousand": "k", "million": "M", "billion": "B", "trillion": "T"}
UNIT_WORD = f"(?:{'|'.join(UNIT_WORDS)})"
_UNITS = UNIT_WORDS | {"k": "k", "m": "M", "mil": "M", "mn": "M", "b": "B", "bn": "B", "g": "G"}
_UNITS |= {"万": "e4", "萬": "e4", "만": "e4", "亿": "e8", "億": "e8", "억": "e8"}
_UNITS |= {"тыс": "k", "млн": "M", "млрд": "B", "mio": "M", "mrd": "B"}
_UNITS |= {"millone": "M", "milhõe": "M"}
_UNITS |= {"mb": "M", "mib": "M", "megabyte": "M"}  # said of counts as often as of bytes
_UNITS |= {"t": "T"}
# Powers of ten by their last digit.
_UNITS |= {"8": "e8", "6": "M", "4": "e4", "3": "k", "⁶": "M", "³": "k"}
_EXPONENTS = {"T": 12, "G": 9, "B": 9, "e8": 8, "M": 6, "e4": 4, "k": 3}
# "Parameters", and units, as other languages than English write them.
NOUN_ABROAD = (
    r"(?:参数(?:总?量|数量?)?|參數(?:數?量)?|パラメータ(?:ー)?数?|파라미터\s?수?|매개변수\s?수?"
    r"|параметр(?:ы|ов|а)?|par[aá]metros|param[eè]tres)"
)
UNIT_ABROAD = r"(?:[万萬만亿億억]|тыс\.?|млн\.?|млрд\.?|[mM]io\.?|[mM]rd\.?|millones|milhões)"

_NUMBER_ABROAD = late_pattern(r"[0-9]{1,3}(?:\.[0-9]{3}){2,}|[0-9]+,[0-9]{1,2}")


def selector_of(words: str) -> Selector:
    """The measure that some words name."""
    low = words.lower()
    return Selector(next((metric for word, metric in _MEASURES if word.search(low)), "total"))


def suffix_of(unit: str | None) -> str:
    """A unit as a suffix of budgets: `M` of `million`, `mn` or `10^6`; "" where there is none."""
    word = re.sub(r"[\s.-]", "", unit or "").lower()
    return _UNITS.get(word[-1:] if word[-1:].isdigit() else word.removesuffix("s"), "")


def plain_number(text: str) -> str:
    """A number without the signs between thousands: `25,557,032`, `25_557_032`, `25 557 032` and,
    where a comma parts the decimals, `25.557.032` and `11,7`."""
    if _NUMBER_ABROAD.fullmatch(text):
        text = text.translate({ord("."): None, ord(","): "."})
    return re.sub(r"[,_'\s]", "", text)


def written_value(number: str, unit: str | None) -> str:
    """A number of a text, with the unit that it is written in, in the notation of budgets."""
    digits = plain_number(number)
    if suffix := suffix_of(unit):
        # `350M` may be rounded to tens of millions: two of its digits say something.
        zeros = len(digits) - max(len(digits.rstrip("0")), 2) if digits.isdigit() else 0
        return f"{digits[:-zeros]}e{zeros + _EXPONENTS[suffix]}" if zeros > 0 else digits + suffix
    # In prose, 59880000 is a rounded number: its zeros say nothing.
    stripped = digits.rstrip("0")
    zeros = len(digits) - len(stripped)
    return f"{stripped}e{zeros}" if zeros >= 3 and stripped else digits
