"""Adding one file adds a rule: to the findings, to `nparam-lint rule` and to the docs."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import nparam_lint

DOCS = Path(__file__).parents[2] / "docs"
NET = "from torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n"
NET += "        super().__init__()\n        self.drop = nn.Dropout()\n"
# What a process answers that imports the copy.
ASKED = """\
import io, json, runpy, sys
from contextlib import redirect_stdout
from nparam_lint.cli.main import main
from nparam_lint.gate.rules import RULES
from nparam_lint.gate.rules.lint import lint_source

def printed(*words):
    with redirect_stdout(io.StringIO()) as output:
        main(words)
    return output.getvalue()

def places(source):
    findings = lint_source(source, "a.py")
    return "\\n".join(f"{f.position.line}:{f.position.column} {f.message}" for f in findings)

rule, check = RULES["NPL199"], ("--static", "--no-cache", "--format", "concise")
print(json.dumps({
    "list": printed("rule"),
    "page": printed("rule", "dropout-everywhere"),
    "found": printed(*check, "net.py"),
    "ignored": printed(*check, "--ignore", "NPL199", "net.py"),
    "valid": [places(source) for source in rule.valid],
    "invalid": [[places(source), said] for source, said in rule.invalid.items()],
    "docs": runpy.run_path(sys.argv[1])["page"](),
}))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory, environ):
    """Those of a copy of the package to which the rule of docs/extend.md was added."""
    folder = tmp_path_factory.mktemp("copy")
    here = Path(nparam_lint.__file__).parent
    shutil.copytree(here, folder / "nparam_lint", ignore=shutil.ignore_patterns("__pycache__"))
    section = (DOCS / "extend.md").read_text(encoding="utf-8").split("## Add a rule")[1]
    name = re.search(r"`(npl\d+_\w+\.py)`", section)[1]
    code = re.search(r"```python\n(.*?)```", section, re.DOTALL)[1]
    (folder / "nparam_lint" / "gate" / "rules" / name).write_text(code, encoding="utf-8")
    project = folder / "project"  # of one file: all of a project is read
    project.mkdir()
    (project / "net.py").write_text(NET)
    done = subprocess.run(
        [sys.executable, "-c", ASKED, DOCS / "write_rules.py"],
        cwd=project,
        env=environ | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_the_rule_is_listed_and_explained(answers):
    assert "NPL199  dropout-everywhere " in answers["list"]
    assert answers["page"].startswith("NPL199  dropout-everywhere  (warning)\n\nA model has")
    assert "## NPL199 dropout-everywhere" in answers["docs"]


def test_the_rule_finds_something(answers):
    assert "net.py:5:21: warning: NPL199 nn.Dropout() drops half" in answers["found"]
    assert "NPL199" not in answers["ignored"]


def test_the_rule_passes_its_own_cases(answers):
    assert answers["valid"] == [""]
    assert all(found == expected for found, expected in answers["invalid"])


def test_the_page_in_the_docs_is_up_to_date():
    page = runpy.run_path(str(DOCS / "write_rules.py"))["page"]()
    written = (DOCS / "rules.md").read_text(encoding="utf-8")
    assert page == written, "next: python docs/write_rules.py > docs/rules.md"
