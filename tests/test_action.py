"""The composite action and the workflows in the documentation: the steps that can run here, run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def action():
    return yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))


def examples():
    """The YAML of the pages, each with its first line as its name."""
    found = []
    for page in ("ci.md", "adopt.md"):
        text = (ROOT / "docs" / page).read_text("utf-8")
        blocks = re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        found += [pytest.param(block, id=f"{page}: {block.splitlines()[0]}") for block in blocks]
    return found


@pytest.mark.parametrize("text", examples())
def test_the_documentation_holds_valid_yaml(text):
    assert isinstance(yaml.safe_load(text), dict | list)


def test_workflows_that_run_foreign_code_have_no_secrets():
    measuring, commenting = (
        example.values[0] for example in examples() if "# .github/workflows/" in example.id
    )
    measure, comment = yaml.safe_load(measuring), yaml.safe_load(commenting)
    assert measure["permissions"] == {"contents": "read"}
    assert "secrets" not in measuring
    steps = comment["jobs"]["comment"]["steps"]
    assert not any("run" in step or "checkout" in step["uses"] for step in steps)
    (upload,) = [s for s in measure["jobs"]["measure"]["steps"] if "upload" in s.get("uses", "")]
    download = steps[0]
    assert upload["with"]["name"] == download["with"]["name"]
    assert measure["name"] in comment[True]["workflow_run"]["workflows"]  # YAML's `on` is true


def test_the_steps_of_the_action(action, tmp_path, environ, project):
    """As the runner would: with its variables, in a checkout, with nparam-lint on PATH."""
    root = project("drift")
    summary = tmp_path / "summary.md"
    (install, gate) = action["runs"]["steps"]
    assert install["run"] == 'python -m pip install --quiet "$GITHUB_ACTION_PATH"'
    variables = {"CHECKED": "", "NPARAM_LINT_BASE": "", "NPARAM_LINT_DIFF_TOLERANCE": ""}
    assert gate["env"].keys() == variables.keys()
    done = subprocess.run(
        ["bash", "-c", gate["run"]],
        cwd=root,
        env=environ
        | variables
        | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{environ['PATH']}",
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_ACTIONS": "true",
            "GITHUB_STEP_SUMMARY": str(summary),
        },
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout.count("::error file=") == 4
    assert "### ❌ nparam-lint: 4 budgets broken" in summary.read_text("utf-8")


def test_every_input_is_documented_and_used(action):
    page = (ROOT / "docs" / "ci.md").read_text("utf-8")
    text = (ROOT / "action.yml").read_text("utf-8")
    for name in action["inputs"]:
        assert f"| `{name}` |" in page
        assert f"${{{{ inputs.{name} }}}}" in text
