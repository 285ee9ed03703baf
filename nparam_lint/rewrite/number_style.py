"""Writes a count in the form of an older one: `124M` → `126M`, `1,234` → `1,250`.

Grouping, suffix, exponent and what is around the number (`~`, `± 2%`) stay. A rounded number keeps
its decimals; it gets more of them where the count would otherwise be written with fewer digits than
before (`124M` → `9.88M`), or would not hold (a configured tolerance that is finer than the digits).
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec import Struct

from nparam_lint.ground.notation import TextError
from nparam_lint.ground.notation.expression import Formula
from nparam_lint.ground.notation.grammar import Number, Tolerance, parse_value
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.ground.notation.grammar import Value

_NUMBER = late_pattern(r"[0-9.].*?(?=\s*(?:±|\+/-|\+-|$))", re.DOTALL)
# Splits what the grammar has accepted; it accepts more than that by itself.
_PIECES = late_pattern(
    r"(?P<whole>[0-9_,]*)(?:\.(?P<part>[0-9]+))?"
    r"(?:(?P<e>[eE]\+?)(?P<exponent>-?[0-9]+)|(?P<suffix>\s*[A-Za-z]+))?"
)
_MOST_DECIMALS = 40  # more than a count in KiB … TiB needs to be exact


class Restated(Struct, frozen=True):
    """A value's `text`, of which `text[start:end]` is to become `number`."""

    text: str
    start: int
    end: int
    number: str

    @property
    def old_number(self) -> str:
        """The part of the text that is replaced."""
        return self.text[self.start : self.end]

    @property
    def result(self) -> str:
        """The text with the new number."""
        return self.text[: self.start] + self.number + self.text[self.end :]


def is_movable(value: Value) -> bool:
    """Whether it is a number that follows the count: no limit, no range and no formula."""
    is_number = value.form in ("plain", "written", "around", "about")
    return is_number and not isinstance(value.terms[0], Formula)


def restate(
    value: Value,
    count: int,
    metric: str = "total",
    tolerance: Tolerance | None = None,
    forced: bool = False,
) -> Restated | None:
    """What makes a movable value hold for `count`; None where its form cannot hold it.

    `tolerance` and `forced` are those of `Value.bounds`.
    """
    match = _NUMBER.search(value.text)
    if match is None or not is_movable(value):
        return None
    for number in _numbers(match[0], count, metric):
        change = Restated(value.text, *match.span(), number)
        with suppress(TextError):  # too many digits, or between two whole numbers
            bounds = parse_value(change.result, metric).bounds(tolerance=tolerance, forced=forced)
            if count in bounds:
                return change
    return None


def rounded(count: int, tolerance: Tolerance | None = None) -> str:
    """A count with three digits and a suffix, as people write it: `86.6M`; more digits where the
    tolerance is finer. What is below 1000 stays as it is."""
    for suffix, unit in (("T", 10**12), ("B", 10**9), ("M", 10**6), ("k", 10**3)):
        if 2000 * count >= 1999 * unit:  # what rounds to 1000k is 1.00M
            change = restate(parse_value(f"100{suffix}"), count, tolerance=tolerance)
            if change:
                return change.result
    return f"{count:_}"


def integer(old: str, count: int) -> str:
    """A whole number, grouped as the old one is; `1_234_567` where that one was too short to be."""
    separator = _separator(old)
    if not separator and len(old) < 4:
        separator = "_"
    return _grouped(str(count), separator)


# --- writing ----------------------------------------------------------------------------------


def _numbers(old: str, count: int, metric: str) -> Iterator[str]:
    """The ways to write a count, with ever more digits."""
    match = _PIECES.fullmatch(old)
    if match is None:
        return
    whole, part, exponent, suffix = match.group("whole", "part", "exponent", "suffix")
    if exponent is None and suffix is None:
        yield integer(old, count)
        return
    part = part or ""
    digits = len(re.sub("[_,]", "", whole + part).lstrip("0"))
    one_digit = re.fullmatch("[1-9]", whole) is not None
    enough = not count
    for decimals in range(len(part), _MOST_DECIMALS):
        if exponent is None:
            unit = parse_value("1" + suffix, metric).terms[0]
            assert isinstance(unit, Number)
            scale, mark = unit.value, suffix
        else:  # `e08` or `e8`, as it stood
            power = int(exponent)
            if one_digit and count:  # one digit before the point, also after rounding
                power = len(str(count)) - 1
                power += len(str(_scaled(count, Fraction(10) ** power, decimals))) > decimals + 1
            padding = len(exponent) if exponent.startswith("0") else 0
            scale, mark = Fraction(10) ** power, f"{match['e']}{power:0{padding}d}"
        scaled = _scaled(count, scale, decimals)
        enough = enough or len(str(scaled).lstrip("0")) >= digits
        if enough:
            text = str(scaled).zfill(decimals + 1)
            point = len(text) - decimals
            before = (
                _grouped(text[:point], _separator(whole)) if whole else text[:point].lstrip("0")
            )
            yield (f"{before}.{text[point:]}" if decimals else before) + mark


def _scaled(count: int, scale: Fraction, decimals: int) -> int:
    """`count / scale` to so many decimals, without the point; halves go up."""
    return math.floor(count * Fraction(10) ** decimals / scale + Fraction(1, 2))


def _separator(old: str) -> str:
    return next((mark for mark in "_," if mark in old), "")


def _grouped(digits: str, separator: str) -> str:
    return f"{int(digits):,}".replace(",", separator) if separator else digits
