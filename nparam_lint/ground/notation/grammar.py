"""How a count is written: `124_475_904`, `86.6M`, `7.1M ± 2%`, `<= 25k`, `26.5M..27.5M`, `~58k` or
a formula; and the whole counts that each form admits. Exact rational arithmetic throughout."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from nparam_lint.ground.metrics import METRICS
from nparam_lint.ground.notation import (
    FormulaError,
    FormulaSyntaxError,
    TextError,
    exact_text,
    expression,
    shifted,
    without_comment,
)

from ..patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nparam_lint.ground.notation.expression import Formula
    from nparam_lint.ground.values import NameValue

EXAMPLES = "124_475_904, 86.6M, 7.1M ± 2%, <= 25k, 26.5M..27.5M, ~58k or a formula"

Form = Literal["plain", "written", "formula", "<=", "<", ">=", ">", "range", "around", "about"]

_SUFFIXES = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "B": 10**9, "T": 10**12}
_BYTES: dict[str, int] = {
    f"{letter}{mark}B": base**power
    for base, mark in ((1000, ""), (1024, "i"))
    for letter, power in (("K", 1), ("k", 1), ("M", 2), ("G", 3), ("T", 4))
}
_NUMBER = late_pattern(
    r"(?P<whole>[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+(?:_[0-9]+)*)?(?:\.(?P<part>[0-9]+))?"
    r"(?:[eE](?P<exponent>[+-]?[0-9]+)|\s*(?P<suffix>[A-Za-z]+))?"
)
_MAX_DIGITS = 60
_SIGN = late_pattern("[<>]=?|[≤≥~≈]")
_OTHER_SIGNS: dict[str, Form] = {"≤": "<=", "≥": ">=", "~": "about", "≈": "about"}
_AROUND = late_pattern(r"±|\+/-|\+-")
_NO_NAMES: Mapping[str, NameValue] = {}


class Tolerance(Struct, frozen=True):
    """How far a count may be off: a percentage of it (`relative`), or a number of parameters."""

    text: str
    amount: Fraction
    relative: bool

    def of(self, number: Fraction) -> Fraction:
        return number * self.amount / 100 if self.relative else self.amount


_ABOUT_DEFAULT = Tolerance("5%", Fraction(5), relative=True)


class Bounds(Struct, frozen=True):
    """The counts that are admitted, both ends included; None is unbounded. `exact_value` is the
    one count that a plain integer or a formula names; `declared` the number that a difference is
    measured from (the number written, or the limit; None for a range)."""

    low: int | None
    high: int | None
    exact_value: int | None = None
    declared: int | None = None

    def __contains__(self, count: int) -> bool:
        return (self.low is None or self.low <= count) and (self.high is None or count <= self.high)


class Number(Struct, frozen=True):
    """A number as written. `unit` is the worth of its last written digit; 0 for plain integers."""

    value: Fraction
    unit: Fraction = Fraction(0)
    names: frozenset[str] = frozenset()


class Value(Struct, frozen=True):
    """A declared count. `terms` holds both ends of a range, otherwise one number or formula;
    `spread` is what follows `±`."""

    text: str
    form: Form
    terms: tuple[Number | Formula, ...]
    spread: Tolerance | None = None

    @property
    def names(self) -> frozenset[str]:
        """The names that it needs values for."""
        return frozenset[str]().union(*(term.names for term in self.terms))

    @property
    def is_exact(self) -> bool:
        """Whether it admits a single count: a plain integer, or a formula."""
        return self.form in ("plain", "formula")

    @property
    def formula(self) -> Formula | None:
        """The formula, where the whole value is one."""
        term = self.terms[0]
        return None if self.form != "formula" or isinstance(term, Number) else term

    def bounds(
        self,
        names: Mapping[str, NameValue] = _NO_NAMES,
        tolerance: Tolerance | None = None,
        forced: bool = False,
    ) -> Bounds:
        """The counts that it admits, given the values of its names.

        A `tolerance` replaces the precision implied by a suffix or an exponent, and the 5% of `~`;
        `forced` (it was given for this very budget) makes it hold for exact values too.
        Raises FormulaError (UnknownName where a value is missing).
        """
        value, *upper = (_evaluated(t, names, is_exact=self.is_exact) for t in self.terms)
        whole = math.floor(value) if value == math.floor(value) else round(value)
        match self.form:
            case "<=":
                return Bounds(0, math.floor(value), declared=whole)
            case "<":
                return Bounds(0, math.ceil(value) - 1, declared=whole)
            case ">=":
                return Bounds(math.ceil(value), None, declared=whole)
            case ">":
                return Bounds(math.floor(value) + 1, None, declared=whole)
            case "range":
                if value > upper[0]:
                    ends = f"{exact_text(value)}..{exact_text(upper[0])}"
                    raise FormulaError(f"`{self.text}` gives {ends}, an empty range")
                return Bounds(math.ceil(value), math.floor(upper[0]))
        term = self.terms[0]
        unit = term.unit if isinstance(term, Number) else Fraction(0)
        # People round and people cut: both are right to the last written digit.
        low = math.ceil(value - unit / 2)
        high = math.ceil(value + unit) - 1 if unit else math.floor(value)
        if self.spread is not None:
            low, high = _within(value, self.spread)
        elif self.form == "about":
            about_low, about_high = _within(value, tolerance or _ABOUT_DEFAULT)
            low, high = min(low, about_low), max(high, about_high)
        elif tolerance is not None and (forced or self.form == "written"):
            low, high = _within(value, tolerance)
        return Bounds(max(low, 0), high, whole if self.is_exact else None, whole)


def parse_value(text: str, metric: str = "total") -> Value:
    """Read a declared count. Raises TextError."""
    body = text.strip()
    with shifted(len(text) - len(text.lstrip())):
        if not body:
            raise TextError(f"found nothing, expected a count such as {EXAMPLES}")
        if comment := body[len(without_comment(body)) :]:  # Python would pass over it in a formula
            raise TextError(f"found {comment!r}, expected no more", len(body) - len(comment))
        value = _parse(body, metric)
        if value.names:
            return value
        try:  # what can be known without any names is an error at once, not at every check
            bounds = value.bounds()
        except FormulaError as error:
            raise TextError(error.message) from None
        if bounds.low is not None and bounds.high is not None and bounds.low > bounds.high:
            raise TextError(f"found {_excerpt(body)}, which no whole number satisfies")
        return value


def parse_tolerance(text: str, metric: str = "total") -> Tolerance:
    """Read `0.5%` (a percentage), `50k` or `1_000` (an amount). Raises TextError."""
    body = text.strip()
    with shifted(text.index(body)):
        if match := re.fullmatch(r"([0-9]{1,20}(?:\.[0-9]{1,20})?)\s*%", body):
            return Tolerance(body, Fraction(match[1]), relative=True)
        if re.fullmatch(r"[0-9]*\.[0-9]+", body):
            hint = f"did you mean `{body[:30]}%`?"
            raise TextError(f"found {_excerpt(body)}, a decimal without a unit; {hint}")
        number = _number(body, metric)
        if number is None:
            expected = "expected a tolerance such as 2%, 50k or 1000"
            raise TextError(f"found {_excerpt(body)}, {expected}")
        return Tolerance(body, number.value, relative=False)


def round_count(n: int) -> str:
    """A count for people: `124.5M`, `27.1k`, `999`. Never used to compare."""
    size = abs(n)
    if size < 1000:
        return str(n)
    for suffix, unit in (("k", 10**3), ("M", 10**6), ("B", 10**9), ("T", 10**12)):
        tenths = (size * 10 + unit // 2) // unit
        if tenths < 10_000 or suffix == "T":
            break
    return f"{'-' if n < 0 else ''}{tenths // 10}.{tenths % 10}{suffix}"


# --- reading ----------------------------------------------------------------------------------


def _parse(body: str, metric: str) -> Value:
    if sign := _SIGN.match(body):
        form: Form = _OTHER_SIGNS.get(sign[0], sign[0])  # type: ignore[arg-type]
        return Value(body, form, (_term(body, metric, sign.end()),))
    if (dots := body.find("..")) >= 0:
        return Value(body, "range", (_term(body[:dots], metric), _term(body, metric, dots + 2)))
    if around := _AROUND.search(body):
        term = _term(body[: around.start()], metric)
        with shifted(around.end()):
            spread = parse_tolerance(body[around.end() :], metric)
        return Value(body, "around", (term,), spread)
    term = _term(body, metric)
    if not isinstance(term, Number):
        return Value(body, "formula", (term,))
    return Value(body, "written" if term.unit else "plain", (term,))


def _term(text: str, metric: str, start: int = 0) -> Number | Formula:
    """The number or formula that the text is from `start` on."""
    part = text[start:]
    body = part.strip()
    with shifted(start + len(part) - len(part.lstrip())):
        if (number := _number(body, metric)) is not None:
            return number
        expected = f"expected a count such as {EXAMPLES}"
        try:
            formula = expression.parse_formula(body)
        except FormulaError as error:
            is_word = re.fullmatch(r"[\w.,\s]*", body) is not None  # no formula was meant
            if is_word or isinstance(error, FormulaSyntaxError):
                message = f"found {_excerpt(body)}, {expected}"
                raise TextError(message, 0 if is_word else error.offset) from None
            raise TextError(error.message, error.offset) from None
        if formula.is_condition:
            raise TextError(f"found the condition {_excerpt(body)}, {expected}")
        if not formula.names and re.search(r"\b(and|or|if)\b", body):
            raise TextError(
                f"found {_excerpt(body)}, which has no argument to decide by; {expected}"
            )
        return formula


def _number(body: str, metric: str) -> Number | None:
    """A number, or None where the text is something else."""
    match = _NUMBER.fullmatch(body)
    if match is None or not (match["whole"] or match["part"]):
        return None
    whole = re.sub("[_,]", "", match["whole"] or "")
    part, exponent, suffix = match["part"] or "", match["exponent"], match["suffix"] or ""
    is_bytes = METRICS[metric].unit == "bytes"
    at = len(body) - len(suffix)
    if suffix in _BYTES and not is_bytes:
        reason = "which counts bytes; expected a number of parameters, or `nparam[bytes]`"
        raise TextError(f"found `{suffix}`, {reason}", at)
    if suffix == "B" and is_bytes:
        raise TextError("found `B`, which may mean bytes or billions; expected MB or GB", at)
    scale = _BYTES.get(suffix) or _SUFFIXES.get(suffix)
    if scale is None:
        suffixes = "KB MB GB TB KiB MiB GiB TiB k M G T" if is_bytes else "k K M B G T"
        near = next((unit for unit in suffixes.split() if unit.lower() == suffix.lower()), None)
        hint = f"; did you mean `{body.removesuffix(suffix)}{near}`?" if near else ""
        raise TextError(f"found {_excerpt(body)}, expected a count such as {EXAMPLES}{hint}")
    if part and exponent is None and not suffix:
        hint = f"did you mean `{body}{'MB' if is_bytes else 'M'}`?"
        raise TextError(f"found {_excerpt(body)}, a decimal without a suffix; {hint}")
    if len(body) > _MAX_DIGITS or abs(int(exponent or 0)) > _MAX_DIGITS:
        raise TextError(f"found {_excerpt(body)}, which is too large for a count")
    unit = scale * Fraction(10) ** (int(exponent or 0) - len(part))
    plain = exponent is None and not suffix
    return Number(int(whole + part) * unit, Fraction(0) if plain else unit)


def _excerpt(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:59]}…") if text else "nothing"


# --- bounds -----------------------------------------------------------------------------------


def _evaluated(
    term: Number | Formula, names: Mapping[str, NameValue], *, is_exact: bool
) -> Fraction:
    """Its value; that of a limit, or of what is only about right, may be a fraction."""
    if isinstance(term, Number):
        return term.value
    result = term.evaluate(names)
    if result < 0 or (is_exact and result.denominator != 1):
        reason = "below zero" if result < 0 else "not a whole number"
        raise FormulaError(f"`{term.text}` gives {exact_text(result)}, {reason}")
    return result


def _within(value: Fraction, tolerance: Tolerance) -> tuple[int, int]:
    margin = tolerance.of(value)
    return math.ceil(value - margin), math.floor(value + margin)
