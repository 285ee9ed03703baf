"""What tests of other machines share: a scheduler and workers of Dask, each a program of its own,
and projects whose models take as long as a test wants."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NET = """\
from torch import nn


class {name}(nn.Linear):
    \"\"\"nparam: {count}\"\"\"

    def __init__(self):
        {first}
        super().__init__({size}, 1)
"""


class DaskPrograms:
    """`dask scheduler`, and `dask worker` as often as wanted."""

    def __init__(self, place: Path, environ: Mapping[str, str]) -> None:
        self.place, self.environ = place, {**environ, "PYTHONUNBUFFERED": "1"}
        self.dask = str(Path(sys.executable).with_name("dask"))
        self.workers: dict[str, subprocess.Popen[bytes]] = {}
        file = place / "scheduler.json"
        options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show")
        self.scheduler = self._start("scheduler", "scheduler", *options, scheduler_file=file)
        self.tcp = wait_until(lambda: file.exists() and _address(file))
        self.address = self.tcp.replace("tcp://", "dask://")

    def add_worker(
        self, name: str, prefix: Sequence[str] = (), threads: int = 1, **environ: str
    ) -> None:
        """A worker that has begun to work. It has no nanny, which would start it again."""
        options = ("--no-nanny", "--no-dashboard", "--nthreads", str(threads), "--name", name)
        local = ("--local-directory", str(self.place))
        started = self._start(
            name, "worker", self.tcp, *options, *local, prefix=prefix, environ=environ
        )
        self.workers[name] = started
        wait_until(lambda: b"Starting established connection" in self.log(name))

    def log(self, name: str) -> bytes:
        return (self.place / f"{name}.log").read_bytes()

    def kill(self, name: str) -> None:
        self.workers[name].send_signal(signal.SIGKILL)
        self.workers[name].wait()

    def end(self) -> None:
        for process in (*self.workers.values(), self.scheduler):
            process.send_signal(signal.SIGKILL)
            process.wait()

    def _start(
        self,
        name: str,
        *command: str,
        scheduler_file: Path | None = None,
        prefix: Sequence[str] = (),
        environ: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[bytes]:
        more = ("--scheduler-file", str(scheduler_file)) if scheduler_file else ()
        with (self.place / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                [*prefix, self.dask, *command, *more],
                env={**self.environ, **(environ or {})},
                cwd=self.place,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )


def _address(file: Path) -> str:
    try:
        return str(json.loads(file.read_text())["address"])
    except ValueError:  # it is being written
        return ""


def write_nets(root: Path, many: int, **first: str) -> None:
    """A project with one model in each file; `first`: what the constructor of some does before
    anything else."""
    root.mkdir(parents=True)
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    for number in range(many):
        name = f"Net{number}"
        text = NET.format(
            name=name, count=number + 2, size=number + 1, first=first.get(name, "pass")
        )
        (root / f"net{number}.py").write_text(text)


def comparable(text: str) -> object:
    """A JSON report without times, and without who built the models."""

    def without(value: object) -> object:
        if isinstance(value, dict):
            left = {k: v for k, v in value.items() if k not in ("seconds", "cached")}
            return {k: without(v) for k, v in left.items()}
        return [without(one) for one in value] if isinstance(value, list) else value

    document = json.loads(text)
    for key in ("python", "reason"):
        del document["environment"][key]
    return without(document)


def environment_with(place: Path, **packages: str) -> str:
    """A virtual environment in which packages seem to be installed, in these versions."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    (site,) = place.glob("lib/python*/site-packages")
    for name, version in packages.items():
        folder = site / f"{name}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
    return os.fspath(place)
