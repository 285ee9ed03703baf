"""What each declared budget of a report comes to as a test case in JUnit XML, which is held against
the schema by which Jenkins reads it."""

from msgspec.structs import replace
from render_samples import rendered
from report_checks import check_junit
from report_samples import (
    MISSTATED,
    broken_net,
    budget,
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

AT = Position("net.py", 12, 5)
NET = broken_net()


def junit(value):
    return check_junit(rendered("junit", value, Options(width=40, color=True)))


def holding(*findings, at=AT, **more):
    budgets = (budget(101_786, 101_786, 101_786, at=at),)
    counted = measured(net(), "Net()")
    return model("net.py::Net", counted, budgets=budgets, findings=findings, declared=True, **more)


def found(code, severity="error", line=12, target="net.py::Net", path="net.py"):
    return Finding(code, severity, Position(path, line, 5), f"{code} it is", target)


def unbuilt(*findings, reason="Net raised\nValueError"):
    """A model with two budgets that could not be built."""
    places = {"12": AT, "<= 20": Position("net.py", 13, 5)}
    budgets = tuple(budget(None, None, None, text, at=at) for text, at in places.items())
    failure = NotMeasured("NPL004", reason, cause="raised")
    return model("net.py::Net", failure, budgets=budgets, findings=findings, declared=True)


def odd_names():
    """Names that are long, odd, or those of others."""
    long = " + ".join(["width * width"] * 9)
    odd = model("a\udcffb.py::Net", measured(net()), budgets=(budget(1, 1, 1, long),))
    return holding(), odd, holding()


def outcomes(value) -> str:
    """A line for each case: what it comes to, what it is called, and why."""
    lines = []
    for case in junit(value):
        outcome, message = "passed", ""
        for child in case:
            outcome, message = child.tag, child.get("message", "")
        name = f"{case.get('classname')}  {case.get('name')}"
        lines.append(f"{outcome}  {name}  {message}".rstrip())
    return "".join(f"{line}\n" for line in lines)


def test_what_becomes_of_budgets_and_findings(expected):
    warned = replace(NET, findings=(replace(NET.findings[0], severity="warning"),))
    second = budget(101_786, 10, 10, at=Position("net.py", 13, 5))
    others = (
        *unmeasured().findings,
        MISSTATED,
        found("NPL008", target="old.py::Net", path="pyproject.toml"),
    )
    reports = {
        "a glob is one case whatever it matches": report(glob_gpt()),
        "a broken budget": report(NET),
        "a silenced finding is skipped, not failed": report(replace(NET, findings=())),
        "a broken budget that is but a warning has not passed": report(warned),
        "a finding is about the budget on its line": report(
            replace(NET, budgets=(*NET.budgets, second))
        ),
        "what nobody could count is an error for each budget": report(unbuilt(found("NPL004"))),
        "ignored, it is skipped": report(unbuilt()),
        "a formula that is wrong elsewhere fails its budget": report(holding(found("NPL011"))),
        "other findings have cases of their own": report(unmeasured(), tiny(), findings=others),
        "models that were not counted are skipped": report(
            skipped=(("zoo/a.py::A", needs("width", "depth")),)
        ),
        "nothing could be checked": replace(
            report(unbuilt()), error="no torch\n  next: get it", findings=()
        ),
        "names are printable": report(*odd_names()),
    }
    for code in ("NPL006", "NPL010", "NPL101", "NPL002", "NPL003", "NPL007", "NPL008"):
        reports[f"{code} beside a budget"] = report(holding(found(code, line=40)))
    reports["a warning beside a budget"] = report(holding(found("NPL002", "warning", 40)))
    expected({name: outcomes(value) for name, value in reports.items()})


def test_a_broken_budget_has_the_finding_and_the_table():
    [case] = junit(report(NET))
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
