"""Every format for programs is one valid document, whatever happened and however it is named."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from render_samples import in_lines, rendered, summary
from report_checks import CHECKS, commands
from report_samples import (
    HOSTILE,
    MISSTATED,
    broken_net,
    budget,
    everything,
    failed,
    glob_gpt,
    hostile,
    many,
    measured,
    model,
    needs,
    net,
    report,
    rows,
    tiny,
    unmeasured,
)

from nparam_lint.ground.findings import Finding
from nparam_lint.ground.values import Position
from nparam_lint.report import Options
from nparam_lint.report.formats import formats_for

UNDECLARED = report(model("a.py::A", measured(net())))
REPORTS = {
    "nothing": report(environment=None),
    "nothing declared": UNDECLARED,
    "pass": report(glob_gpt()),
    "drift": report(broken_net()),
    "not measured": report(unmeasured()),
    "warning": report(tiny(), besides=(MISSTATED,)),
    "everything": everything(),
    "many": many(60),
    "failure": failed(),
    "hostile": hostile(),
    "hostile failure": failed(HOSTILE),
}
BROKEN = replace(
    report(broken_net(), unmeasured(), tiny(), besides=(MISSTATED,)),
    skipped=(("zoo/a.py::A", needs("width", "depth")),),
)


def read(name: str, value, **options) -> str:
    """As people review it: what is one line for programs, and without the looks of a page."""
    text = rendered(name, value, Options(**options))
    if name in ("json", "sarif"):
        return in_lines(text)
    if name == "html":
        text = re.sub("<(style|script)[ >].*?</\\1>", "", text, flags=re.DOTALL)
        return text.partition("<body>\n")[2].partition("\n\n")[0] + "\n"
    return text


def test_whole_documents(expected):
    names = [name for name in formats_for("findings") if name != "text"]
    documents = {f"broken in {name}": read(name, BROKEN) for name in names}
    documents |= {f"passed in {name}": read(name, REPORTS["pass"]) for name in names[2:]}
    del documents["passed in html"]  # a table for each block
    documents |= {f"failed in {name}": read(name, failed()) for name in names}
    others = {"nothing": report(environment=None, seconds=0.0), "undeclared": UNDECLARED}
    others["source only"] = replace(report(), source_only=True)
    for title, value in others.items():
        documents |= {f"{title} in {name}": read(name, value) for name in ("markdown", "github")}
    documents["nothing in json"] = rendered("json", others["nothing"], Options())
    documents["nothing in concise"] = rendered("concise", report(), Options())
    documents["passed, summary of a job"] = summary(REPORTS["pass"], Options())
    expected(documents)


def test_a_format_loads_no_other():
    code = (
        "import sys; from nparam_lint.gate.report import Report;"
        "from nparam_lint.report.check_document import check_document;"
        "from nparam_lint.report import Options;"
        "from nparam_lint.report.formats import render;"
        "render('concise', check_document(Report(None, (), ())), Options());"
        "print(sorted(m for m in sys.modules if m.startswith('nparam_lint.report.formats.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['nparam_lint.report.formats.concise']\n"


def test_every_format_is_checked():
    assert {"text", "concise", "json"} | set(CHECKS) == set(formats_for("findings"))


@pytest.mark.parametrize("name", ["text", "concise", "markdown", "junit"])
@pytest.mark.parametrize("color", [False, True])
def test_no_line_for_people_is_a_command_to_a_runner(name, color):
    said = "::error::no ##[error]no " * 9
    at = Position("::error ::no.py", 1, 1)
    finding = Finding("NPL002", "error", at, said, f"{at.path}::{said}", (said,))
    value = report(unmeasured(), findings=(finding,))
    for width in range(40, 60):
        assert commands(rendered(name, value, Options(width=width, color=color))) == []


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize("value", REPORTS.values(), ids=REPORTS)
def test_one_valid_document(name, value):
    text = rendered(name, value, Options())
    text.encode("utf-8")
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    CHECKS[name](text)


WORDS = st.text(st.characters(), max_size=12) | st.text(
    "<>&\"'`|\\*_#@:%[]{}-\n\r\t\x1b\udcff ", max_size=12
)
PLACES = st.builds(Position, WORDS, st.integers(0, 9), st.integers(0, 9))
FINDINGS = st.builds(
    Finding,
    st.sampled_from(["NPL001", "NPL002", "NPL004", "NPL999"]),
    st.sampled_from(["error", "warning"]),
    PLACES,
    WORDS,
    WORDS,
    st.lists(WORDS, max_size=2).map(tuple),
)


@st.composite
def models(draw):
    at, target = draw(PLACES), f"{draw(WORDS)}::{draw(WORDS)}"
    parts = rows([(draw(WORDS), draw(WORDS), draw(st.integers(0, 10**20)))])
    low = draw(st.integers(0, 20))
    made = budget(parts[0].total, low, low, draw(WORDS), draw(WORDS), at=at, module=draw(WORDS))
    found = Finding("NPL001", "error", at, draw(WORDS), target)
    return model(target, measured(parts), budgets=(made,), findings=() if made.ok else (found,))


@pytest.mark.first_cases(2)
@pytest.mark.parametrize("name", CHECKS)
@given(
    value=st.builds(
        lambda models, findings, error, skipped: report(
            *models,
            findings=(*findings, *(f for model in models for f in model.findings)),
            error=error,
            skipped=tuple(skipped),
        ),
        st.lists(models(), max_size=2),
        st.lists(FINDINGS, max_size=3),
        st.none() | WORDS,
        st.lists(st.tuples(WORDS, st.builds(needs, WORDS)), max_size=1),
    )
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_one_valid_document_of_any_text(name, value):
    text = rendered(name, value, Options())
    text.encode("utf-8")
    CHECKS[name](text)
