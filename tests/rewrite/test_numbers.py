"""A count in the form in which an older one stands."""

import re

import pytest
from case_books import cases_beside
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


@pytest.mark.parametrize(("book", "case"), cases_beside(__file__, "restated"))
def test_what_a_count_is_written_as(book, case, request):
    said = written(*case.asked.rsplit(": ", 1))
    book.check(case.number, said, update=request.config.getoption("update"))


def written(old, count):
    old, _, within = old.partition(" within ")
    text = old.removesuffix(" in bytes")
    if text == "rounded":
        return rounded(int(count))
    metric = "total" if text == old else "bytes"
    tolerance = within.removesuffix(", forced")
    new = restated(text, int(count), metric, tolerance, within != tolerance)
    assert is_movable(parse_value(text, metric)) is (new is not None)
    return new or "does not move"


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
