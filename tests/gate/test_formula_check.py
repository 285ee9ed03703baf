"""Formulas at other arguments than the declared ones: real models, real builds. The cases stand in
the book in `formulas/`."""

from __future__ import annotations

import json
import re

import pytest
from case_books import cases_beside
from sample_files import write_files

from nparam_lint.ground.rule_catalogue import RULES

ALL = cases_beside(__file__, "formulas")
(BOOK,) = {parameter.values[0] for parameter in ALL}
AT_NIGHT = re.compile(r"at_night_.*|.*_([3-9]|\d\d)")
AT_COMMIT = [case for case in BOOK.cases if not AT_NIGHT.fullmatch(case.target)]
OTHERS = [case for case in BOOK.cases if AT_NIGHT.fullmatch(case.target)]


@pytest.fixture(scope="module")
def check(nparam_lint):
    """What is found in each file of a project, but how to derive what holds; all models can be
    counted."""

    def run(root):
        done = nparam_lint("--format", "json", cwd=root)
        assert "Traceback" not in done.stderr
        report = json.loads(done.stdout)
        assert done.returncode == bool(report["findings"])
        assert {model["status"] for model in report["models"]} == {"measured"}
        said = {}
        for found in report["findings"]:
            detail = found["detail"]
            if found["code"] == "NPL011":
                derive = f"nparam-lint formula {found['target']}"
                assert detail.pop() == f"to derive one that holds for all: {derive}"
            lines = [f"{found['code']} {found['message']}", *(f"  {line}" for line in detail)]
            said.setdefault(found["path"], []).extend(lines)
        return {path: "\n".join(lines) for path, lines in said.items()}

    return run


def written(root, cases):
    """A project with a file for each."""
    files = {f"net{case.number}.py": case.files["net.py"].decode() for case in cases}
    return write_files(root, {**files, "nparam-lint.toml": 'device = "meta"\n'})


def hold(case, said, request):
    path = f"net{case.number}.py"
    text = said.get(path, "nothing").replace(path, "net.py")
    BOOK.check(case.number, text, update=request.config.getoption("update"))


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return written(tmp_path_factory.mktemp("formulas"), AT_COMMIT)


@pytest.fixture(scope="module")
def said(check, project):
    return check(project)


@pytest.mark.parametrize("case", AT_COMMIT, ids=lambda case: case.target)
def test_formulas_that_hold_and_those_that_are_wrong_for_others(said, case, request):
    hold(case, said, request)


def test_what_is_remembered_says_the_same(check, project, said):
    assert check(project) == said


@pytest.mark.thorough
@pytest.mark.parametrize("case", OTHERS, ids=lambda case: case.target)
def test_one_that_is_checked_alone(check, tmp_path, case, request):
    hold(case, check(written(tmp_path, [case])), request)


@pytest.mark.thorough
def test_the_example_of_the_rule_shows_it(check, tmp_path):
    write_files(tmp_path, {"net.py": RULES["NPL011"].example_bad + "\n"})
    assert check(tmp_path)["net.py"].startswith("NPL011 ")
