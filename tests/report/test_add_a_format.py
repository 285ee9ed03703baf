"""A new output format is one file and one line; then every command has it. The toy is the one in
docs/extend.md."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest
from diff_samples import samples
from msgspec.structs import replace
from report_checks import check_html
from report_samples import broken_net, everything, failed, report, unmeasured

from nparam_lint.analysis.closed_forms.form_records import ClosedForm
from nparam_lint.analysis.closed_forms.observations import Variable
from nparam_lint.analysis.closed_forms.polynomial import Polynomial
from nparam_lint.analysis.documents.compare_document import (
    Compared,
    Comparison,
    compare_document,
)
from nparam_lint.analysis.documents.formula_data import FormulaResult
from nparam_lint.analysis.documents.formula_document import formula_document
from nparam_lint.analysis.documents.solve_document import solve_document
from nparam_lint.analysis.roles import find_roles
from nparam_lint.analysis.solutions import Met, Solutions, Solved
from nparam_lint.changes.documents.diff_document import diff_document
from nparam_lint.cli.main import main
from nparam_lint.ground.values import Position
from nparam_lint.report import Options, formats
from nparam_lint.report.check_document import check_document
from nparam_lint.report.show_document import show_document
from nparam_lint.rewrite.edits import Edit, Leftover, Plan
from nparam_lint.rewrite.plan_document import plan_document

DOCS = Path(__file__).parents[2] / "docs" / "extend.md"
NET = broken_net()
AT = Position("net.py", 12, 5)
FORM = ClosedForm(Polynomial.constant(110), (), {"width": 10}, 110, (), ("width",), {}, 9, 6)
EDIT = Edit(AT, "net.py::Net", "", "docstring", "100", "110", 110)
LIMIT = Leftover(AT, "net.py::Net", "fc", "docstring", "<= 9", "it is a limit", 110)
NETS = Comparison((Compared("net.py::Net", NET, find_roles(NET.measurement)),))
WIDTH = Met({"width": 10}, 110, "Net(width=10)")
SOLUTIONS = Solutions("closest", (100,), (Solved("net.py::Net", 100, points=(WIDTH,)),))
FORMULA = FormulaResult("net.py::Net", "Net()", (Variable("width", 10, "", ()),), (FORM,))
# By command: what it says, and what the toy makes of it.
DOCUMENTS = {
    "check": (check_document(everything()), "- nanogpt/model.py::GPT\n"),
    "show": (show_document(report(NET), Path()), "- (total)\n- hidden\n- out\n"),
    "show (not measured)": (show_document(report(unmeasured()), Path()), ""),
    "diff": (diff_document(samples()), "- gpt.py::Block\n- gpt.py::GPT\n"),
    "compare": (compare_document(NETS), "- total\n- trainable\n"),
    "formula": (formula_document(FORMULA), ""),
    "solve": (solve_document(SOLUTIONS), "- 10\n"),
    "update": (
        plan_document(Plan((EDIT,), (LIMIT,)), "update", dry=True),
        "- net.py:12\n- net.py:12\n",
    ),
    "init": (
        plan_document(Plan((replace(EDIT, old=""),)), "init", dry=True),
        "- net.py:12\n",
    ),
}
NEEDS = {"check": "findings", "show": "findings", "diff": "findings", "formula": "forms"}


@pytest.fixture
def outline(tmp_path, monkeypatch):
    """The package of formats with one file more, and one line."""
    page = DOCS.read_text(encoding="utf-8")
    source = re.search(r"```python\n# nparam_lint/report/formats/outline.py\n(.*?)```", page, re.S)
    (tmp_path / "outline.py").write_text(source[1], encoding="utf-8")
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(tmp_path)])
    monkeypatch.setitem(formats.FORMATS, "outline", "")


def test_a_format_is_a_file_and_a_line():
    folder = Path(formats.__file__).parent
    there = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert there == set(formats.FORMATS)
    assert set(formats.FOR_TERMINALS) < there
    for name in there:
        module = import_module(f"{formats.__name__}.{name}")
        hasattr(module, "render")  # reads one that is loaded late
        assert module.__doc__


@pytest.mark.usefixtures("outline")
def test_the_new_format_has_every_command(capsys, tmp_path, monkeypatch):
    for command, (document, outline) in DOCUMENTS.items():
        assert outline in formats.render("outline", document, Options())
        if " " in command:
            continue
        with pytest.raises(SystemExit):
            main([command, "--help"])
        (line,) = re.findall(r"--format FORMAT((?:.*\n)+?)  -", capsys.readouterr().out)
        known = set(re.findall(r"\w+", line)) - {"default"}
        assert known == set(formats.formats_for(NEEDS.get(command, "")))
        assert "outline" in known
    # From the command line.
    (tmp_path / "net.py").write_text("from torch import nn\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["--static", "--format", "outline", "net.py"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["nope.py", "--format", "outline"]) == 2
    assert capsys.readouterr().out == "! there is no file or directory nope.py\n"
    assert formats.render("outline", check_document(failed()), Options()).startswith("! no model")


@pytest.mark.parametrize(
    ("command", "name", "said"),
    [
        *(
            (name, "nothing", "there is no format 'nothing'")
            for name in DOCUMENTS
            if " " not in name
        ),
        ("solve", "sarif", "solve has no format 'sarif'; it has text, concise"),
        ("compare", "gitlab", "compare has no format 'gitlab'; it has text, concise"),
        ("check", "latex", "check has no format 'latex'; it has text, concise"),
    ],
)
def test_what_a_format_cannot_say_is_refused(command, name, said, capsys):
    assert main([command, "--format", name]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_command_has_the_formats_for_people(name):
    document, _ = DOCUMENTS[name]
    broken = replace(document, error="no torch\nnext: install it")
    for format in ("text", "concise", "markdown", "html", "json"):
        text = formats.render(format, document, Options())
        assert text.endswith("\n") or (format, text) == ("concise", "")
        assert not text.endswith("\n\n")
        if format in ("markdown", "html"):
            assert "no torch" in formats.render(format, broken, Options())
        if format == "html":
            check_html(text)
