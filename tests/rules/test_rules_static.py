"""Every rule on its own cases, which stand beside it."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import indent

import pytest

import nparam_lint.rules.scan_all
from nparam_lint.rules.catalogue import RULES
from nparam_lint.rules.lint import RULES_STATIC
from nparam_lint.rules.rule_cases import built, source
from nparam_lint.rules.scan_all import lint_source

VALID = [
    pytest.param(source, id=f"{rule.CODE}-{n}")
    for rule in RULES_STATIC
    for n, source in enumerate(rule.VALID)
]
INVALID = [(rule, *case) for rule in RULES_STATIC for case in rule.INVALID]


def test_every_rule_has_a_file_cases_and_an_entry_in_the_catalogue():
    folder = Path(nparam_lint.rules.scan_all.__file__).parent
    files = sorted(path.stem for path in folder.glob("npl*.py"))
    assert [rule.__name__.rpartition(".")[2] for rule in RULES_STATIC] == files
    for rule, name in zip(RULES_STATIC, files, strict=True):
        code, _, words = name.partition("_")
        assert code.upper() == rule.CODE
        assert RULES[rule.CODE].name == words.replace("_", "-")
        assert rule.__doc__
        assert rule.VALID
        assert rule.INVALID
    static = [code for code in RULES if code.startswith("NPL1")]
    assert [rule.CODE for rule in RULES_STATIC] == ["NPL002", *static]


@pytest.mark.parametrize("source", VALID)
def test_valid(source):
    compile(source, "net.py", "exec")
    assert lint_source(source, "net.py") == []


@pytest.mark.parametrize(("rule", "source", "expected"), INVALID, ids=[c[0].CODE for c in INVALID])
def test_invalid(rule, source, expected):
    compile(source, "net.py", "exec")
    found = [
        f"{f.code} {f.position.line}:{f.position.column} {f.message}"
        for f in lint_source(source, "net.py")
    ]
    assert found == [f"{rule.CODE} {line}" for line in expected]


def _file(example):
    """The source of an example of the catalogue: statements, methods, or whole classes."""
    if example.startswith("class "):
        return source(
            f"{example}\n        super().__init__()" if example.endswith(":") else example
        )
    if example.startswith("def "):
        return source(f"class Net(nn.Module):\n{indent(example, '    ')}")
    return built(example)


@pytest.mark.parametrize("code", [rule.CODE for rule in RULES_STATIC if rule.CODE != "NPL002"])
def test_the_examples_of_the_catalogue_are_what_they_say(code):
    rule = RULES[code]
    assert {found.code for found in lint_source(_file(rule.example_bad), "net.py")} == {code}
    assert lint_source(_file(rule.example_good), "net.py") == []
    (found, *_) = lint_source(_file(rule.example_bad), "net.py")
    assert found.severity == rule.severity


def test_the_page_about_the_rules_agrees_with_the_catalogue():
    page = Path(__file__).parents[2].joinpath("docs/static-rules.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (NPL1\d\d) \| .* \| (error|warning)\b", page, re.MULTILINE)
    assert dict(rows) == {c: r.severity for c, r in RULES.items() if c.startswith("NPL1")}
    sections = re.findall(r"^## (NPL\d+) ([\w-]+)$", page, re.MULTILINE)
    assert dict(sections) == {c: r.name for c, r in RULES.items() if c.startswith("NPL1")}
