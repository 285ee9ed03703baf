"""hooks/ci-gate: what it asks for in which system, and its exit code."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commits import UNREADABLE, model

GATE = Path(__file__).resolve().parents[2] / "hooks/ci-gate"
# Says how it was called, and exits with CHECK or DIFF.
RECORDER = """\
#!/bin/sh
for word in "$@"; do printf '<%s>' "$word"; done
echo
if [ "$1" = diff ]; then exit "${DIFF:-0}"; fi
exit "${CHECK:-0}"
"""


def gate(*arguments: str, env: dict[str, str], cwd: Path = Path()):
    return subprocess.run(
        [GATE, *arguments], cwd=cwd, env=env, capture_output=True, encoding="utf-8", check=False
    )


@pytest.fixture
def recorded(tmp_path, environ):
    """Runs the gate with a program in place of nparam-lint that writes down its arguments."""
    (tmp_path / "nparam-lint").write_text(RECORDER)
    (tmp_path / "nparam-lint").chmod(0o755)
    path = f"{tmp_path}:{environ['PATH']}"
    names = ("GITHUB", "GITLAB", "CI")
    clean = {k: v for k, v in environ.items() if not k.startswith(names)}

    def run(*arguments: str, **more: str) -> tuple[int, list[str]]:
        done = gate(*arguments, env=clean | {"PATH": path} | more)
        assert done.stderr == ""
        return done.returncode, done.stdout.splitlines()

    return run


GITHUB = "<--declared><--format><github>"
GITLAB = "<--declared><--format><gitlab><--output-file><gl-code-quality-report.json>"


@pytest.mark.parametrize(
    ("variables", "calls"),
    [
        ("", ["<--declared>"]),
        ("GITHUB_ACTIONS=true", [GITHUB]),
        ("GITHUB_ACTIONS=true GITHUB_BASE_REF=main", [GITHUB, "<diff><origin/main...>"]),
        ("GITHUB_ACTIONS=true GITHUB_BASE_REF=", [GITHUB]),
        ("GITLAB_CI=true", [GITLAB]),
        ("GITLAB_CI=true CI_MERGE_REQUEST_DIFF_BASE_SHA=1a2b", [GITLAB, "<diff><1a2b>"]),
        ("NPARAM_LINT_BASE=v1 GITHUB_BASE_REF=main", ["<--declared>", "<diff><v1>"]),
        (
            "NPARAM_LINT_BASE=v1 NPARAM_LINT_DIFF_TOLERANCE=0.5%",
            ["<--declared>", "<diff><v1><--tolerance><0.5%>"],
        ),
    ],
)
def test_it_asks_for_what_the_system_can_show(recorded, variables, calls):
    assert recorded(**dict(pair.split("=") for pair in variables.split())) == (0, calls)


def test_paths_are_passed_on_and_the_worst_exit_code_is_its_own(recorded):
    calls = ["<--declared><nets><a b>", "<diff><v1><nets><a b>"]
    assert recorded("nets", "a b", NPARAM_LINT_BASE="v1") == (0, calls)
    for check, diff, worst in ((1, 0, 1), (0, 1, 1), (2, 1, 2), (1, 2, 2), (0, 2, 2)):
        code, calls = recorded(NPARAM_LINT_BASE="v1", CHECK=str(check), DIFF=str(diff))
        assert (code, len(calls)) == (worst, 2)


def test_a_report_that_several_projects_cannot_have_is_text(recorded):
    code, calls = recorded("a b", GITLAB_CI="true", CHECK="2")
    assert (code, calls) == (2, [f"{GITLAB}<a b>", "<--declared><a b>"])
    code, calls = recorded(GITLAB_CI="true", CHECK="1")
    assert (code, calls) == (1, [GITLAB])


def test_without_nparam_lint_it_says_so(tmp_path):
    (tmp_path / "sh").symlink_to(shutil.which("sh"))
    done = gate(env={"PATH": str(tmp_path)})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "ci-gate: nparam-lint is not on PATH; next: pip install nparam-lint\n"


def test_a_real_run(repository):
    sample = repository({"net.py": model(10, 110)})
    sample.committed({"net.py": model(20, UNREADABLE)})
    environ = sample.environ | {"PATH": f"{Path(sys.executable).parent}:{sample.environ['PATH']}"}

    def run(**more: str):
        return gate(cwd=sample.path, env=environ | more)

    done = run(GITLAB_CI="true")
    assert done.returncode == 1, done.stderr
    (issue,) = json.loads((sample.path / "gl-code-quality-report.json").read_text())
    assert issue["check_name"] == "NPL002"
    sample.committed({"net.py": "no = 'model'\n"})
    done = run(NPARAM_LINT_BASE="HEAD")
    assert done.returncode == 0, done.stdout + done.stderr
    done = run(NPARAM_LINT_BASE="gone")
    assert done.returncode == 2
    assert "there is no revision gone" in done.stderr.replace("'", "")
