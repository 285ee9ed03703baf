"""What may not be read is named, and never ends in a traceback. Root may read everything, so that
its right to is taken off."""

import json
import os
import subprocess
import sys

import pytest

RIGHTS = "-dac_override,-dac_read_search"
AS_OTHERS = ["setpriv", f"--bounding-set={RIGHTS}", f"--inh-caps={RIGHTS}"]
# Runs one command after the other, in a process that has no such rights.
RUN = """
import contextlib, io, json, sys
from nparam_lint.cli.main import main
for command in json.loads(sys.argv.pop()):
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2)]
    sys.argv[1:] = command
    with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
        code = main()
    for stream in streams:
        stream.flush()
    print(json.dumps([code, *(stream.buffer.getvalue().decode() for stream in streams)]))
"""
PATHS = ["closed", "closed/deep", "closed/a.py", "listed", "listed/a.py", "entered"]
ASKED = [
    *(("--static", path) for path in PATHS),
    ("show", "closed/a.py::Net"),
    ("--config", "closed/nparam-lint.toml"),
]


def test_what_is_closed_is_named_and_left_out(tmp_path, environ):
    """In a project without git: `closed/` may not be entered, `listed/` may not be read from, and
    in `entered/` nothing may be looked for."""
    if sys.platform != "linux":
        pytest.skip("rights are taken off with Linux's setpriv")
    for place in ("closed/deep", "listed", "entered", "open"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "a.py").write_text("x = 1\n")
    modes = {"closed": 0, "listed": 0o444, "entered": 0o111}
    for name, mode in modes.items():
        (tmp_path / name).chmod(mode)
    commands = [*((how, "--format", "concise") for how in ("--static", "--declared")), *ASKED]
    start = [*(AS_OTHERS if os.geteuid() == 0 else ()), sys.executable, "-c", RUN]
    try:
        done = subprocess.run(
            [*start, json.dumps(commands)],
            cwd=tmp_path,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        for name in modes:
            (tmp_path / name).chmod(0o755)
    assert done.returncode == 0, done.stderr
    static, declared, *asked = map(json.loads, done.stdout.splitlines())
    named = (
        "closed/:1:1: warning: NPL003 cannot be read: Permission denied\n"
        "entered/:1:1: warning: NPL003 cannot be read: Permission denied\n"
        "listed/a.py:1:1: error: NPL003 cannot be read: Permission denied\n"
    )
    assert static == declared == [1, named, ""]
    for command, (code, _, errors) in zip(ASKED, asked, strict=True):
        assert code == 2, command
        assert "Permission denied" in errors
        assert "Traceback" not in errors
