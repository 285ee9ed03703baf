"""Temporary directories that are gone in the end, whenever the end comes.

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

_made: set[str] = set()


def make(prefix: str) -> str:
    """A new directory, which the caller has to `remove`."""
    while True:
        name = os.path.join(tempfile.gettempdir(), prefix + os.urandom(8).hex())  # noqa: PTH118
        _made.add(name)
        try:
            os.mkdir(name, 0o700)  # noqa: PTH102
        except FileExistsError:
            _made.discard(name)
            continue
        return name


def remove(name: str) -> None:
    """Remove a directory made here, with all that is in it."""
    shutil.rmtree(name, ignore_errors=True)
    _made.discard(name)


@contextmanager
def directory(prefix: str) -> Iterator[str]:
    """A directory for as long as the context lasts."""
    name = make(prefix)
    try:
        yield name
    finally:
        remove(name)


def remove_all() -> None:
    """What an interruption has left behind."""
    for name in list(_made):
        remove(name)
