"""The catalogue: complete, readable, and helpful about a mistyped code."""

import ast
import re

import pytest

from nparam_lint.ground.rule_catalogue import RULES, UnknownRule, explain


@pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
def test_a_rule_is_complete_and_fits_a_terminal(rule):
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.name)
    assert RULES.names[rule.name] == rule.code  # and of no other
    assert rule.summary.endswith(".")
    assert rule.remedy.endswith(".")
    assert rule.example_bad != rule.example_good
    page = explain(rule.code)
    assert page.endswith("\n")
    wide = [line for line in page.splitlines() if len(line) > 80]
    assert wide in ([], [f"What to do: {rule.remedy}"])


def test_the_examples_of_the_count_rule_add_up():
    rule = RULES["NPL001"]
    layers = re.findall(r"nn\.Linear\((\d+), (\d+)\)\s+#\s+([\d_]+)", rule.example_bad)
    counts = [int(a) * int(b) + int(b) for a, b, _ in layers]
    assert counts == [int(count) for _, _, count in layers]
    assert f"nparam: {sum(counts):_}" in rule.example_good
    formula = RULES["NPL011"]
    value = re.search(r"nparam: (.*?)\"", formula.example_good)
    wrong = re.search(r"nparam: (.*?)\"", formula.example_bad)
    assert value is not None
    assert wrong is not None
    small = 784 * 64 + 64 + 64 * 10 + 10
    assert [_evaluate(value[1], width) for width in (128, 64)] == [sum(counts), small]
    assert _evaluate(wrong[1], 128) == sum(counts)
    assert _evaluate(wrong[1], 64) != small


def _evaluate(formula: str, width: int) -> int:
    return int(eval(compile(ast.parse(formula, mode="eval"), "", "eval"), {"width": width}))


def test_explain_reads_like_a_page(expected):
    expected({"npl009": explain("npl009")})


def test_explain_takes_a_name_and_says_what_is_off():
    assert explain("no-budget") == explain("NPL012")
    assert "(warning, off by default)" in explain("NPL012")


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("NPL01", "did you mean NPL101?"),
        ("NLP001", "did you mean NPL001?"),
        ("count-outside-buget", "did you mean count-outside-budget?"),
        ("", "there are NPL001 to NPL107"),
        ("xyz", "there are NPL001 to NPL107"),
    ],
)
def test_an_unknown_code_is_answered_with_a_near_one(asked, hint):
    with pytest.raises(UnknownRule, match=re.escape(hint)):
        explain(asked)
