"""JUnit XML against the schema by which Jenkins reads it."""

import pytest
from msgspec.structs import replace
from render_samples import rendered
from report_checks import check_junit
from report_samples import (
    MISSTATED,
    broken_net,
    budget,
    measured,
    model,
    needs,
    net,
    report,
    tiny,
    unmeasured,
)

from nparam_lint.count.measured import NotMeasured
from nparam_lint.ground.findings import Finding
from nparam_lint.ground.values import Position
from nparam_lint.report import Options

AT = Position("net.py", 12, 5)
TWO = tuple(
    replace(budget(None, None, None, text), position=Position("a.py", line, 5))
    for text, line in (("10", 3), ("<= 20", 4))
)
NEEDS_WIDTH = NotMeasured("NPL004", "A needs width", cause="arguments_missing")
MISSING = Finding("NPL004", "error", Position("a.py", 3, 5), "A needs width", "a.py::A")
BESIDES = (
    Finding("NPL008", "error", Position("pyproject.toml", 9), "gone", "old.py::Net"),
    Finding("NPL999", "error", Position("a.py", 9), "new"),
)
NET, SECOND = broken_net(), budget(101_786, 10, 10, at=Position("net.py", 13, 5))
HELD = budget(101_786, 101_786, 101_786, "width*2", at=AT)
ELSEWHERE = Finding("NPL011", "error", AT, "wrong for width=3")
WARNED = replace(NET, findings=(replace(NET.findings[0], severity="warning"),))
CASES = {
    "not measured is an error for each budget": (
        report(model("a.py::A", NEEDS_WIDTH, budgets=TWO, findings=(MISSING,), declared=True)),
        [("a.py::A: 10", "error"), ("a.py::A: <= 20", "error")],
    ),
    "a silenced finding is skipped, not failed": (
        report(replace(NET, findings=())),
        [("net.py::Net: 50_890", "skipped")],
    ),
    "a broken budget that is but a warning has not passed": (
        report(WARNED),
        [("net.py::Net: 50_890", "skipped")],
    ),
    "a finding is about the budget on its line": (
        report(replace(NET, budgets=(*NET.budgets, SECOND))),
        [("net.py::Net: 50_890", "failure"), ("net.py::Net: 10", "skipped")],
    ),
    "other findings have cases of their own": (
        report(unmeasured(), tiny(), findings=(*unmeasured().findings, MISSTATED, *BESIDES)),
        [
            ("a.py:9: NPL999", "failure"),
            ("models/unet.py:10: NPL004 cannot-build", "error"),
            ("old.py::Net: NPL008 stale-budget", "error"),
            ("zoo/tiny.py:3: NPL013 wrong-claim-in-prose", "system-out"),
        ],
    ),
    "a formula that is wrong elsewhere fails its budget": (
        report(model("net.py::Net", measured(net()), budgets=(HELD,), findings=(ELSEWHERE,))),
        [("net.py::Net: width*2", "failure")],
    ),
    "models that were not counted are skipped": (
        report(skipped=(("zoo/a.py::A", needs("width", "depth")),)),
        [("zoo/a.py::A", "skipped")],
    ),
}


def junit(value):
    return check_junit(rendered("junit", value, Options(width=40, color=True)))


@pytest.mark.parametrize("case", CASES)
def test_what_becomes_of_a_budget(case):
    value, outcomes = CASES[case]
    found = [(case.get("name"), case[0].tag if len(case) else "passed") for case in junit(value)]
    assert found == outcomes


def test_why_a_budget_is_skipped_or_an_error():
    [case] = junit(report(WARNED))
    assert case[0].get("message") == "does not hold, and the finding is only a warning"
    assert "NPL001  warning: Net has 101,786" in case[0].text
    value, _ = CASES["not measured is an error for each budget"]
    assert [case[0].get("message") for case in junit(value)] == ["A needs width"] * 2


@pytest.mark.parametrize("seconds", [0.0, 1.84, 12_345.6789])
def test_the_time_is_that_of_the_run(seconds):
    text = rendered("junit", report(seconds=seconds), Options())
    check_junit(text)
    assert text.count(f'time="{seconds:.3f}"') == 2


def test_control_characters_are_shown_not_written():
    finding = Finding("NPL002", "error", Position("a\x00b.py"), "\x1b[31mred\x0b\ufffe\udcff")
    [case] = junit(report(findings=(finding,)))
    assert case.get("classname") == "a\\x00b.py"
    assert case[0].get("message") == "\\x1b[31mred \\ufffe\\udcff"
