"""JUnit XML against the schema by which Jenkins reads it."""

import pytest
from msgspec.structs import replace
from render_samples import rendered
from report_checks import check_junit
from report_samples import (
    MISSTATED,
    broken_net,
    budget,
    failed,
    glob_gpt,
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


def junit(value):
    return check_junit(rendered("junit", value, Options(width=40, color=True)))


def outcomes(value) -> list[tuple[str, str]]:
    return [(case.get("name"), case[0].tag if len(case) else "passed") for case in junit(value)]


def test_a_case_for_each_declared_budget():
    assert (
        rendered("junit", report(glob_gpt()), Options())
        == """\
<?xml version="1.0" encoding="utf-8"?>
<testsuites name="nparam-lint" tests="3" failures="0" errors="0" time="1.840">
  <testsuite name="nparam-lint" tests="3" failures="0" errors="0" skipped="0" time="1.840">
    <testcase classname="nanogpt/model.py" name="nanogpt/model.py::GPT: 124_373_760" />
    <testcase classname="nanogpt/model.py" name="nanogpt/model.py::GPT[transformer.h.*]: 7_079_424\
" />
    <testcase classname="nanogpt/model.py" name="nanogpt/model.py::GPT[trainable]: &lt;= 130M" />
  </testsuite>
</testsuites>
"""
    )


def test_a_broken_budget_fails_with_its_table():
    [case] = junit(report(broken_net()))
    [failure] = case
    assert failure.tag == "failure"
    assert failure.attrib == {
        "message": "Net has 101,786 parameters, declared 50_890: +50,896 (+100.01 %)",
        "type": "NPL001",
    }
    assert (
        failure.text
        == """\
net.py:12:5  NPL001  Net has 101,786 parameters, declared 50_890: +50,896 (+100.01 %)
    hidden  100,480
    out       1,290
    nparam-lint update net.py::Net

For an explanation and an example: nparam-lint rule NPL001

module    type        own    total    share                     source
────────  ──────  ───────  ───────  ───────  ─────────────────  ───────────
(total)   Net          16  101,786  100.0 %  ██████████         model.py:10
hidden    Linear  100,480  100,480   98.7 %  █████████▉ frozen  model.py:11
out       Linear    1,290    1,290    1.3 %  ▏                  model.py:13
… and 1 module without parameters"""
    )


def test_what_was_not_measured_is_an_error_for_each_budget():
    at = Position("a.py", 3, 5)
    finding = Finding("NPL004", "error", at, "A needs width", "a.py::A")
    budgets = tuple(
        replace(budget(None, None, None, text), position=Position("a.py", line, 5))
        for text, line in (("10", 3), ("<= 20", 4))
    )
    missing = NotMeasured("NPL004", "A needs width", cause="arguments_missing")
    value = model("a.py::A", missing, budgets=budgets, findings=(finding,), declared=True)
    assert outcomes(report(value)) == [("a.py::A: 10", "error"), ("a.py::A: <= 20", "error")]
    assert [case[0].get("message") for case in junit(report(value))] == ["A needs width"] * 2


def test_a_silenced_finding_is_skipped_not_failed():
    value = replace(broken_net(), findings=())
    assert outcomes(report(value)) == [("net.py::Net: 50_890", "skipped")]


def test_a_finding_is_about_the_budget_on_its_line():
    value = broken_net()
    second = budget(101_786, 10, 10, at=Position("net.py", 13, 5))
    value = replace(value, budgets=(*value.budgets, second))
    assert outcomes(report(value)) == [
        ("net.py::Net: 50_890", "failure"),
        ("net.py::Net: 10", "skipped"),
    ]


def test_a_broken_budget_that_is_but_a_warning_has_not_passed():
    value = broken_net()
    value = replace(value, findings=(replace(value.findings[0], severity="warning"),))
    [case] = junit(report(value))
    assert [child.tag for child in case] == ["skipped"]
    assert case[0].get("message") == "does not hold, and the finding is only a warning"
    assert "NPL001  warning: Net has 101,786" in case[0].text


def test_other_findings_have_cases_of_their_own():
    value = report(
        unmeasured(),
        tiny(),
        findings=(
            *unmeasured().findings,
            MISSTATED,
            Finding("NPL008", "error", Position("pyproject.toml", 9), "gone", "old.py::Net"),
            Finding("NPL999", "error", Position("a.py", 9), "new"),
        ),
    )
    assert outcomes(value) == [
        ("a.py:9: NPL999", "failure"),
        ("models/unet.py:10: NPL004 cannot-build", "error"),
        ("old.py::Net: NPL008 stale-budget", "error"),
        ("zoo/tiny.py:3: NPL013 wrong-claim-in-prose", "system-out"),
    ]


def test_a_formula_that_is_wrong_elsewhere_fails_its_budget():
    at = Position("net.py", 12, 5)
    held = budget(101_786, 101_786, 101_786, "width*2", at=at)
    finding = Finding("NPL011", "error", at, "wrong for width=3")
    value = model("net.py::Net", measured(net()), budgets=(held,), findings=(finding,))
    assert outcomes(report(value)) == [("net.py::Net: width*2", "failure")]


def test_models_that_were_not_counted_are_skipped():
    [case] = junit(report(skipped=(("zoo/a.py::A", needs("width", "depth")),)))
    assert case.attrib == {"classname": "zoo/a.py", "name": "zoo/a.py::A"}
    assert case[0].attrib == {"message": "needs width, depth"}


def test_a_failure_is_one_error():
    [case] = junit(failed())
    assert [child.tag for child in case] == ["error"]
    assert case[0].get("message") == "no model can be built with .venv/bin/python"
    assert case[0].text == "no model can be built with .venv/bin/python\n  it says: no torch"


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
