"""Fast functions and proofs, against the exact polynomials."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from nparam_lint.analysis.closed_forms.algebra import substituted
from nparam_lint.analysis.closed_forms.arguments import rules_of
from nparam_lint.analysis.closed_forms.compiled_form import NOWHERE, compiled
from nparam_lint.analysis.closed_forms.expressions import polynomial_of
from nparam_lint.analysis.closed_forms.implications import growing
from nparam_lint.analysis.closed_forms.polynomial import Polynomial, power_of_two
from nparam_lint.analysis.closed_forms.requirements import Requirements
from nparam_lint.ground.notation.expression import parse_formula

FORMS = [
    "a*(12*a + 13)*b + 100*a",
    "2*a*(4*b - 2) + 7*a",
    "a*b - b + 3",
    "a**2*(5*a//3) + b",
    "b*ceil(8*a/3/16)*16 + a",
    "a*max(8, b//4) + min(a, 3*b)",
    "(a*b*(b + 1))/2 + b",
    "a*(a//b) + 1",
    "a*b*(2*a//(b + 1))",
    "100 - a + 10*b",
    "widths[0]*a + b",
    "a*(((a*(a + 1))/2*b + 3)//2)",
    "max(a*(a + 1)/2, b)*a",
    "a**b + 3**a",
    "2**(2*a + 1) - 2**(a//2)",
    "abs(a - b)*trunc((b - a)/3)",
    "a if b > 2 and a != 5 else (b if not a < b or a in (2, 16) else 1)",
    "2**(a + 1) % (b + 2)",
]
NAMES = ["a", "b", "widths[0]"]


@pytest.mark.parametrize("text", FORMS)
def test_compiled_forms_have_the_exact_values(text):
    formula = parse_formula(text)
    count = compiled(polynomial_of(formula), NAMES)
    for values in product((1, 2, 5, 16, 37), repeat=3):
        assert count(*values) == formula.evaluate(dict(zip(NAMES, values, strict=True)))


@pytest.mark.parametrize("text", FORMS)
def test_what_is_said_to_grow_grows(text):
    form = polynomial_of(parse_formula(text))
    count = compiled(form, NAMES)
    found = growing(form, dict.fromkeys(NAMES, 1))
    for place, name in enumerate(NAMES):
        for values in product(range(1, 12), (1, 2, 7, 40), (1, 2, 7, 40)):
            values = [*values[1 : place + 1], values[0], *values[place + 1 :]]
            more = [v + (i == place) for i, v in enumerate(values)]
            if name in found:
                assert count(*more) >= count(*values)


@pytest.mark.parametrize(
    ("text", "least", "names"),
    [
        (FORMS[0], 1, "ab"),
        (FORMS[1], 1, "ab"),
        (FORMS[2], 1, "ab"),  # from 1 on; from 0 on, more of b gives less
        (FORMS[2], 0, "a"),
        (FORMS[3], 1, "ab"),
        (FORMS[4], 1, "ab"),
        (FORMS[5], 1, "ab"),
        (FORMS[7], 1, "a"),
        (FORMS[9], 1, "b"),
    ],
)
def test_what_grows_is_known(text, least, names):
    form = polynomial_of(parse_formula(text))
    assert growing(form, {"a": least, "b": least}) == {*names}


def test_powers_of_two_grow():
    power = Polynomial.generator(power_of_two("n"))
    one = Polynomial.constant(1)
    width = Polynomial.generator("w")
    form = width * width * (power * power - one) + width * (power - one)
    assert growing(form, {"w": 1, "n": 1}) == {"w", "n"}
    assert compiled(form, ["w", "n"])(3, 2) == 9 * 15 + 3 * 3
    tied = substituted(form, {"n": polynomial_of(parse_formula("n + 1"))})
    assert compiled(tied, ["w", "n"])(3, 1) == 9 * 15 + 3 * 3
    tied = substituted(form, {"n": polynomial_of(parse_formula("2*n"))})
    assert compiled(tied, ["w", "n"])(3, 1) == 9 * 15 + 3 * 3


def test_other_forms_in_the_place_of_names():
    form = polynomial_of(parse_formula("d*f + (f//h)*d"))
    tie = polynomial_of(parse_formula("8*d/3"))
    own = substituted(form, {"f": tie, "h": Polynomial.constant(4)})
    assert own.names == {"d"}
    assert own.value({"d": Fraction(6)}) == 6 * 16 + 16 // 4 * 6
    assert compiled(own, ["d"])(6) == 6 * 16 + 16 // 4 * 6


@pytest.mark.parametrize("text", ["2**(a + 10**9)", "a == 'relu'", "a is None", "a//(b - b)"])
def test_what_has_no_form(text):
    with pytest.raises(ArithmeticError):
        polynomial_of(parse_formula(text))


def test_a_form_without_a_value_is_never_met():
    count = compiled(polynomial_of(parse_formula("a//(b - 1)")), ["a", "b"])
    assert count(6, 3) == 3
    assert count(6, 1) == NOWHERE


# --- what is asked of arguments ---------------------------------------------------------------


def test_demands_of_a_model_and_of_a_question():
    requirements = Requirements(
        {"h": 12, "d": 768, "f": 3072, "n": 2},
        ["d", "n"],
        {"f": polynomial_of(parse_formula("4*d"))},
        rules_of("d % h == 0 and f % 64 == 0 and d <= 100*n"),
    )
    assert requirements.hold({"d": 96, "n": 1})
    assert requirements.hold({"d": 144})  # n may be large enough
    assert not requirements.hold({"d": 144, "n": 1})
    assert not requirements.hold({"d": 100, "n": 3})
    assert requirements.completed({"d": 96})["f"] == 384
    requirements.exclude({"d": 96, "n": 1})
    assert not requirements.hold({"n": 1, "d": 96})


def test_what_is_not_whole_or_divides_by_zero_is_not_allowed():
    requirements = Requirements(
        {}, ["d", "n"], {"f": polynomial_of(parse_formula("8*d/3"))}, rules_of("d / (n - 1) > 2")
    )
    assert requirements.hold({"d": 9, "n": 2})
    assert not requirements.hold({"d": 10, "n": 2})
    assert not requirements.hold({"d": 9, "n": 1})
    tied = Requirements({}, ["d"], {"h": polynomial_of(parse_formula("d // (d // 64)"))}, [])
    assert tied.hold({"d": 128})
    assert not tied.hold({"d": 1})
