"""Arguments that can be varied, and the models that were built with them.

A *point* gives every variable a value; a build at a point is `Built`, or `NotMeasured`: NPL004
where the constructor refused the values, NPL005 where the process died or took too long.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec import Struct

from nparam_lint.count.measured import NotMeasured
from nparam_lint.ground.values import NameValue

if TYPE_CHECKING:
    from nparam_lint.analysis.closed_forms.polynomial import Number
    from nparam_lint.count.measured import ParameterRow, VariableRow

Value = NameValue
Point = Mapping[str, Value]


class Variable(Struct, frozen=True):
    """An argument, or a field of a config object (`holder`: the argument that has the object).
    `base`: its value in the call that the target names. `choices`: all values that it may have,
    where it has no others (booleans, `Literal`, or as asked for)."""

    name: str
    base: Value
    holder: str = ""
    choices: tuple[Value, ...] = ()

    @property
    def is_number(self) -> bool:
        return isinstance(self.base, int | float) and not isinstance(self.base, bool)


def variable_of(row: VariableRow, values: tuple[Value, ...] = ()) -> Variable:
    """`values`: those that it may have, where they were asked for."""
    base = values[0] if values and row.value is None else row.value
    choices = (False, True) if isinstance(row.value, bool) else row.choices
    return Variable(row.name, base, row.holder, values or choices)


class Built(Struct, frozen=True):
    """A model: its parameters. `call`: as written; `weights`: what is counted of one element of
    each; nothing where that is 1."""

    tensors: tuple[ParameterRow, ...]
    call: str = ""
    weights: tuple[Number, ...] = ()

    @property
    def sizes(self) -> list[tuple[tuple[int, ...], Number]]:
        """The shapes, whatever they are called, each with what is counted of it."""
        weights = self.weights or [1] * len(self.tensors)
        return sorted(zip((t.shape for t in self.tensors), weights, strict=True))

    @property
    def total(self) -> int:
        """The number of elements of all parameters that are counted."""
        return math.ceil(sum(math.prod(shape) * weight for shape, weight in self.sizes))


NamedParameter = tuple[Sequence[str], str]  # its names, and where it was made
Outcome = Built | NotMeasured


def exactly(point: Point) -> dict[str, int | Fraction]:
    """The numbers of a point, as they were written: 0.1 is one tenth, not its binary neighbour."""
    return {
        name: Fraction(repr(value)) if isinstance(value, float) else int(value)
        for name, value in point.items()
        if isinstance(value, int | float) and value == value
    }


# --- what was built so far ----------------------------------------------------------------------


class BuildHistory:
    """Every point that was built so far, once. `variables`: what the points give values; `call`:
    the arguments of the call, where a variable's base is another value; `base`: those of names that
    a point lacks."""

    def __init__(
        self,
        ask: Callable[[Sequence[Point]], Sequence[Outcome]],
        variables: Sequence[Variable],
        call: Point | None = None,
    ) -> None:
        self._ask, self.variables = ask, variables
        self.base: dict[str, Value] = {v.name: v.base for v in variables}
        self._origin = {**self.base, **(call or {})}
        self._outcomes: dict[tuple[tuple[str, str], ...], Outcome] = {}

    def written_out(self, point: Point) -> Outcome:
        """What is built where the call has all arguments, also those that it has anyway."""
        return self._ask([{**self.base, **point}])[0]

    def case(self, values: Point) -> BuildHistory:
        """The same with another base. Both share what they build."""
        history = copy(self)
        history.base = {**self.base, **values}
        return history

    def build(self, points: Iterable[Point]) -> list[tuple[dict[str, Value], Outcome]]:
        """The points, completed by the base, each with its outcome; only new ones are built."""
        full = [{**self.base, **point} for point in points]
        new = {key_of(point): point for point in full if key_of(point) not in self._outcomes}
        if new:
            changes = [
                {name: value for name, value in p.items() if differs(value, self._origin[name])}
                for p in new.values()
            ]
            self._outcomes.update(zip(new, self._ask(changes), strict=True))
        return [(point, self._outcomes[key_of(point)]) for point in full]


def differs(value: Value, other: Value) -> bool:
    """Whether two values are different, or of different types (`1` and `True`)."""
    return type(value) is not type(other) or value != other


def key_of(point: Point) -> tuple[tuple[str, str], ...]:
    """What tells it from other points: `1` is not `True`."""
    return tuple((name, repr(value)) for name, value in sorted(point.items()))
