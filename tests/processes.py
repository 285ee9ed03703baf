"""What tests of processes share: a worker, to wait until something can be seen, and to find what is
left."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest

from nparam_lint.count import worker_process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")


@contextmanager
def waiting_worker(*, imports: bool) -> Iterator[None]:
    """As `reused_worker`, but the worker goes on waiting: the next tests that need such a one take
    it, and it ends where they need another. Who uses this sees to the last end."""
    # One that keeps imports knows of the time before: nothing would be remembered of files that
    # were made since.
    if not imports and any(worker.keeps_imports == -1 for worker in worker_process._waiting):
        worker_process.end_waiting()
    worker_process._reuses.append(-1 if imports else 0)  # one for all of them
    try:
        yield
    finally:
        worker_process._reuses.pop()


def wait_until(condition: Callable[[], T], seconds: float = 60) -> T:
    """What `condition` gives as soon as that is true. Raises AssertionError where it never is."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"it did not happen within {seconds} s"
        time.sleep(0.01)
    return found


def without_progress(errors: str) -> list[str]:
    """The lines of standard error but those that tell how far a run is that takes long."""
    progress = re.compile(r"nparam-lint: (counting \d+/\d+  .*|.*…(  \d+ s)?)")
    return [line for line in errors.splitlines() if not progress.fullmatch(line)]


def reading(pipe: Path) -> str:
    """A statement for a model that waits until something is written to a named pipe."""
    return f"while not open({str(pipe)!r}).read(): pass"


def has_reader(pipe: Path, text: bytes = b"") -> bool:
    """Whether somebody waits there now. He is given the text; of an empty one, he reads again."""
    try:
        end = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        os.write(end, text)
    except BrokenPipeError:  # he has gone meanwhile
        return False
    finally:
        os.close(end)
    return True


def marked(marker: str) -> dict[int, str]:
    """The processes with `marker` in their environment: their names by number."""
    found = {}
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            if marker.encode() in (directory / "environ").read_bytes():
                found[int(directory.name)] = (directory / "comm").read_text().strip()
        except OSError:  # it has just ended
            continue
    return found


def on_small_disk(folder: Path) -> tuple[str, ...]:
    """What a command begins with, so that a disk of 64 kB is at `folder` for it alone; skips the
    test where that cannot be had."""
    mount = 'mount -t tmpfs -o size=64k none "$0" && exec "$@"'
    prefix = ("unshare", "-rm", "sh", "-c", mount, str(folder))
    if (
        not shutil.which("unshare")
        or subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("no small disk can be mounted here")
    return prefix
