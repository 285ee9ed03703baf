"""Named sizes: the keys of a table that a factory looks its arguments up in."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.discover.ways import FoundWay, WaySource


def find_sizes(_: WaySource) -> Iterator[FoundWay]:
    """The ways of this kind."""
    yield from ()
