"""Workflow commands as GitHub's runner reads them, and the log around them."""

import pytest
from msgspec.structs import replace
from render_samples import rendered
from report_checks import commands
from report_samples import broken_net, everything, failed, glob_gpt, many, measured, model, report
from report_samples import net as net_rows

from nparam_lint.ground.findings import Finding
from nparam_lint.ground.values import Position
from nparam_lint.report import Options


def github(value, **options) -> str:
    return rendered("github", value, Options(**options))


def test_annotations_then_a_log():
    assert (
        github(everything(), width=40)
        == """\
::error file=net.py,line=12,col=5,title=NPL001 count-outside-budget::Net has 101,786 parameters, \
declared 50_890: +50,896 (+100.01 %25)%0Ahidden  100,480%0Aout       1,290%0Anparam-lint update \
net.py::Net
::error file=models/unet.py,line=10,col=1,title=NPL004 cannot-build::cannot build UNet: TypeError: \
UNet.__init__() missing 1 required positional argument: 'channels'
::warning file=zoo/tiny.py,line=3,col=5,title=NPL013 wrong-claim-in-prose::the docstring says ~2K, \
TinyAE has 4,996 parameters
models/unet.py:10:1: error: NPL004 cannot build UNet: TypeError: UNet.__init__() missing 1 \
required positional argument: 'channels'
net.py:12:5: error: NPL001 Net has 101,786 parameters, declared 50_890: +50,896 (+100.01 %)
zoo/tiny.py:3:5: warning: NPL013 the docstring says ~2K, TinyAE has 4,996 parameters

7 models: 6 measured, 1 not measured · 3 budgets hold · 1 budget broken · 1 other error · \
1 warning · 1.8 s
.venv/bin/python (the project's .venv) · torch 2.9.0 · meta
"""
    )


def test_what_passes_is_one_line():
    assert github(report(glob_gpt())) == "1 model: 1 measured · 3 budgets hold · 1.8 s\n"
    assert github(report(model("a.py::A", measured(net_rows())))) == (
        "1 model: 1 measured · 1.8 s\n"
    )
    assert github(report(files=0)) == "No Python file was found: nothing to check.\n"


def test_a_failure_is_one_error():
    assert github(failed()) == (
        "::error title=nparam-lint%3A nothing could be checked::"
        "no model can be built with .venv/bin/python%0A  it says: no torch\n"
        "0 models · 0.0 s\n"
    )


def test_the_worst_ten_are_annotated_and_the_tenth_counts_the_rest():
    found = commands(github(many(12)))
    assert [keys["file"] for _, keys, _ in found[:9]] == [f"n{i:05}.py" for i in range(12, 3, -1)]
    assert found[9] == (
        "error",
        {"title": "… and 3 more errors, in the log and the job summary"},
        "n00003.py:12: NPL001 Net has 1,003 parameters, declared 1,000: +3\n"
        "n00002.py:12: NPL001 Net has 1,002 parameters, declared 1,000: +2\n"
        "n00001.py:12: NPL001 Net has 1,001 parameters, declared 1,000: +1",
    )
    assert len(found) == 10
    assert len(commands(github(many(10)))) == 10
    assert "more" not in commands(github(many(10)))[9][1]["title"]


@pytest.mark.parametrize("severity", ["error", "warning"])
def test_all_are_in_the_log(severity):
    page = github(many(40, severity))
    lines = [line for line in page.splitlines() if not line.startswith("::")]
    assert sum("NPL001" in line for line in lines) == 40
    _, _, rest = commands(page)[-1]
    assert rest.count("\n") == 20
    assert rest.endswith("\n…")


def test_errors_and_warnings_have_ten_each():
    value = many(12)
    extra = tuple(replace(f, severity="warning") for f in many(15).findings)
    found = commands(github(replace(value, findings=(*extra, *value.findings))))
    assert [level for level, _, _ in found] == ["error"] * 10 + ["warning"] * 10
    assert found[-1][1]["title"].startswith("… and 6 more warnings")


def test_a_failure_is_one_of_the_ten():
    value = replace(many(12), error="no torch")
    assert [level for level, _, _ in commands(github(value))] == ["error"] * 10


def test_the_runner_reads_back_what_was_meant():
    text = "100 % of a:b,c\r::d%0A"
    at = Position("dir, 1/a:b#%.py", 7, 3)
    finding = Finding("NPL002", "error", at, text, "", ("    two", "::three"))
    [(level, keys, message)] = commands(github(report(findings=(finding,))))
    assert level == "error"
    assert keys == {
        "file": "dir, 1/a:b#%.py",
        "line": "7",
        "col": "3",
        "title": "NPL002 malformed-budget",
    }
    assert message == "100 % of a:b,c\n::d%0A\n    two\n::three"


def test_the_log_does_not_speak_to_the_runner():
    at = Position("::error file=a::b.py", 1, 1)
    finding = Finding("NPL002", "error", at, "##[add-mask]a ##[##[error]x")
    page = github(report(findings=(finding,)))
    assert len(commands(page)) == 1
    assert "\n: :error file=a::b.py:1:1: error: NPL002 ## [add-mask]a ## [## [error]x\n" in page


def test_a_project_inside_its_repository():
    [(_, keys, _)] = commands(github(report(broken_net()), prefix="packages/nets"))
    assert keys["file"] == "packages/nets/net.py"


def test_an_endless_message_is_cut():
    finding = Finding("NPL002", "error", Position("a.py"), "x" * 100_000)
    [(_, _, message)] = commands(github(report(findings=(finding,))))
    assert message == "x" * 3_999 + "…"


def test_an_unknown_code_is_its_own_title():
    finding = Finding("NPL999", "warning", Position("a.py"), "new")
    [(_, keys, _)] = commands(github(report(findings=(finding,))))
    assert keys["title"] == "NPL999"
