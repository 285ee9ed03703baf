"""What runs on another machine: the worker, with one group of orders.

`run_group` is called by its name, with what `remote_run.py` sends, and returns Python's own types
alone, so that another version of this package can be told from what it answers.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nparam_lint.config.interpreter import Interpreter, named_interpreter
from nparam_lint.config.session import Session
from nparam_lint.config.settings import Settings
from nparam_lint.count.bundle import unpacked
from nparam_lint.count.run import worker_settings
from nparam_lint.count.worker_process import CannotStart, reused_worker, running
from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.version import __version__
from nparam_lint.repository.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable

LINGER = 5.0  # seconds that a worker waits for the next group, since importing torch takes long
NAME = f"{__name__}:run_group"
_VERSIONS = """
import json, platform
from importlib.metadata import PackageNotFoundError, version
try:
    torch = version("torch")
except PackageNotFoundError:
    torch = None
print(json.dumps([platform.python_version(), torch]))
"""


@cache
def describe(name: str | None) -> dict[str, str | None]:
    """This machine: its name, the version of nparam-lint, the interpreter that builds models, and
    the versions of Python and torch there; `fault`: why these cannot be found out. `name`: that of
    the interpreter, if the user has named one."""
    facts: dict[str, str | None] = {
        "host": platform.node(),
        "nparam_lint": __version__,
        "interpreter": None,
        "python": None,
        "torch": None,
        "fault": None if os.name == "posix" else "it runs Windows; next: use Linux or macOS",
    }
    name = name or os.environ.get("NPARAM_LINT_PYTHON") or sys.executable
    try:
        facts["interpreter"] = python = named_interpreter(name, Path.home(), "on that machine")
        command = [python, "-c", _VERSIONS]
        process = subprocess.run(command, capture_output=True, check=True, timeout=60, cwd="/")
        facts["python"], facts["torch"] = json.loads(process.stdout)
    except (UsageError, OSError, ValueError, subprocess.SubprocessError) as error:
        facts["fault"] = facts["fault"] or str(error)
    return facts


def run_group(request: dict[str, Any], bundle: bytes) -> dict[str, Any]:
    """Build one group of orders. `bundle`: the project.

    Returns the worker's frames and why they end, or the `fault` that kept it from its work; the
    `facts` about the machine, `where` in the engine's words it is, and the `seconds` it took."""
    engine = import_module(f"nparam_lint.count.engines.{request['engine']}")
    start = time.monotonic()
    facts = describe(request["python"])
    answer: dict[str, Any] = {"where": engine.here(), "facts": facts, "fault": facts["fault"]}
    if answer["fault"] is None:
        try:
            with unpacked(bundle, request["inside"]) as place:
                answer |= _built(request, str(facts["interpreter"]), place, engine.is_wanted)
        except (OSError, CannotStart) as error:
            answer["fault"] = str(error)
            if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
                disk = tempfile.gettempdir()
                answer["fault"] = (
                    f"the disk of {disk} is full: {shutil.disk_usage(disk).free >> 10:,} KB are "
                    f"free, and the project takes {len(bundle) >> 10:,} KB packed; next: make room "
                    "there, or set TMPDIR for its worker"
                )
    return answer | {"seconds": time.monotonic() - start}


def _built(
    request: dict[str, Any], python: str, place: Path, is_wanted: Callable[[], bool]
) -> dict[str, Any]:
    snapshot = None
    if request["copied"] is not None:
        home, untracked = request["copied"]
        top = place / request["inside"].partition("/")[0]
        snapshot = Snapshot(top, Path(home), (), (), untracked=tuple(untracked))
    session = Session(
        Settings(place / request["inside"], **request["limits"]),
        {**os.environ, **request["environ"]},
        snapshot,
        interpreter=Interpreter(python, "on that machine"),
    )
    names = frozenset(request["names"])
    # In texts the project is where its user has it.
    here, original = (
        json.dumps(path)[1:-1].encode()
        for path in (os.path.realpath(session.root), request["root"])
    )
    frames: list[tuple[dict[str, Any], bytes]] = []
    with (
        reused_worker(imports=False, linger=LINGER),
        running(python, session.environ) as worker,
    ):
        settings = worker_settings(session, names, worker)
        worker.send({"settings": settings, "orders": request["orders"], "probe": False})
        for frame, body in worker.frames():
            if not is_wanted():
                break
            if frame.get("event") in ("alive", "building"):
                continue
            frames.append((frame, body.replace(here, original)))
            if frame.get("event") in ("end", "no torch"):
                break
        else:
            return {"frames": frames, "ended": worker.why_it_ended()}
    return {"frames": frames, "ended": ("died", "nobody waits for it any more")}
