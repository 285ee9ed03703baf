"""All ways of all kinds, in the order in which they are tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nparam_lint.discover.syntax import rare_collection
from nparam_lint.discover.ways.calls import find_calls
from nparam_lint.discover.ways.configs import find_configs
from nparam_lint.discover.ways.sizes import find_sizes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.discover.ways import FoundWay, WaySource


def find_ways(source: WaySource) -> Iterator[FoundWay]:
    """Every way that the files of a project say, those of one target in the order in which they
    are to be tried."""
    with rare_collection():
        ways = [*find_configs(source), *find_sizes(source), *find_calls(source)]
    yield from sorted(ways, key=lambda found: found.rank)
