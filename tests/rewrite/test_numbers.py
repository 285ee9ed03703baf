"""A count in the form in which an older one stands."""

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nparam_lint.ground.notation import TextError
from nparam_lint.ground.notation.grammar import parse_tolerance, parse_value
from nparam_lint.rewrite.number_style import integer, is_movable, restate, rounded

PROPERTY = settings(max_examples=80)
SUFFIXES = ("k", "K", "M", "G", "B", "T", " M")
BYTES = ("KB", "MB", "GB", "KiB", "MiB", " GiB")


def restated(text, count, metric="total", tolerance=None, forced=False):
    tolerance = parse_tolerance(tolerance) if tolerance else None
    found = restate(parse_value(text, metric), count, metric, tolerance, forced)
    return found and found.result


@pytest.mark.parametrize(
    ("old", "count", "new"),
    [
        ("124_475_904", 125_891_072, "125_891_072"),
        ("124,475,904", 125_891_072, "125,891,072"),
        ("124475904", 125_891_072, "125891072"),
        ("1_234_567", 12, "12"),
        ("999", 1_234_567, "1_234_567"),
        ("124M", 125_891_072, "126M"),
        ("86.6M", 88_149_999, "88.1M"),
        ("86.6 M", 88_150_000, "88.2 M"),
        ("99.9M", 100_250_000, "100.3M"),
        ("124M", 9_876_543, "9.88M"),
        ("2M", 123_456, "0.1M"),
        (".5M", 320_000, ".3M"),
        (".5M", 3_200_000, "3.2M"),
        ("12k", 1_234_567, "1235k"),
        ("1,234k", 2_234_567, "2,235k"),
        ("5k", 0, "0k"),
        ("1.24e8", 125_891_072, "1.26e8"),
        ("1.24e8", 2_100_000_000, "2.10e9"),
        ("9.99E08", 999_600_000, "1.00E09"),
        ("1.2e+3", 7, "7.0e+0"),
        ("124e6", 9_876_543, "9.88e6"),
        ("7.1M ± 2%", 9_123_456, "9.1M ± 2%"),
        ("7.1M +/- 50k", 9_123_456, "9.1M +/- 50k"),
        ("7.1M +/- 5k", 9_123_456, "9.12M +/- 5k"),
        ("7_100_000±50k", 9_123_456, "9_123_456±50k"),
        ("7.1M ± 0.01%", 7_149_999, "7.15M ± 0.01%"),
        ("~58k", 61_234, "~61k"),
        ("≈ 58_000", 61_234, "≈ 61_234"),
    ],
)
def test_the_form_stays(old, count, new):
    assert restated(old, count) == new


@pytest.mark.parametrize(
    ("old", "count", "new"),
    [("50MB", 61_234_567, "61MB"), ("50 MiB", 61_234_567, "58 MiB"), ("1_024", 9_216, "9_216")],
)
def test_bytes_stay_in_their_unit(old, count, new):
    assert restated(old, count, "bytes") == new


@pytest.mark.parametrize(
    ("old", "tolerance", "new"),
    [("124M", "1%", "126M"), ("124M", "0.01%", "125.9M"), ("124M", "0%", "125.891072M")],
)
def test_a_finer_tolerance_takes_more_digits(old, tolerance, new):
    assert restated(old, 125_891_072, tolerance=tolerance) == new


def test_what_has_no_short_decimal_is_written_out():
    assert restated("1KiB", 1025, "bytes", "0%", forced=True) == "1.0009765625KiB"


@pytest.mark.parametrize(
    "text", ["<= 25k", "< 25k", ">= 25k", "> 25k", "1k..2k", "12*768", "12*n ± 1%", "~12*n"]
)
def test_limits_ranges_and_formulas_do_not_move(text):
    value = parse_value(text)
    assert not is_movable(value)
    assert restate(value, 30_000) is None


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (5, "5"),
        (999, "999"),
        (1_000, "1.00k"),
        (4_266, "4.27k"),
        (999_499, "999k"),
        (999_500, "1.00M"),
        (9_996_000, "10.0M"),
        (86_567_656, "86.6M"),
        (671_026_404_352, "671B"),
        (1_234_567_890_123_456, "1235T"),
    ],
)
def test_rounded_as_people_write_it(count, text):
    assert rounded(count) == text


def test_integers_are_grouped_as_before():
    assert [integer(old, 1_234_567) for old in ("9_999", "9,999", "9999", "999")] == [
        "1_234_567",
        "1,234,567",
        "1234567",
        "1_234_567",
    ]


# --- for all counts ---------------------------------------------------------------------------

counts = st.one_of(
    st.integers(0, 10**6), st.integers(0, 10**13), st.integers(1, 13).map(lambda n: 10**n - 1)
)


@st.composite
def numbers(draw, marks):
    """A number as people write it, with its suffix or exponent."""
    whole = draw(st.sampled_from((str, "{:,}".format, "{:_}".format)))(draw(st.integers(0, 10**7)))
    mark = draw(st.sampled_from(marks))
    part = draw(st.from_regex(r"\A(\.[0-9]{1,3})?\Z")) if mark else ""
    return whole + part + mark


totals = numbers(("", *SUFFIXES, "e6", "E+8", "e09"))
values = st.one_of(
    totals,
    st.builds("{}{}".format, st.sampled_from(("~", "≈ ")), totals),
    st.builds("{} ± {}".format, totals, st.sampled_from(("2%", "0.1%", "50k", "1000", "0.5M"))),
)
tolerances = st.sampled_from((None, None, "5%", "0.5%", "0.01%", "0%", "10"))


def parsed(text, metric="total"):
    try:
        return parse_value(text, metric)
    except TextError:
        return assume(False)


def decimals(text):
    found = re.match(r"[~≈]?\s*[\d_,]*\.(\d+)", text)
    return len(found[1]) if found else 0


def digits(text):
    found = re.match(r"[~≈]?\s*([\d_,.]*)", text)
    return len(re.sub("[_,.]", "", found[1]).lstrip("0"))


@PROPERTY
@given(values, counts, tolerances)
def test_what_is_written_holds_and_has_the_same_form(text, count, tolerance):
    value = parsed(text)
    allowed = parse_tolerance(tolerance) if tolerance else None
    found = restate(value, count, tolerance=allowed)
    assert found is not None
    again = parse_value(found.result)
    assert count in again.bounds(tolerance=allowed)
    assert (again.form, again.spread) == (value.form, value.spread)
    assert found.result.startswith(text[: found.start])
    assert found.result.endswith(text[found.end :])
    assert decimals(found.result) >= decimals(text)


@PROPERTY
@given(numbers(SUFFIXES), counts)
def test_the_suffix_stays_and_no_digit_is_lost(text, count):
    assume(count and parsed(text).terms[0].value)
    new = restated(text, count)
    assert re.search(r"\s*[A-Za-z]+$", new)[0] == re.search(r"\s*[A-Za-z]+$", text)[0]
    assert digits(new) >= digits(text)


@PROPERTY
@given(numbers(BYTES), counts)
def test_bytes_hold_too(text, count):
    value = parsed(text, "bytes")
    found = restate(value, count, "bytes")
    assert count in parse_value(found.result, "bytes").bounds()
    assert found.result.lstrip("0123456789_,.") == text.lstrip("0123456789_,.")


@PROPERTY
@given(counts, tolerances)
def test_a_rounded_count_holds(count, tolerance):
    allowed = parse_tolerance(tolerance) if tolerance else None
    assert count in parse_value(rounded(count, allowed)).bounds(tolerance=allowed)
