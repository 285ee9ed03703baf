"""The configurations of a sweep, one after the other; never all of them at once."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nparam_lint.analysis.closed_forms.observations import Point, Value


class Grid(Struct, frozen=True):
    """All combinations of the `values` of some arguments; the last argument changes first."""

    values: Mapping[str, Sequence[Value]]

    def __iter__(self) -> Iterator[Point]:
        for row in _combinations([*self.values.values()]):
            yield dict(zip(self.values, row, strict=True))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.values)

    @property
    def count(self) -> int:
        return prod(map(len, self.values.values()))


def _combinations(columns: Sequence[Sequence[Value]]) -> Iterator[tuple[Value, ...]]:
    """As `itertools.product`, which keeps every value of a range in memory."""
    if not columns:
        yield ()
        return
    for value in columns[0]:
        for row in _combinations(columns[1:]):
            yield (value, *row)
