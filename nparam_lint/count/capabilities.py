"""What the worker can count and build on, for those who never load it: metrics and devices.

Each is added in one place: a row of the worker's table of metrics, which needs no torch and is the
one file of the worker that is imported here; a file among its devices, of which only the name is
read.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from nparam_lint.count.worker.metrics import METRICS, Metric

__all__ = ["AUTO", "LADDER", "METRICS", "Metric", "device_names", "is_accelerator", "is_present"]

_DEVICES = Path(__file__).parent / "worker" / "building" / "devices"
AUTO = "auto"  # meta, then what says of itself that it is tried where it is there
LADDER = ("meta", "cpu")  # where models are counted; always there


@cache
def device_names() -> tuple[str, ...]:
    """What `--device` allows."""
    names = sorted(path.stem for path in _DEVICES.glob("[!_]*.py"))
    return (AUTO, *LADDER, *(name for name in names if name not in LADDER))


def is_accelerator(name: str) -> bool:
    """Whether a device in a result (`cuda`, or `cuda:0` where it is there) may be missing."""
    return name.partition(":")[0] not in LADDER


def is_present(name: str) -> bool:
    """Whether a device in a result is there: it then has the name that torch has for it."""
    return ":" in name
