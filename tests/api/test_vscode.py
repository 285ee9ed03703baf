"""The extension for VS Code: its problem matcher, and, built by npm, all that it is made of."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

EXTENSION = Path(__file__).resolve().parents[2] / "editors" / "vscode"
MANIFEST = json.loads((EXTENSION / "package.json").read_text("utf-8"))


def test_the_problem_matcher_reads_what_is_printed(nparam_lint, project):
    (matcher,) = MANIFEST["contributes"]["problemMatchers"]
    line = re.compile(matcher["pattern"]["regexp"])
    done = nparam_lint("--format", "concise", cwd=project("drift"))
    found = [line.fullmatch(text) for text in done.stdout.splitlines()]
    assert all(found)
    assert {one[matcher["pattern"]["code"]] for one in found} >= {"NPL001"}
    assert {one[matcher["pattern"]["file"]] for one in found} >= {"model.py"}


def test_the_packages_it_is_built_from_are_locked_without_a_place():
    lock = json.loads((EXTENSION / "package-lock.json").read_text("utf-8"))
    packages = [one for name, one in lock["packages"].items() if name]
    assert packages
    assert not [one for one in packages if "resolved" in one]
    assert all(one.get("integrity") or one.get("inBundle") for one in packages)


@pytest.mark.thorough
@pytest.mark.skipif(not shutil.which("npm"), reason="there is no npm")
def test_the_extension_is_built_tested_and_packed(tmp_path):
    left_out = shutil.ignore_patterns("node_modules", "dist")
    copy = shutil.copytree(EXTENSION, tmp_path / "vscode", ignore=left_out)
    for step in (["ci"], ["run", "build"], ["test"], ["run", "package", "--", "1.2.3"]):
        done = subprocess.run(
            ["npm", *step], cwd=copy, capture_output=True, encoding="utf-8", check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert (copy / "dist" / "nparam-lint.vsix").stat().st_size < 300_000
