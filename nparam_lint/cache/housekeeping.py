"""Keeps the cache directory below its size limit, and deletes it for `nparam-lint clean`."""

from __future__ import annotations

import errno
import os
import re
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct, field

from nparam_lint.cache.store import DAY, PARTIAL, TAG, is_tagged
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Callable

    from nparam_lint.cache.store import Store

LIMIT = 512_000_000  # bytes on the disk, of all projects together
_TRIAL = "trial"  # an entry's name
_BLOCK = 4096  # bytes; what a small file takes on most disks
# Of every layout: another version's entries are removed here only, and count as well.
_TOP = late_pattern(r"v\d+")
_UNFINISHED_TOP = late_pattern(rf"v\d+\.[0-9a-f]{{16}}{re.escape(PARTIAL)}")
_PROJECT = late_pattern(r"[0-9a-f]{32}")


class CacheFile(Struct, frozen=True):
    """A file that is kept, or was never finished. `size`: bytes on the disk; `used`: when it was
    last, in seconds of the system's clock."""

    path: str
    size: int
    used: float


class Inventory(Struct, frozen=True):
    """What lies below a cache directory and is ours: `files`; the directories that they lie in, and
    those that would have become one if their maker had not been killed. `faults`: what could not
    be looked at, and why."""

    files: list[CacheFile] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Bytes on the disk."""
        return sum(entry.size for entry in self.files)


def survey(base: str) -> Inventory:
    """Everything that is kept below the cache directory, for all projects. Other files there are
    ignored: the directory may be used for other things, too."""
    inventory = Inventory()
    projects: list[str] = []
    for top in _listed(base, inventory):
        if not top.is_dir(follow_symlinks=False):
            continue
        if _UNFINISHED_TOP.fullmatch(top.name):
            inventory.folders.append(top.path)
        elif _TOP.fullmatch(top.name) and is_tagged(top.path):
            for project in _listed(top.path, inventory):
                if _PROJECT.fullmatch(project.name) and project.is_dir(follow_symlinks=False):
                    projects.append(project.path)
    inventory.folders.extend(projects)
    for entry in (entry for project in projects for entry in _listed(project, inventory)):
        if entry.is_dir(follow_symlinks=False):
            inventory.faults.append(f"{entry.path}: a directory, which nparam-lint did not make")
            continue
        with suppress(FileNotFoundError):
            state = entry.stat(follow_symlinks=False)
            size = -(-state.st_size // _BLOCK) * _BLOCK
            inventory.files.append(CacheFile(entry.path, size, state.st_mtime))
    return inventory


def _listed(folder: str, inventory: Inventory) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        inventory.faults.append(f"{folder}: {error.strerror}")
        return []


def trouble(store: Store) -> str | None:
    """Why nothing can be kept, found by trying; None if it can."""
    if not store.save(_TRIAL, b""):
        return store.trouble
    with suppress(OSError):
        os.unlink(os.path.join(store.folder, _TRIAL))
    return None


def trim(base: str, limit: int = LIMIT) -> None:
    """Remove what killed runs left a day ago or earlier; and, where there is more than `limit`
    bytes, what was used longest ago, until no more than three quarters of it are left."""
    inventory, yesterday = survey(base), time.time() - DAY
    size = inventory.size
    goal = limit * 3 // 4 if size > limit else limit
    for entry in sorted(inventory.files, key=lambda entry: entry.used):
        left_over = entry.path.endswith(PARTIAL) and entry.used < yesterday
        if left_over or size > goal:
            with suppress(OSError):
                with suppress(FileNotFoundError):  # by another run that trims
                    os.unlink(entry.path)
                size -= entry.size
    for folder in inventory.folders:
        with suppress(OSError):  # it is not empty, as a rule
            if os.stat(folder).st_mtime < yesterday:
                _remove_folder(folder)


def clean(base: str) -> Inventory:
    """Remove everything that is kept; returns what was removed, and in `faults` what could not be.
    The cache directory itself stays, with its tag: a run at the same time may be about to use
    it."""
    inventory = survey(base)
    faults = inventory.faults
    files = [file for file in inventory.files if _is_removed(file.path, os.unlink, faults)]
    folders = [path for path in inventory.folders if _is_removed(path, _remove_folder, faults)]
    return Inventory(files, folders, faults)


def _remove_folder(path: str) -> None:
    """Remove a directory that nothing is left in, but for the tag of one that is unfinished."""
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(path, TAG))
    os.rmdir(path)


def _is_removed(path: str, remove: Callable[[str], None], faults: list[str]) -> bool:
    """Try to remove what is there. Where that fails it is a fault, unless another process did it,
    or has just put something there."""
    try:
        remove(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        fault = f"{path}: {error.strerror}"
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST) and fault not in faults:
            faults.append(fault)
        return False
    return True
