from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nparam_lint.ground.notation import FormulaError, UnknownName, exact_text
from nparam_lint.ground.notation.expression import parse_formula

PROPERTY = settings(max_examples=80)


def test_names_are_those_that_need_values() -> None:
    assert parse_formula("max(n, 3) if kind == 'x' else m").names == {"n", "kind", "m"}


def test_unknown_names() -> None:
    with pytest.raises(UnknownName) as caught:
        parse_formula("1 + hidden").evaluate({})
    assert (caught.value.name, caught.value.offset) == ("hidden", 4)


@pytest.mark.parametrize("text", ["(" * 5000 + ")" * 5000, "-" * 5000 + "1", "+".join("1" * 4000)])
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(FormulaError):
        parse_formula(text)


@pytest.mark.thorough
def test_the_deepest_formula_that_is_read_can_be_evaluated() -> None:
    assert parse_formula("+".join(["1"] * 100)).evaluate({}) == 100
    assert parse_formula("(1 == " * 90 + "1" + ")" * 90).evaluate({}) == 1


def test_numbers_in_messages() -> None:
    assert [exact_text(Fraction(n)) for n in ("12.5", "1000", "10/3")] == ["12.5", "1_000", "10/3"]


# Each expression as a pair: our text, and the same for Python's `eval` over Fractions.
literals = (st.integers(0, 30).map(str) | st.sampled_from(["0.5", "1.25", "2e1", "1_0"])).map(
    lambda text: (text, f"F('{text.replace('_', '')}')")
)
names = st.sampled_from([("a", "a"), ("b", "b"), ("c", "c")])


def _extend(inner: st.SearchStrategy[tuple[str, str]]) -> st.SearchStrategy[tuple[str, str]]:
    def join(template: str, ours: str = "{}") -> st.SearchStrategy[tuple[str, str]]:
        parts = st.lists(inner, min_size=template.count("@"), max_size=template.count("@"))

        def fill(chosen: list[tuple[str, str]]) -> tuple[str, str]:
            both = []
            for side, shape in ((0, "{}"), (1, ours)):
                text = template
                for part in chosen:
                    text = text.replace("@", part[side], 1)
                both.append(shape.format(text))
            return both[0], both[1]

        return parts.map(fill)

    plain = ["(@ + @)", "(@ - @)", "(@ * @)", "(@ / @)", "(@ // @)", "(@ % @)", "-@", "(@ ** 2)"]
    plain += ["(@ and @)", "(@ or @ or @)", "(@ if @ else @)", "max(@, @)", "min(@, @, @)"]
    plain += ["abs(@)", "ceil(@)", "floor(@)", "trunc(@)", "(@ ** -1)"]
    truths = ["(@ < @)", "(@ <= @ > @)", "(@ == @)", "(@ != @ >= @)", "(not @)"]
    return st.one_of([join(t) for t in plain] + [join(t, "F({})") for t in truths])


@PROPERTY
@given(
    st.recursive(literals | names, _extend, max_leaves=12),
    st.fixed_dictionaries({name: st.integers(-20, 20) | st.booleans() for name in "abc"}),
)
def test_agrees_with_python(pair: tuple[str, str], values: dict[str, int]) -> None:
    namespace = {
        "F": Fraction,
        "ceil": lambda number: Fraction(math.ceil(number)),
        "floor": lambda number: Fraction(math.floor(number)),
        "trunc": lambda number: Fraction(math.trunc(number)),
    }
    fractions = {name: Fraction(value) for name, value in values.items()}
    try:
        expected = Fraction(eval(pair[1], namespace, fractions))
    except ZeroDivisionError:
        expected = None
    try:
        actual = parse_formula(pair[0]).evaluate(values)
    except FormulaError as error:
        actual = None if "divides by zero" in error.message else error.message
    assert actual == expected


@PROPERTY
@given(st.text() | st.text("abn019.+-*/%() <=,'\"#\\\nif else"), st.integers() | st.floats())
def test_any_text_is_read_or_refused(text: str, value: float) -> None:
    try:
        parse_formula(text).evaluate(dict.fromkeys("abn", value))
        offset = 0
    except FormulaError as error:
        offset = error.offset
    assert 0 <= offset <= len(text)
