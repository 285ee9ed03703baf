"""Temporary directories, which are gone after the run.

A signal may arrive between the making of a directory and the `try` that removes it, or while it is
removed; what is known by name before it is made can be removed on the way out.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_directories: set[str] = set()


def make_directory(prefix: str) -> str:
    """A new temporary directory, which the caller has to remove."""
    name = os.path.join(tempfile.gettempdir(), prefix + os.urandom(8).hex())
    _directories.add(name)
    os.mkdir(name, 0o700)
    return name


def remove_directory(name: str) -> None:
    """Remove a temporary directory made here, with all that is in it."""
    shutil.rmtree(name, ignore_errors=True)
    _directories.discard(name)


@contextmanager
def temporary_directory(prefix: str) -> Iterator[str]:
    """A directory for as long as the context lasts."""
    name = make_directory(prefix)
    try:
        yield name
    finally:
        remove_directory(name)


def remove_all() -> None:
    """Remove the directories that an interruption has left behind."""
    for name in list(_directories):
        remove_directory(name)
