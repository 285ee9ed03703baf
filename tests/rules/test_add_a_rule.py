"""Adding one file adds a rule: to the findings, to `nparam-lint rule` and to the docs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import nparam_lint

DOCS = Path(__file__).parents[2] / "docs"
NET = "from torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n"
NET += "        super().__init__()\n        self.drop = nn.Dropout()\n"


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """Runs Python with a copy of the package to which the rule of docs/extend.md was added."""
    folder = tmp_path_factory.mktemp("copy")
    here = Path(nparam_lint.__file__).parent
    shutil.copytree(here, folder / "nparam_lint", ignore=shutil.ignore_patterns("__pycache__"))
    section = (DOCS / "extend.md").read_text(encoding="utf-8").split("## Add a rule")[1]
    name = re.search(r"`(npl\d+_\w+\.py)`", section)[1]
    code = re.search(r"```python\n(.*?)```", section, re.DOTALL)[1]
    (folder / "nparam_lint" / "rules" / name).write_text(code, encoding="utf-8")
    project = folder / "project"  # of one file: all of a project is read
    project.mkdir()
    (project / "net.py").write_text(NET)
    environ = os.environ | {"PYTHONPATH": str(folder)}

    def run(*arguments):
        command = [sys.executable, *arguments]
        return subprocess.run(
            command, cwd=project, env=environ, capture_output=True, text=True, check=False
        )

    return run


def test_the_rule_is_listed_and_explained(python):
    listed = python("-m", "nparam_lint", "rule")
    assert "NPL199  dropout-everywhere " in listed.stdout
    explained = python("-m", "nparam_lint", "rule", "dropout-everywhere")
    assert explained.stdout.startswith("NPL199  dropout-everywhere  (warning)\n\nA model has")


def test_the_rule_finds_something(python):
    done = python("-m", "nparam_lint", "--static", "--no-cache", "--format", "concise", "net.py")
    assert "net.py:5:21: warning: NPL199 nn.Dropout() drops half" in done.stdout, done
    ignored = python("-m", "nparam_lint", "--static", "--no-cache", "--ignore", "NPL199", "net.py")
    assert "NPL199" not in ignored.stdout
    assert ignored.returncode == 0


def test_the_rule_passes_its_own_cases(python):
    code = "from nparam_lint.rules import RULES; from nparam_lint.rules.lint import *;"
    code += "rule = RULES['NPL199']; print([lint_source(s, 'a.py') for s in rule.valid],"
    code += (
        "[[f'{f.position.line}:{f.position.column} {f.message}' for f in lint_source(s, 'a.py')]"
    )
    code += " == expected.splitlines() for s, expected in rule.invalid.items()])"
    assert python("-c", code).stdout == "[[]] [True]\n"


def test_the_rule_is_on_the_page(python):
    assert "## NPL199 dropout-everywhere" in python(DOCS / "write_rules.py").stdout


def test_the_page_in_the_docs_is_up_to_date():
    page = subprocess.run(
        [sys.executable, DOCS / "write_rules.py"], stdout=subprocess.PIPE, check=True
    )
    written = (DOCS / "rules.md").read_bytes()
    assert page.stdout == written, "next: python docs/write_rules.py > docs/rules.md"
