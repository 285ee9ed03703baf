"""Less looking for garbage where there is none."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_NEW = 50_000  # objects; of one file's syntax tree there are more, so that it is seldom looked at


@contextmanager
def rare_collection() -> Iterator[None]:
    """Collect garbage seldom inside. A syntax tree has no cycles and goes by itself, but all of it
    is looked at again and again while it is made, which takes as long as making it."""
    before = gc.get_threshold()
    if 0 < before[0] < _NEW:
        gc.set_threshold(_NEW, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
