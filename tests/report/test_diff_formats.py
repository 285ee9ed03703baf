"""The comparison as people and programs read it, and what holds of it at every width."""

import json
import re
from functools import partial

import pytest
from diff_samples import (
    SIX,
    diff,
    failed,
    finding,
    gpt,
    measured,
    model,
    needs,
    report,
    rows,
    samples,
)
from render_samples import in_lines
from report_checks import check_github, check_markdown

from nparam_lint.changes.documents.diff_document import diff_document
from nparam_lint.changes.documents.diff_words import change
from nparam_lint.changes.records import Base, DiffReport
from nparam_lint.gate.report import Report
from nparam_lint.report import Options
from nparam_lint.report.formats import formats_for, render
from nparam_lint.report.formats.markdown import summary


def rendered(name, found, **options) -> str:
    return render(name, diff_document(found), Options(**({"width": 80} | options)))


def text(found, **options) -> str:
    return rendered("text", found, **options)


# Models have five columns, modules seven.
check = partial(check_markdown, columns=frozenset({5, 7}))


def markdown(found) -> str:
    page = rendered("markdown", found, width=40, color=True)
    check(page)
    assert page.startswith("<!-- nparam-lint diff -->\n")
    return page


def changed(before: str, after: str):
    return diff([model("a.py::Net", before)], [model("a.py::Net", after)])


def alike(names: str, *counts: int):
    """Models whose last layer grows from 60 to these."""
    before = [model(f"net.py::{name}", SIX) for name in names]
    pairs = zip(names, counts, strict=True)
    after = [model(f"net.py::{name}", SIX.replace("60", str(count))) for name, count in pairs]
    return diff(before, after)


def moved_and_failed():
    small, large = (SIX.replace("1", digit) for digit in "23")
    before = [model("old.py::A", small), model("old.py::B", large)]
    after = [model("new.py::A", small), model("new.py::B", large)]
    before += [model("x.py::C", SIX), model("x.py::D", SIX)]
    after += [model("x.py::C", failed()), model("x.py::D", failed())]
    return diff(before, after, moved={"old.py": "new.py"})


PLACES = [f"layer{i}.{j}.conv{k}" for i in range(1, 4) for j in range(9) for k in (1, 2, 3)]
HUNDREDS = changed(
    "\n".join(f"{place} Conv2d {i}" for i, place in enumerate(PLACES, 1)),
    "\n".join(f"{place} Conv2d {i * i}" for i, place in enumerate(PLACES, 1)),
)
NAMES = [f"name{chr(97 + i)}" for i in range(22)]
FLAT = changed(
    "\n".join(f"{name} Linear {i}" for i, name in enumerate(NAMES, 1)),
    "\n".join(f"{name} Linear {2 * i}" for i, name in enumerate(NAMES, 1)),
)
RENAMED = changed(
    "encoder.a Linear 10\nencoder.b Linear 20\nnet.0 Conv2d 5\nnet.1 Conv2d 5",
    "body.encoder.a Linear 10\nbody.encoder.b Linear 20\n"
    "net.0 Linear 3\nnet.1 Conv2d 5\nnet.2 Conv2d 5",
)
UNTIED = diff(
    [model("gpt.py::GPT", measured(gpt(1)))], [model("gpt.py::GPT", measured(gpt(1, 4, False)))]
)
NET, ACT = model("a.py::Net", SIX), model("a.py::Act", "act ReLU 0")
TINY = model("a.py::Tiny", "fc Linear 3")
SKIPPED = report(NET, ACT, skipped=(("a.py::Needs", needs("width")),))
NOT_THERE = DiffReport(
    Base("x", "", "x"), "working tree", Report(None, (), (), error="no revision\nnext: …")
)
NOTHING = {
    "nothing changed": diff([NET, ACT, TINY], [NET, ACT, TINY]),
    "nothing changed in what could be counted": diff(SKIPPED, SKIPPED),
    "nothing there": diff([], []),
    "what has no parameters came": diff([NET], [NET, ACT]),
}


def test_whole_outputs(expected):
    outputs = {
        f"everything in {name}": rendered(name, samples())
        for name in ("text", "concise", "markdown")
    }
    outputs["everything in github"] = rendered("github", samples()).removesuffix(text(samples()))
    document = json.loads(rendered("json", samples()))
    modules = document["models"][1]["modules"]
    assert len(modules) == 24
    del modules[2:]  # twelve blocks are alike
    outputs["everything in json"] = in_lines(f"{json.dumps(document, separators=(',', ':'))}\n")
    outputs["no such revision in markdown"] = rendered("markdown", NOT_THERE)
    outputs |= {name: text(found) for name, found in NOTHING.items()}
    outputs |= {f"{name}, in markdown": markdown(found) for name, found in NOTHING.items()}
    found = diff(SKIPPED, SKIPPED)
    outputs |= {
        "one model, unchanged, in markdown": markdown(diff([NET], [NET])),
        "growth that is no failure, in markdown": markdown(alike("A", 61)),
        "a model is not measured, in markdown": markdown(
            diff([NET], [model("a.py::Net", failed())])
        ),
        "unchanged, verbose": text(found, verbose=1),
        "what has no parameters came, verbose": text(
            NOTHING["what has no parameters came"], verbose=1
        ),
        "everything, quiet": text(samples(), quiet=True),
        "models that changed alike share a table": text(alike("ABCDEFG", *[61] * 7)),
        "only so many tables are printed": text(alike("ABCDE", 61, 62, 63, 64, 65)),
        "what moved or fails alike shares a line": text(moved_and_failed()),
        "renamed and moved modules": text(RENAMED),
        "notes that are long stand below their row": text(UNTIED),
        "hundreds of changes are summed up": text(HUNDREDS),
        "a flat model keeps what changed most": text(FLAT),
    }
    expected(outputs)
    assert text(HUNDREDS, depth=2).count(" changes  ") == 27
    assert text(FLAT, verbose=1).count(" Linear ") == 22


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
def test_lines_fit_the_width(width):
    deep = "\n".join(f"very.deeply.nested.modules.n{i}.of.a.model{i} Linear {i}1" for i in range(9))
    deep += " @research/experiments/ablations/networks/deep.py:42"
    large = [model("research/experiments/ablations/networks/deep.py::VeryDeepNetwork", deep)]
    moved = [
        model("research/experiments/deep.py::VeryDeepNetwork", deep.replace("1", "2", 40)),
        model("a.py::Net", failed("a reason that is long " * 9)),
    ]
    for found in (samples(), diff(large, moved), diff([NET, *large], moved)):
        for line in text(found, width=width, verbose=1).splitlines():
            assert len(line) <= width or " " not in line.strip() or "rule CODE" in line


def test_colors_change_no_letter():
    colored = text(samples(), color=True)
    assert "\x1b[33m~\x1b[0m" in colored
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == text(samples())


def test_a_change_is_never_rounded_to_none():
    assert change(1, 100_000_000) == "+1 (<0.01 %)"
    assert change(-1, 100_000_000) == "−1 (<0.01 %)"
    assert change(-1, 3) == "−1 (−33.33 %)"
    assert change(5, 0) == "+5"


# --- what the project may not do --------------------------------------------------------------


def test_what_comes_from_the_project_cannot_move_the_cursor():
    nasty = "\x1b[2J\r::error::x"
    found = diff(
        [model(f"a{nasty}.py::Net", measured(SIX, f"Net({nasty})"))],
        [model(f"a{nasty}.py::Net", failed(f"no {nasty}")), model("b.py::New", SIX)],
    )
    assert not {"\x1b", "\r"} & {*text(found, verbose=1)}


def test_nothing_of_the_project_speaks_to_the_runner():
    path = "::error::##[error]x.py"
    before, after = [model(f"{path}::Net", SIX)], [model(f"{path}::Net", SIX.replace("60", "61"))]
    assert check_github(rendered("github", diff(before, after))) == []
    assert len(check_github(rendered("github", diff(before, after, "0")))) == 1
    ((level, _, message),) = check_github(rendered("github", NOT_THERE))
    assert (level, message) == ("error", "no revision\nnext: …")


def test_the_project_cannot_write_into_the_comment():
    nasty = "</details> @everyone | `x` <!-- --> [a](b)"
    found = diff(
        [model(f"a|{nasty}.py::Net", measured(SIX, f"Net({nasty!r})"))],
        [model(f"a|{nasty}.py::Net", failed(f"raised {nasty}"))],
    )
    page = check(markdown(found))
    assert "@everyone" not in page.prose
    assert page.cells == [5, 5]
    nasty = "</details> | `x` <!-- --> [a](b)"
    tie = f"head Linear 0 tied={nasty}"
    before, after = (rows(f"a|b Li|near 3\n{leaf}") for leaf in (tie, "head Linear 3"))
    found = diff([model("a.py::Net", measured(before))], [model("a.py::Net", measured(after))])
    page = check(markdown(found))
    assert page.cells == [5, 5, 7, 7]
    assert f"no longer tied: {nasty}" in page.text


@pytest.mark.thorough
def test_what_is_too_long_is_cut_between_rows():
    before = [model(f"net{i}.py::Net", SIX) for i in range(600)]
    after = [model(f"net{i}.py::Net", SIX.replace("60", f"6{i}")) for i in range(600)]
    found = diff(before, after, "0")
    page = markdown(found)
    assert 30_000 < len(page.encode()) <= 65_536
    assert "left out.*" in page
    for limit in (0, 100, 2_000, 40_000):
        page = summary(diff_document(found), Options(), limit)
        assert len(page.encode()) <= limit
        check(page)


# --- for programs -----------------------------------------------------------------------------


def test_the_json_document_is_plain_ascii_and_has_no_infinity():
    found = diff([model("µ.py::Net", measured("ß X 0"))], [model("µ.py::Net", measured("ß X 4"))])
    page = rendered("json", found)
    assert page.isascii()
    assert json.loads(page)["models"][0]["drift"] is None
    assert json.loads(rendered("json", NOT_THERE))["error"] == "no revision\nnext: …"


def test_findings_without_a_model_are_in_every_format():
    stale = finding("NPL008", "gone.py::Net", "pyproject.toml", 3)
    found = diff([], report(findings=(stale,)))
    for name in formats_for("findings"):
        assert "NPL008" in rendered(name, found)
        assert rendered(name, samples()).endswith("\n")
    assert text(NOT_THERE) == rendered("concise", NOT_THERE) == ""
    assert text(diff([], report(error="no torch"))) == ""
