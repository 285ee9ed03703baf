"""Ended at any moment, it leaves the user's files and index as they were, to the byte."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from commits import model
from processes import has_reader, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from sample_repository import Sample

pytestmark = pytest.mark.skipif(os.name != "posix", reason="there are no such signals")

NEVER = 60.0  # seconds, which nobody waits for


@pytest.fixture
def waiting(tmp_path: Path) -> Path:
    """A named pipe that the constructor of a model reads: it is built until somebody writes."""
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def slow(pipe: Path) -> str:
    return model(10, 110).replace(
        "        super()", f"        open({str(pipe)!r}).read()\n        super()"
    )


def started(sample: Sample, *command: str) -> subprocess.Popen[bytes]:
    nowhere = subprocess.DEVNULL
    return subprocess.Popen(
        command,
        cwd=sample.path,
        env=sample.environ,
        stdin=nowhere,
        stdout=nowhere,
        stderr=nowhere,
        start_new_session=True,
    )


def release(pipe: Path) -> bool:
    wait_until(lambda: has_reader(pipe))
    return pipe.write_text("go on") > 0


# What can be seen in the directory for temporary files, or at the pipe.
MOMENTS: dict[str, Callable[[Path, Path], bool]] = {
    "starts": lambda *_: True,
    "exports": lambda temporary, _: any(temporary.glob("nparam-lint-copy-*")),
    "imports torch": lambda temporary, _: any(temporary.glob(f"nparam-lint-{'?' * 16}")),
    "builds": lambda _, pipe: has_reader(pipe),
    "cleans up": lambda _, pipe: release(pipe),
}


@pytest.mark.first_cases(1)
@pytest.mark.parametrize(
    ("command", "name", "moments"),
    [
        ("--declared --staged", "SIGTERM", ["builds"]),
        *(("--declared --staged", name, MOMENTS) for name in ("SIGTERM", "SIGKILL", "SIGINT")),
        *(("diff HEAD --device meta", name, ["builds"]) for name in ("SIGTERM", "SIGKILL")),
    ],
    ids=lambda value: value if isinstance(value, str) else ", ".join(value),
)
def test_nothing_of_the_users_is_touched_however_it_ends(
    repository, waiting, command, name, moments
):
    net = slow(waiting)
    sample = repository({"net.py": net, **{f"pkg/file_{i}.py": "x = 1\n" for i in range(500)}})
    sample.add({"net.py": net + "# staged\n"})
    sample.write({"net.py": net + "# not staged\n", "new.py": ""})
    os.utime(sample.path / "pkg/file_7.py", (1, 1))  # git would like to refresh this one
    temporary = Path(sample.environ["TMPDIR"])
    before = sample.state()
    for moment in moments:
        process = started(sample, sys.executable, "-m", "nparam_lint", *command.split())
        wait_until(lambda: MOMENTS[moment](temporary, waiting))  # noqa: B023
        process.send_signal(getattr(signal, name))
        ended = process.wait(timeout=NEVER)
        assert ended or moment == "cleans up"
        assert sample.state() == before
        left = [*temporary.iterdir()]
        if name != "SIGKILL":
            assert left == []
        for path in left:
            shutil.rmtree(path)


@pytest.mark.thorough
def test_a_hook_that_is_ended_leaves_the_commit_undone_and_what_is_staged_as_it_was(
    hooked, waiting
):
    net = slow(waiting)
    sample = hooked({"net.py": net})
    sample.add({"net.py": net + "# staged\n"})
    sample.write({"net.py": net + "# not staged\n", "new.py": ""})

    def users() -> list[object]:
        questions = (("ls-files", "--stage"), ("diff",), ("status", "--porcelain"), ("log",))
        files = {k: v for k, v in sample.state().items() if not k.startswith(".git")}
        return [files, *(sample.git(*question) for question in questions)]

    before = users()
    process = started(sample, "git", "commit", "--quiet", "-m", "change")
    wait_until(lambda: has_reader(waiting))
    os.killpg(process.pid, signal.SIGINT)  # as the terminal does it for Ctrl-C
    assert process.wait(timeout=NEVER) != 0
    assert users() == before
