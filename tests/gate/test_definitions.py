"""Which definition of a name a budget is about: the book in `definitions/`, whose cases are checked
as the files of one project."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from case_books import cases_beside

from nparam_lint.config.session import open_session
from nparam_lint.gate import check

CASES = cases_beside(__file__, "definitions")
(BOOK,) = {parameter.values[0] for parameter in CASES}
ABOVE = BOOK.cases[0].files["net.py"].decode().partition("Narrow, Wide\n")[0].count("\n") + 1


@pytest.fixture(scope="module")
def report(environ, tmp_path_factory):
    root = tmp_path_factory.mktemp("definitions")
    (root / "parts.py").write_text(BOOK.head["parts.py"])
    for case in BOOK.cases:
        (root / f"net{case.number}.py").write_bytes(case.files["net.py"])
    (root / "link.py").symlink_to(f"net{BOOK.cases[-1].number}.py")
    subprocess.run(["git", "init", "--quiet", root], check=True)
    options = {"device": "meta", "python": sys.executable}
    return check(open_session(root, environ, options=options, remembers=False), [])


@pytest.mark.parametrize(("book", "case"), CASES)
def test_a_budget_is_held_against_what_python_uses_or_it_is_stale(report, book, case, request):
    said = said_of(report, f"net{case.number}.py")
    book.check(case.number, said, update=request.config.getoption("update"))


def said_of(report, path):
    """The findings; if there are none, each model, and that its budgets hold."""
    found = [item for item in report.findings if item.position.path == path]
    lines = [f"{path}:{one.position.line} {one.code} {one.message}" for one in found]
    models = [model for model in report.models if model.position.path == path]
    assert models
    for model in models if not found else ():
        assert all(result.ok for result in model.budgets)
        lines.append(f"{path}:{model.position.line} {model.target} holds")

    def in_case(place):
        return f"net.py:{int(place[1]) - ABOVE}"

    text = re.sub(rf"\b{re.escape(path)}:(\d+)", in_case, "\n".join(lines))
    return text.replace(path.removesuffix(".py"), "net")


def test_the_model_stands_where_the_definition_does_that_is_used(report):
    (model,) = [m for m in report.models if m.target == "net0.py::Net"]
    assert model.position.line == 2 + ABOVE


def test_a_link_to_a_file_says_what_that_says(report):
    last = said_of(report, f"net{BOOK.cases[-1].number}.py")
    assert said_of(report, "link.py") == last
