"""What a test case in JUnit XML has, which is held against the schema by which Jenkins reads it.
What each declared budget of a report comes to is on pages/cases.md."""

from render_samples import rendered
from report_checks import check_junit
from report_samples import (
    broken_net,
    budget,
    measured,
    model,
    net,
    report,
)

from nparam_lint.ground.findings import Finding
from nparam_lint.ground.values import Position
from nparam_lint.report import Options


def junit(value):
    return check_junit(rendered("junit", value, Options(width=40, color=True)))


def test_a_broken_budget_has_the_finding_and_the_table():
    [case] = junit(report(broken_net()))
    finding, table = case[0].text.split(
        "\n\nFor an explanation and an example: nparam-lint rule NPL001\n\n"
    )
    assert finding.startswith("net.py:12:5  NPL001  Net has 101,786 parameters, declared 50_890")
    assert table.splitlines()[2].startswith("(total)   Net          16  101,786  100.0 %")


def test_the_time_is_that_of_the_run():
    for seconds in (0.0, 1.84, 12_345.6789):
        assert rendered("junit", report(seconds=seconds), Options()).count(f'"{seconds:.3f}"') == 2


def test_control_characters_are_shown_not_written():
    finding = Finding("NPL002", "error", Position("a\x00b.py"), "\x1b[31mred\x0b\ufffe\udcff")
    [case] = junit(report(findings=(finding,)))
    assert case.get("classname") == "a\\x00b.py"
    assert case[0].get("message") == "\\x1b[31mred \\ufffe\\udcff"


def test_names_are_printable():
    long = " + ".join(["width * width"] * 9)
    [case] = junit(
        report(model("a\udcffb.py::Net", measured(net()), budgets=(budget(1, 1, 1, long),)))
    )
    assert (case.get("classname"), case.get("name")) == (
        "a\\udcffb.py",
        f"a\\udcffb.py::Net: {long}",
    )
