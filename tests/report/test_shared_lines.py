"""Findings that one line of the project caused, said as one."""

from __future__ import annotations

from msgspec.structs import replace
from render_samples import rendered
from report_samples import model, report

from nparam_lint.count.measured import NotMeasured
from nparam_lint.gate.judge import judge_not_measured
from nparam_lint.ground.values import Position, SourceLine
from nparam_lint.report import Options, findings, style
from nparam_lint.report.style import Paint

LINE = SourceLine(Position("base.py", 3, 5), "    return table[name]", 18)


def failed(number: int, error: str, **more):
    target = f"m{number}.py::Net{number}"
    failure = NotMeasured(
        "NPL004",
        f"Net{number}() raised {error}",
        cause="raised",
        source="base.py:3",
        **{"notes": (f"m{number}.py is a script",), "hint": "call it with a name", **more},
    )
    at = Position(f"m{number}.py", 5, 8)
    finding = replace(judge_not_measured(failure, at, target, []), lines=(LINE,))
    return model(target, failure, findings=(finding,), declared=True)


def findings_in(*models, **options) -> str:
    return rendered("text", report(*models), Options(quiet=True, **options))


def test_findings_with_a_common_cause(expected):
    many = [failed(number, "KeyError: 'a'") for number in range(100, 125)]
    died = [failed(n, "X", function="read", output="Fatal Python error: X") for n in (1, 2)]
    expected(
        {
            "models with different errors": findings_in(
                failed(1, "KeyError: 'a'"), failed(2, "KeyError: 'b'")
            ),
            "of many models some are named": findings_in(*many),
            "all of them when asked": findings_in(*many, verbose=1),
            "a process died": findings_in(*died),
            "what it printed, when asked": findings_in(*died, verbose=1),
        }
    )


def test_a_caret_stands_below_what_it_marks_in_a_chinese_line():
    text = "| 模型 (基础) | 7.2M |"
    line = SourceLine(Position("README.md", 3, text.index("7.2M") + 1), text, 4)
    drawn = ["    3 | | 模型 (基础) | 7.2M |", "      |" + " " * 17 + "^^^^"]
    assert findings.excerpt([line], "README.md", 80, Paint(False)) == drawn
    short = findings.excerpt([line], "README.md", 26, Paint(False))
    assert short == ["    3 | …7.2M |", "      |  ^^^^"]
    assert style.elide_end("模型模型", 6) == "模型…"
    assert style.elide_end("模型", 4) == "模型"
