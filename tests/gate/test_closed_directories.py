"""What may not be read is named, and never ends in a traceback. Root may read everything, so that
its right to is taken off."""

import os
import subprocess
import sys

import pytest

RIGHTS = "-dac_override,-dac_read_search"
AS_OTHERS = ["setpriv", f"--bounding-set={RIGHTS}", f"--inh-caps={RIGHTS}"]


@pytest.fixture(scope="module")
def run(tmp_path_factory, environ):
    """Runs a command in a project without git: `closed/` may not be entered, `listed/` may not be
    read from, and in `entered/` nothing may be looked for."""
    if sys.platform != "linux":
        pytest.skip("rights are taken off with Linux's setpriv")
    root = tmp_path_factory.mktemp("project")
    for place in ("closed/deep", "listed", "entered", "open"):
        (root / place).mkdir(parents=True)
        (root / place / "a.py").write_text("x = 1\n")
    modes = {"closed": 0, "listed": 0o444, "entered": 0o111}
    for name, mode in modes.items():
        (root / name).chmod(mode)

    start = [*(AS_OTHERS if os.geteuid() == 0 else ()), sys.executable, "-m", "nparam_lint"]

    def run(*arguments):
        return subprocess.run(
            [*start, *arguments],
            cwd=root,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    yield run
    for name in modes:
        (root / name).chmod(0o755)


@pytest.mark.parametrize("how", ["--static", "--declared"])
def test_what_is_closed_is_named_and_left_out(run, how):
    done = run(how, "--format", "concise")
    assert done.stdout.splitlines() == [
        "closed/:1:1: warning: NPL003 cannot be read: Permission denied",
        "entered/:1:1: warning: NPL003 cannot be read: Permission denied",
        "listed/a.py:1:1: error: NPL003 cannot be read: Permission denied",
    ]
    assert (done.returncode, done.stderr) == (1, "")


PATHS = ["closed", "closed/deep", "closed/a.py", "listed", "listed/a.py", "entered"]
COMMANDS = [
    *(("--static", path) for path in PATHS),
    ("show", "closed/a.py::Net"),
    ("--config", "closed/nparam-lint.toml"),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_asked_about_and_closed_is_an_error_in_words(run, command):
    done = run(*command)
    assert done.returncode == 2
    assert "Permission denied" in done.stderr
    assert "Traceback" not in done.stderr
