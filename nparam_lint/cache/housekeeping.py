"""Keeps the cache directory small, and removes it."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from nparam_lint.cache.store import TAG, VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

_LIMIT = 512 << 20  # bytes of all projects together; beyond it what was used longest ago goes


def entries(base: str) -> Iterator[os.DirEntry[str]]:
    """Every file that is kept below the cache directory, and those that were never finished."""
    top = os.path.join(base, VERSION)
    if not os.path.isfile(os.path.join(top, TAG)):
        return  # a directory of somebody else's
    with suppress(OSError), os.scandir(top) as projects:
        for project in projects:
            if project.is_dir(follow_symlinks=False):
                with suppress(OSError), os.scandir(project.path) as files:
                    yield from files


def trim(base: str, limit: int = _LIMIT) -> None:
    """Remove what was used longest ago, until less than three quarters of `limit` bytes are left;
    nothing as long as there is less than `limit`."""
    found = []
    for entry in entries(base):
        with suppress(OSError):
            state = entry.stat(follow_symlinks=False)
            found.append((state.st_mtime, state.st_size, entry.path))
    size = sum(item[1] for item in found)
    if size <= limit:
        return
    for _, own, path in sorted(found):
        if size <= limit * 3 // 4:
            break
        with suppress(OSError):
            os.unlink(path)
            size -= own


def clean(base: str) -> tuple[int, int]:
    """Remove all that is kept; returns how many files, and their bytes. What else lies in the
    directory stays."""
    files, size = 0, 0
    for entry in list(entries(base)):
        with suppress(OSError):
            own = entry.stat(follow_symlinks=False).st_size
            os.unlink(entry.path)
            files, size = files + 1, size + own
    top = os.path.join(base, VERSION)
    if os.path.isfile(os.path.join(top, TAG)):
        with suppress(OSError):
            for project in os.listdir(top):
                with suppress(OSError):
                    os.rmdir(os.path.join(top, project))
            os.unlink(os.path.join(top, TAG))
            os.rmdir(top)
            os.rmdir(base)
    return files, size
