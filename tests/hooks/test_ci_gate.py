"""hooks/ci-gate: what it asks for in which system, and its exit code."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from commits import UNREADABLE, model
from pages import PageRun, pages

GATE = Path(__file__).resolve().parents[2] / "hooks/ci-gate"


def test_what_it_asks_for(tmp_path, environ, nparam_lint, request):
    """Of the system that runs this test nothing is known, and of programs that it may call."""
    systems = ("GITHUB", "GITLAB", "CI")
    clean = {key: value for key, value in environ.items() if not key.startswith(systems)}
    tools = tmp_path / "tools"
    run = PageRun(tmp_path / "page", clean | {"PATH": str(tools)}, nparam_lint)
    tools.mkdir()
    (tools / "ci-gate").symlink_to(GATE)
    for name in ("sh", "chmod", "mv", "rm"):
        (tools / name).symlink_to(shutil.which(name))
    run.hold(pages(__file__)["ci_gate"], request.config)


def test_a_real_run(repository):
    sample = repository({"net.py": model(10, 110)})
    sample.committed({"net.py": model(20, UNREADABLE)})
    environ = sample.environ | {"PATH": f"{Path(sys.executable).parent}:{sample.environ['PATH']}"}

    def run(**more: str):
        streams = {"capture_output": True, "encoding": "utf-8"}
        return subprocess.run([GATE], cwd=sample.path, env=environ | more, check=False, **streams)

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
