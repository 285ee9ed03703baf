"""What this machine has."""

from __future__ import annotations

import os


def cores() -> int:
    """How many processes may work at a time here: a container may have fewer than its machine."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def default_memory() -> int:
    """Half of the machine's memory, in bytes; 0 (no limit) where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, OSError, ValueError):
        return 0
