"""The devices that models can be built on: those that the worker has a file for.

Only the names of the files are read here; what they hold needs torch.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent / "worker" / "building" / "devices"
AUTO = "auto"  # meta, then what says of itself that it is tried where it is there
LADDER = ("meta", "cpu")  # where models are counted; always there


@cache
def device_names() -> tuple[str, ...]:
    """What `--device` allows."""
    names = sorted(path.stem for path in _FOLDER.glob("[!_]*.py"))
    return (AUTO, *LADDER, *(name for name in names if name not in LADDER))


def is_accelerator(name: str) -> bool:
    """Whether a device in a result (`cuda`, or `cuda:0` where it is there) may be missing."""
    return name.partition(":")[0] not in LADDER


def is_present(name: str) -> bool:
    """Whether a device in a result is there: it then has the name that torch has for it."""
    return ":" in name
