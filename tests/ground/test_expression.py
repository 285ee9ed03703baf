from __future__ import annotations

import math
import re
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nparam_lint.ground.notation import FormulaError, UnknownName, exact_text
from nparam_lint.ground.notation.expression import parse_formula

PROPERTY = settings(max_examples=80)
NAMES = {"n": 768, "rate": 0.1, "bias": True, "norm": "rms", "kv": None, "zero": 0}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12*n**2 + 13*n", 12 * 768**2 + 13 * 768),
        ("n*rate", Fraction(768, 10)),
        ("0.1 + 0.2", Fraction(3, 10)),
        ("1_000.5e-1", Fraction(10005, 100)),
        ("n*bias", 768),
        ("2 if norm == 'rms' else 3", 2),
        ("2 if norm in ('layer', 'batch') else 3", 3),
        ("2 if norm not in ('layer', -1) else 3", 2),
        ("kv or n", 768),
        ("1 if kv is None else kv", 1),
        ("1 if kv is not None and kv > 3 else 0", 0),
        ("1 < 2 <= 2 != 3", 1),
        ("(not bias) + (bias == True)", 1),
        ("ceil(7/2) + floor(-7/2) + abs(-1) + max(1, n, 3) + min(2, 1)", 4 - 4 + 1 + 768 + 1),
        ("-7 // 2 + -7 % 3", -4 + 2),
        ("trunc(-7/2) + trunc(7/2)", 0),
        ("4**0.5 + (8/27)**(1/3) + 2**-1", 2 + Fraction(2, 3) + Fraction(1, 2)),
        ("zero and 1/zero", 0),
        ("0x10", 16),
        ("(1 +\n 2)", 3),
    ],
)
def test_evaluates_exactly(text: str, expected: Fraction | int) -> None:
    assert parse_formula(text).evaluate(NAMES) == expected


def test_names_are_those_that_need_values() -> None:
    assert parse_formula("max(n, 3) if kind == 'x' else m").names == {"n", "kind", "m"}


# What is refused, and where: of the text, and as it is evaluated.
REFUSED = [
    *("n +* 2", "  n + 'é' + a.b", "(x == 'é') + a().b", "len(n)", "max(n, key=n)", "abs(1, 2)"),
    *("min()", "max(*n)", "n[m]", "n[True]", "(n)[0][m]", "[n]", "lambda: 1", "(n := 1)"),
    *("True + 1", "1j", "n & 1", "1 if n in m else 2", "1 if n in (m,) else 2", "n is m"),
    *("1e999999999", "__import__('os').system('x')", ""),
    *("n + norm", "n * kv", "norm < 3", "n / zero", "n % zero", "zero ** -1", "9**9**9**9"),
    *("n**n**n", "(1/3)**(9**99)", "2**0.5", "(-8)**(1/3)", "inf", "nan"),
]


def test_what_is_refused_and_where(expected) -> None:
    said = ""
    for text in REFUSED:
        with pytest.raises(FormulaError) as caught:
            parse_formula(text).evaluate({**NAMES, "inf": math.inf, "nan": math.nan})
        said += f"{text!r}\n    {caught.value.offset}: {caught.value.message}\n"
    said = re.sub("(expected a formula): .*", r"\\1", said)  # the words of Python's parser
    expected({"refused": said})


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
