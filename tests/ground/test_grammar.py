from __future__ import annotations

import re
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nparam_lint.ground.metrics import METRICS
from nparam_lint.ground.notation import FormulaError, TextError, UnknownName
from nparam_lint.ground.notation.grammar import parse_tolerance, parse_value, round_count

PROPERTY = settings(max_examples=80)
SUFFIXES = {"k": 3, "K": 3, "M": 6, "B": 9, "G": 9, "T": 12}


def test_an_endless_number_is_too_large() -> None:
    with pytest.raises(TextError, match="too large"):
        parse_value("9" * 9999)


def test_formulas_with_names_are_judged_when_evaluated() -> None:
    value = parse_value("n / 4 + m")
    assert (value.names, value.is_exact) == ({"n", "m"}, True)
    assert value.formula is not None
    with pytest.raises(UnknownName, match="`m`"):
        value.bounds({"n": 4})
    with pytest.raises(FormulaError, match=re.escape("`n / 4 + m` gives 1.5, not a whole number")):
        value.bounds({"n": 2, "m": 1})
    with pytest.raises(FormulaError, match="an empty range"):
        parse_value("n..5").bounds({"n": 6})


@pytest.mark.parametrize("text", ["", "0.5", "x", "-1", "1%%", "5 percent", "٣%"])
def test_malformed_tolerances(text: str) -> None:
    with pytest.raises(TextError):
        parse_tolerance(text)


def test_what_a_difference_is_measured_from() -> None:
    declared = {
        text: (parse_value(text).bounds().exact_value, parse_value(text).bounds().declared)
        for text in ("1_000", "86.6M", "<= 25k", "1..2", "7k ± 1%", "2*3")
    }
    assert declared == {
        "1_000": (1000, 1000),
        "86.6M": (None, 86_600_000),
        "<= 25k": (None, 25_000),
        "1..2": (None, None),
        "7k ± 1%": (None, 7000),
        "2*3": (6, 6),
    }


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1.0k"),
        (27_104, "27.1k"),
        (999_949, "999.9k"),
        (999_950, "1.0M"),
        (124_475_904, "124.5M"),
        (-1500, "-1.5k"),
        (671_000_000_000, "671.0B"),
        (10**16, "10000.0T"),
    ],
)
def test_rounded_for_people(count: int, text: str) -> None:
    assert round_count(count) == text


@PROPERTY
@given(
    st.integers(0, 10**13),
    st.sampled_from(sorted(SUFFIXES)),
    st.integers(0, 4),
    st.sampled_from([ROUND_DOWN, ROUND_HALF_UP, ROUND_HALF_EVEN]),
    st.sampled_from(["", " "]),
)
def test_rounded_and_cut_numbers_hold(
    count: int, suffix: str, places: int, rounding: str, space: str
) -> None:
    scaled = Decimal(count).scaleb(-SUFFIXES[suffix])
    number = scaled.quantize(Decimal(1).scaleb(-min(places, SUFFIXES[suffix])), rounding)
    bounds = parse_value(f"{number}{space}{suffix}").bounds()
    assert count in bounds
    assert count in parse_value(f"~{number}{suffix}").bounds()
    assert count in parse_value(f"{number}e{SUFFIXES[suffix]}").bounds()


@PROPERTY
@given(st.integers(0, 10**15))
def test_exact_numbers_in_any_form(count: int) -> None:
    for text in (f"{count}", f"{count:_}", f"{count:,}", f"{count}..{count}", f"{count} ± 0"):
        bounds = parse_value(text).bounds()
        assert (bounds.low, bounds.high) == (count, count)


@PROPERTY
@given(
    st.integers(1, 9999),
    st.integers(0, 3),
    st.sampled_from(["", " ± 3%", " ± 0.7 %", " ± 13", " ± 0.02k"]),
    st.sampled_from(["", "~", "<", "<=", ">", ">="]),
)
def test_bounds_against_brute_force(digits: int, places: int, spread: str, sign: str) -> None:
    written = f"{Decimal(digits).scaleb(-places)}k"
    n, u = Fraction(digits * 1000, 10**places), Fraction(1000, 10**places)
    margin = {" ± 3%": n * 3 / 100, " ± 0.7 %": n * 7 / 1000, " ± 13": 13, " ± 0.02k": 20}
    checks = {
        "<": lambda x: x < n,
        "<=": lambda x: x <= n,
        ">": lambda x: x > n,
        ">=": lambda x: x >= n,
        "~": lambda x: n - u / 2 <= x < n + u or abs(x - n) <= n / 20,
        "": lambda x: n - u / 2 <= x < n + u,
    }
    if sign:
        text, holds = f"{sign} {written}", checks[sign]
    elif spread:
        text, holds = f"{written}{spread}", lambda x: abs(x - n) <= margin[spread]
    else:
        text, holds = written, checks[""]
    bounds = parse_value(text).bounds()
    for edge in {0, int(n), bounds.low or 0, bounds.high or 0}:
        for x in range(max(edge - 2, 0), edge + 3):
            assert (x in bounds) is bool(holds(x)), (text, x)


@pytest.mark.thorough
@PROPERTY
@given(
    st.text() | st.text("0123456789_,.kKMBGTie%±~<>=+-*/()#'n ") | st.text(" ٣²é\0\ud800.±"),
    st.sampled_from([*METRICS]),
)
def test_any_text_is_read_or_refused(text: str, metric: str) -> None:
    for parse in (parse_value, parse_tolerance):
        try:
            parse(text, metric)
            offset = 0
        except TextError as error:
            offset = error.offset
        assert 0 <= offset <= len(text)
