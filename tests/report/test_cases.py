"""What each declared budget of a report comes to as a test case; reports made by hand."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from report_samples import broken_net, budget, glob_gpt, measured, model, net, report

from nparam_lint.count.measured import NotMeasured
from nparam_lint.ground.findings import Finding
from nparam_lint.ground.values import Position
from nparam_lint.report import Options
from nparam_lint.report.budget_cases import Case, cases

ROOT = Path("/project")
AT = Position("net.py", 12, 5)


def outcomes(value):
    return [(case.name, case.outcome) for case in cases(value, ROOT, Options())]


def holding(*findings, **more):
    budgets = (budget(101_786, 101_786, 101_786, at=AT),)
    counted = measured(net(), "Net()")
    return model("net.py::Net", counted, budgets=budgets, findings=findings, declared=True, **more)


def found(code, severity="error", at=AT):
    return Finding(code, severity, at, f"{code} it is", "net.py::Net")


def test_a_glob_is_one_case_whatever_it_matches():
    assert cases(report(glob_gpt()), ROOT, Options()) == [
        Case("nanogpt/model.py::GPT[124_373_760]", "/project/nanogpt/model.py", 120),
        Case("nanogpt/model.py::GPT[transformer.h.*: 7_079_424]", "/project/nanogpt/model.py", 121),
        Case("nanogpt/model.py::GPT[trainable: <= 130M]", "/project/model.py", 12),
    ]


def test_a_broken_budget_fails_with_the_finding_and_the_table_as_wide_as_there_is_room():
    (case,) = cases(report(broken_net()), ROOT, Options(width=60))
    assert (case.name, case.outcome) == ("net.py::Net[50_890]", "failed")
    assert case.message == "Net has 101,786 parameters, declared 50_890: +50,896 (+100.01 %)"
    finding, table = case.text.split(
        "\n\nFor an explanation and an example: nparam-lint rule NPL001\n\n"
    )
    assert finding.startswith(
        "net.py:12:5  NPL001  Net has 101,786 parameters, declared\n    50_890"
    )
    assert table.splitlines()[2].startswith("(total)   Net          16  101,786  100.0 %")
    assert max(map(len, case.text.splitlines())) <= 60
    assert "\x1b[" in cases(report(broken_net()), ROOT, Options(color=True))[0].text


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        *((code, "failed") for code in ("NPL006", "NPL010", "NPL101")),
        *((code, "error") for code in ("NPL002", "NPL003", "NPL007", "NPL008")),
    ],
)
def test_an_error_beside_the_budgets_is_a_case_of_its_own(code, outcome):
    at = Position("net.py", 40)
    (right, other) = cases(report(holding(found(code, at=at))), ROOT, Options())
    assert right == Case("net.py::Net[101_786]", "/project/net.py", 12)
    assert other.name.startswith(f"net.py::Net[{code} ")
    assert (other.line, other.outcome, other.message) == (40, outcome, f"{code} it is")
    assert outcomes(report(holding(found(code, "warning", at)))) == outcomes(report(holding()))


def test_a_formula_that_holds_by_chance_fails():
    assert outcomes(report(holding(found("NPL011")))) == [("net.py::Net[101_786]", "failed")]


def test_what_nobody_could_count_is_an_error_or_skipped_but_never_passes():
    reason = "Net raised\nValueError"
    unbuilt = replace(
        holding(found("NPL004")),
        measurement=NotMeasured("NPL004", reason, cause="raised"),
        budgets=(budget(None, None, None, "12", at=AT),),
    )
    name = "net.py::Net[12]"
    assert outcomes(report(unbuilt)) == [(name, "error")]
    ignored = replace(unbuilt, findings=())
    (case,) = cases(report(ignored), ROOT, Options())
    assert case == Case(
        name, "/project/net.py", 12, "skipped", "NPL004 is ignored: Net raised ValueError"
    )
    (case,) = cases(report(ignored, error="no torch\n  next: get it"), ROOT, Options())
    assert case == Case(
        name, "/project/net.py", 12, "error", "no torch", "no torch\n  next: get it"
    )


def test_names_are_distinct_short_and_printable():
    long = " + ".join(["width * width"] * 9)
    odd = model("a\udcffb.py::Net", measured(net()), budgets=(budget(1, 1, 1, long),))
    same = holding()
    names = [name for name, _ in outcomes(report(same, odd, same))]
    assert names == [
        "net.py::Net[101_786]",
        "a\\udcffb.py::Net[width * width + width * width + width *…]",
        "net.py::Net[101_786 #2]",
    ]
