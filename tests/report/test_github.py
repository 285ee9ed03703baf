"""Workflow commands as GitHub's runner reads them, and the log around them."""

import pytest
from msgspec.structs import replace
from render_samples import rendered
from report_checks import commands
from report_samples import broken_net, many, report

from nparam_lint.ground.findings import Finding
from nparam_lint.ground.values import Position
from nparam_lint.report import Options


def github(value, **options) -> str:
    return rendered("github", value, Options(**options))


def command_for(*said, **options):
    """That of one finding: a code, a severity, a place, a message …"""
    [found] = commands(github(report(findings=(Finding(*said),)), **options))
    return found


def test_the_worst_ten_are_annotated_and_the_tenth_counts_the_rest():
    found = commands(github(many(12)))
    assert [keys["file"] for _, keys, _ in found[:9]] == [f"n{i:05}.py" for i in range(12, 3, -1)]
    assert found[9:] == [
        (
            "error",
            {"title": "… and 3 more errors, in the log and the job summary"},
            "n00003.py:12: NPL001 Net has 1,003 parameters, declared 1,000: +3\n"
            "n00002.py:12: NPL001 Net has 1,002 parameters, declared 1,000: +2\n"
            "n00001.py:12: NPL001 Net has 1,001 parameters, declared 1,000: +1",
        )
    ]
    found = commands(github(many(10)))
    assert len(found) == 10
    assert "more" not in found[9][1]["title"]


@pytest.mark.parametrize("severity", ["error", "warning"])
def test_all_are_in_the_log(severity):
    page = github(many(40, severity))
    lines = [line for line in page.splitlines() if not line.startswith("::")]
    assert sum("NPL001" in line for line in lines) == 40
    _, _, rest = commands(page)[-1]
    assert rest.count("\n") == 20
    assert rest.endswith("\n…")


def test_errors_and_warnings_have_ten_each_and_a_failure_is_one_of_the_ten():
    value = many(12)
    extra = tuple(replace(f, severity="warning") for f in many(15).findings)
    found = commands(github(replace(value, findings=(*extra, *value.findings))))
    assert [level for level, _, _ in found] == ["error"] * 10 + ["warning"] * 10
    assert found[-1][1]["title"].startswith("… and 6 more warnings")
    failed = commands(github(replace(value, error="no torch")))
    assert [level for level, _, _ in failed] == ["error"] * 10


def test_the_runner_reads_back_what_was_meant():
    text = "100 % of a:b,c\r::d%0A"
    at = Position("dir, 1/a:b#%.py", 7, 3)
    assert command_for("NPL002", "error", at, text, "", ("    two", "::three")) == (
        "error",
        {
            "file": "dir, 1/a:b#%.py",
            "line": "7",
            "col": "3",
            "title": "NPL002 malformed-budget",
        },
        "100 % of a:b,c\n::d%0A\n    two\n::three",
    )
    assert command_for("NPL999", "warning", at, "new")[1]["title"] == "NPL999"
    # An endless message is cut.
    assert command_for("NPL002", "error", at, "x" * 100_000)[2] == "x" * 3_999 + "…"


def test_the_log_does_not_speak_to_the_runner():
    at = Position("::error file=a::b.py", 1, 1)
    finding = Finding("NPL002", "error", at, "##[add-mask]a ##[##[error]x")
    page = github(report(findings=(finding,)))
    assert len(commands(page)) == 1
    assert "\n: :error file=a::b.py:1:1: error: NPL002 ## [add-mask]a ## [## [error]x\n" in page


def test_a_project_inside_its_repository():
    [(_, keys, _)] = commands(github(report(broken_net()), prefix="packages/nets"))
    assert keys["file"] == "packages/nets/net.py"


def test_lines_of_the_log_sort_as_numbers_and_a_message_stays_on_its_line():
    """As in the format `concise`, which has the same lines."""
    findings = (
        Finding("NPL002", "error", Position("a.py", 10, 1), "two\nlines \x1b[31mred"),
        Finding("NPL002", "error", Position("a.py", 9, 2), "second"),
        Finding("NPL002", "error", Position("a.py", 9, 1), "first"),
    )
    assert rendered("concise", report(findings=findings), Options(color=True)) == (
        "a.py:9:1: error: NPL002 first\n"
        "a.py:9:2: error: NPL002 second\n"
        "a.py:10:1: error: NPL002 two lines \\x1b[31mred\n"
    )
