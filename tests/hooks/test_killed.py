"""Ended at any moment, it leaves the user's files and index as they were, to the byte."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commits import model

SLOW = model(10, 110).replace(
    "        super()", "        __import__('time').sleep(0.5)\n        super()"
)
NEVER = 60.0  # seconds, which nobody waits for


@pytest.fixture(scope="module")
def moments() -> list[float]:
    """Seconds after the start: while it starts, exports, imports torch, builds, cleans up."""
    return sorted(random.Random(7).uniform(0.02, 2.5) for _ in range(5))


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGKILL"])
@pytest.mark.skipif(os.name != "posix", reason="there are no such signals")
def test_nothing_of_the_users_is_touched_however_it_ends(repository, moments, name):
    sample = repository({"net.py": SLOW, **{f"pkg/file_{i}.py": "x = 1\n" for i in range(500)}})
    sample.add({"net.py": SLOW + "# staged\n"})
    sample.write({"net.py": SLOW + "# not staged\n", "new.py": ""})
    os.utime(sample.path / "pkg/file_7.py", (1, 1))  # git would like to refresh this one
    temporary = Path(sample.environ["TMPDIR"])
    before = sample.state()
    ended = []
    for moment in moments:
        process = subprocess.Popen(
            [sys.executable, "-m", "nparam_lint", "--declared", "--staged"],
            cwd=sample.path,
            env=sample.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(moment)
        process.send_signal(getattr(signal, name))
        ended.append(process.wait(timeout=NEVER))
        assert sample.state() == before
        if name != "SIGKILL":
            assert [path.name for path in temporary.iterdir()] == []
    assert set(ended) - {0}  # some were still running


def test_a_hook_that_is_ended_leaves_the_commit_undone_and_what_is_staged_as_it_was(hooked):
    sample = hooked({"net.py": SLOW})
    sample.add({"net.py": SLOW + "# staged\n"})
    sample.write({"net.py": SLOW + "# not staged\n", "new.py": ""})

    def users() -> list[object]:
        questions = (("ls-files", "--stage"), ("diff",), ("status", "--porcelain"), ("log",))
        files = {k: v for k, v in sample.state().items() if not k.startswith(".git")}
        return [files, *(sample.git(*question) for question in questions)]

    before = users()
    process = subprocess.Popen(
        ["git", "commit", "--quiet", "-m", "change"],
        cwd=sample.path,
        env=sample.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    time.sleep(0.7)
    os.killpg(process.pid, signal.SIGINT)  # as the terminal does it for Ctrl-C
    assert process.wait(timeout=NEVER) != 0
    assert users() == before
