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


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("124_475_904", 124_475_904, 124_475_904),
        ("124,475,904", 124_475_904, 124_475_904),
        ("86.6M", 86_550_000, 86_699_999),
        ("28M", 27_500_000, 28_999_999),
        ("28 M", 27_500_000, 28_999_999),
        (".5k", 450, 599),
        ("1,234.5k", 1_234_450, 1_234_599),
        ("1.24e8", 123_500_000, 124_999_999),
        ("1.5T", 1_450_000_000_000, 1_599_999_999_999),
        ("<= 25k", 0, 25_000),
        ("≤25k", 0, 25_000),
        ("< 25k", 0, 24_999),
        (">= 1.2k", 1200, None),
        ("≥ 5", 5, None),
        ("> 5", 6, None),
        ("< 12*n", 0, 119),
        ("26.5M..27.5M", 26_500_000, 27_500_000),
        ("n .. 2*n", 10, 20),
        ("7.1M ± 2%", 6_958_000, 7_242_000),
        ("0.83M +/- 0.05M", 780_000, 880_000),
        ("1000 +- 0.25 %", 998, 1002),
        ("10 ± 50k", 0, 50_010),
        ("~58k", 55_100, 60_900),
        ("≈ 2K", 1500, 2999),
        ("12*n**2 + 13*n", 1330, 1330),
        ("5 if kind == '#' else 6", 5, 5),
    ],
)
def test_bounds(text: str, low: int | None, high: int | None) -> None:
    bounds = parse_value(text).bounds({"n": 10, "kind": "#"})
    assert (bounds.low, bounds.high) == (low, high)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("50MB", 49_500_000, 50_999_999),
        ("<= 50MiB", 0, 50 * 1024**2),
        ("1.5kB", 1450, 1599),
        ("2k", 1500, 2999),
        ("1GB ± 1MB", 999_000_000, 1_001_000_000),
        ("<= 3KiB", 0, 3 * 1024),
        ("<= 3kiB", 0, 3 * 1024),
        ("<= 3GiB", 0, 3 * 1024**3),
    ],
)
def test_bytes(text: str, low: int, high: int) -> None:
    bounds = parse_value(text, "bytes").bounds()
    assert (bounds.low, bounds.high) == (low, high)


@pytest.mark.parametrize(
    ("text", "metric", "offset", "message"),
    [
        ("12X", "total", 0, "found '12X', expected a count such as 124_475_904, 86.6M, 7.1M ± 2%"),
        ("", "total", 0, "found nothing"),
        ("220 # 110", "total", 4, "found '# 110', expected no more"),
        ("2*n#", "total", 3, "found '#', expected no more"),
        (" 86.6", "total", 1, "did you mean `86.6M`?"),
        ("86m", "total", 0, "did you mean `86M`?"),
        ("50MB", "total", 2, "counts bytes"),
        ("<= 5B", "bytes", 4, "MB or GB"),
        ("1,23", "total", 0, "found '1,23'"),
        ("2..1", "total", 0, "an empty range"),
        ("..5", "total", 0, "found nothing"),
        ("~", "total", 1, "found nothing"),
        ("< 0", "total", 0, "no whole number"),
        ("1.2345e2", "total", 0, "no whole number"),
        ("7M ± 2.5", "total", 5, "did you mean `2.5%`?"),
        ("7M ± n", "total", 5, "expected a tolerance"),
        ("5 > 3", "total", 0, "the condition"),
        ("220 or 110", "total", 0, "found '220 or 110', which has no argument to decide by"),
        ("220 if 1 else 110", "total", 0, "which has no argument to decide by"),
        ("n > 3 and n > 4", "total", 0, "the condition"),
        ("10/4", "total", 0, "gives 2.5, not a whole number"),
        ("3 - 5", "total", 0, "gives -2, below zero"),
        ("9**9**9**9", "total", 0, "too large"),
        ("a + b().c", "total", 4, "the bare name `c`"),
        ("~ a + len(b)", "total", 6, "expected one of"),
        ("86.6M parameters", "total", 0, "found '86.6M parameters'"),
        ("9" * 9999, "total", 0, "too large"),
        ("1e9999999999", "total", 0, "too large"),
        ("٣", "total", 0, "found '٣'"),
    ],
)
def test_faults(text: str, metric: str, offset: int, message: str) -> None:
    with pytest.raises(TextError, match=re.escape(message)) as caught:
        parse_value(text, metric)
    assert caught.value.offset == offset


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


@pytest.mark.parametrize(
    ("text", "tolerance", "forced", "low", "high"),
    [
        ("28M", "1%", False, 27_720_000, 28_280_000),
        ("1.0e3", "50", False, 950, 1050),
        ("1000", "1%", False, 1000, 1000),
        ("1000", "1%", True, 990, 1010),
        ("n", "1%", False, 200, 200),
        ("n", "1%", True, 198, 202),
        ("1000..1001", "1%", True, 1000, 1001),
        ("<= 1000", "1%", True, 0, 1000),
        ("1000 ± 1", "5%", True, 999, 1001),
        ("~58k", "1%", False, 57_420, 58_999),  # never stricter than what is written
        ("~58000", "1%", False, 57_420, 58_580),
    ],
)
def test_tolerance(text: str, tolerance: str, forced: bool, low: int, high: int) -> None:
    bounds = parse_value(text).bounds({"n": 200}, parse_tolerance(tolerance), forced)
    assert (bounds.low, bounds.high) == (low, high)


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
