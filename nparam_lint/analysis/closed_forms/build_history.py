"""The models that were built so far. Forms share them, so that none is built twice."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nparam_lint.analysis.closed_forms.observations import Ask, Outcome, Point, Value, Variable


@dataclass(slots=True)
class Learned:
    """What the first form that was derived says about where to build for the next: values that
    each variable was built with, and those that may have others."""

    lines: dict[str, list[Value]] = field(default_factory=dict)
    free: set[str] = field(default_factory=set)


class BuildHistory:
    """Every point that was built so far, once. `base`: values of what a point does not name."""

    def __init__(self, ask: Ask, variables: Sequence[Variable]) -> None:
        self._ask = ask
        self._origin: dict[str, Value] = {v.name: v.base for v in variables}
        self._outcomes: dict[tuple[tuple[str, str], ...], Outcome] = {}
        self.base = self._origin
        self.learned = Learned()

    def case(self, values: Point) -> BuildHistory:
        """The same with another base. Both share what they build."""
        other = copy(self)
        other.base = {**self.base, **values}
        return other

    def build(self, points: Iterable[Point]) -> list[tuple[dict[str, Value], Outcome]]:
        """The points, completed by the base, each with its outcome; only new ones are built."""
        full = [{**self.base, **point} for point in points]
        new = {_key(point): point for point in full if _key(point) not in self._outcomes}
        if new:
            changed = [
                {name: value for name, value in p.items() if differs(value, self._origin[name])}
                for p in new.values()
            ]
            self._outcomes.update(zip(new, self._ask(changed), strict=True))
        return [(point, self._outcomes[_key(point)]) for point in full]


def differs(value: Value, other: Value) -> bool:
    """Whether two values are different, or of different types (`1` and `True`)."""
    return type(value) is not type(other) or value != other


def _key(point: Point) -> tuple[tuple[str, str], ...]:
    return tuple((name, repr(value)) for name, value in sorted(point.items()))
