"""The machine and the software, in words: no names of hosts, no paths."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from nparam_lint.ground.version import __version__

if TYPE_CHECKING:
    from speed.measure import Bench

_PACKAGES = ("torch", "timm", "transformers", "pytest", "torchinfo", "fvcore")
_VERSIONS = """\
import importlib.metadata as m, platform, sys
found = []
for name in sys.argv[1:]:
    try:
        found.append(f"{name} {m.version(name)}")
    except m.PackageNotFoundError:
        found.append(f"no {name}")
print(f"Python {platform.python_version()}, " + ", ".join(found))
"""


def describe(bench: Bench, load_before: str) -> list[str]:
    """Lines on the hardware, both interpreters, git and the load. `load_before`: at the start."""
    theirs = bench.run([bench.python, "-c", _VERSIONS, *_PACKAGES], bench.scratch).out.strip()
    git = bench.run(["git", "--version"], bench.scratch).out.strip()
    return [
        f"machine: {_cores()} cores ({platform.machine()}), {_memory()}, {platform.system()}",
        f"nparam-lint {__version__} ({_commit()}) on Python {platform.python_version()}; {git}",
        f"models: {theirs}",
        f"load of the machine (1, 5, 15 minutes): {load_before} before, {load()} after",
    ]


def load() -> str:
    return ", ".join(f"{value:.1f}" for value in os.getloadavg())


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory() -> str:
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GB of memory"


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty=, with changes"]
    done = subprocess.run(
        command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "no commit"
