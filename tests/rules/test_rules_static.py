"""Every rule on its own cases, which stand beside it."""

from __future__ import annotations

from textwrap import indent

import pytest

from nparam_lint.gate.rules import built, source
from nparam_lint.gate.rules.lint import lint_source, source_codes
from nparam_lint.ground.rule_catalogue import RULES

CHECKED = [RULES[code] for code in ("NPL002", *source_codes())]
VALID = [
    pytest.param(source, id=f"{rule.code}-{n}")
    for rule in CHECKED
    for n, source in enumerate(rule.valid)
]
INVALID = [(rule, *case) for rule in CHECKED for case in rule.invalid.items()]


def test_what_needs_source_alone_has_cases():
    assert [rule.code for rule in CHECKED] == ["NPL002", "NPL101", "NPL102", "NPL103", "NPL107"]
    assert all(rule.valid and rule.invalid for rule in CHECKED)
    others = [rule for rule in RULES.values() if rule not in CHECKED]
    assert not any(rule.valid or rule.invalid for rule in others)
    checks = {rule.code: (rule.check, rule.check_file) for rule in RULES.values()}
    assert [code for code, functions in checks.items() if any(functions)] == source_codes()
    assert not any(all(functions) for functions in checks.values())


@pytest.mark.parametrize("source", VALID)
def test_valid(source):
    compile(source, "net.py", "exec")
    assert lint_source(source, "net.py") == []


@pytest.mark.parametrize(("rule", "source", "expected"), INVALID, ids=[c[0].code for c in INVALID])
def test_invalid(rule, source, expected):
    compile(source, "net.py", "exec")
    found = [
        f"{f.code} {f.position.line}:{f.position.column} {f.message}"
        for f in lint_source(source, "net.py")
    ]
    assert found == [f"{rule.code} {line}" for line in expected.splitlines()]


def _file(example):
    """The source of an example of the catalogue: statements, methods, or whole classes."""
    if example.startswith("class "):
        return source(
            f"{example}\n        super().__init__()" if example.endswith(":") else example
        )
    if example.startswith("def "):
        return source(f"class Net(nn.Module):\n{indent(example, '    ')}")
    return built(example)


@pytest.mark.parametrize("code", source_codes())
def test_the_examples_of_the_catalogue_are_what_they_say(code):
    rule = RULES[code]
    assert {found.code for found in lint_source(_file(rule.example_bad), "net.py")} == {code}
    assert lint_source(_file(rule.example_good), "net.py") == []
    (found, *_) = lint_source(_file(rule.example_bad), "net.py")
    assert found.severity == rule.severity
