"""What is asked and what is seen: arguments that can be varied, and models built with them.

A *point* gives every variable a value; a build at a point is `Built`, or refused with a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

Value = int | float | str | bool | None
Point = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Variable:
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


@dataclass(frozen=True, slots=True)
class Tensor:
    """A parameter under its first name."""

    name: str
    shape: tuple[int, ...]
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Built:
    """A model: its parameters. `call`: as written."""

    tensors: tuple[Tensor, ...]
    call: str = ""

    @property
    def sizes(self) -> list[tuple[int, ...]]:
        """The shapes, whatever they are called."""
        return sorted(tensor.shape for tensor in self.tensors)

    @property
    def total(self) -> int:
        """The number of elements of all parameters."""
        return sum(size(tensor.shape) for tensor in self.tensors)


@dataclass(frozen=True, slots=True)
class RefusedBuild:
    """`code`: NPL004 where the constructor said no, NPL005 where the process died, or took too
    long."""

    reason: str
    code: str = "NPL004"


Outcome = Built | RefusedBuild
Ask = Callable[[Sequence[Point]], Sequence[Outcome]]


def size(shape: tuple[int, ...]) -> int:
    """The number of elements."""
    product = 1
    for length in shape:
        product *= length
    return product


def exact(value: Value) -> Fraction:
    """A number as it was written: 0.1 is one tenth, not its binary neighbour."""
    if isinstance(value, float):
        return Fraction(repr(value))
    if isinstance(value, int):
        return Fraction(value)
    raise TypeError(f"{value!r} is no number")


def exactly(point: Point) -> dict[str, Fraction]:
    """The numbers of a point."""
    return {
        name: exact(value)
        for name, value in point.items()
        if isinstance(value, int | float) and value == value
    }
