"""Calls of models in scripts, tests and texts, with arguments that the source says."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.discover.ways import FoundWay, WaySource


def find_calls(_: WaySource) -> Iterator[FoundWay]:
    """The ways of this kind."""
    yield from ()
