"""Arguments that can be varied, and the models that were built with them.

A *point* gives every variable a value; a build at a point is `Built`, or `NotMeasured`: NPL004
where the constructor refused the values, NPL005 where the process died or took too long.

Parameters that are made alike are one *family*: `h.0.mlp.weight … h.11.mlp.weight` are twelve.
Each number in a parameter's name is an index. An index that takes other values in other builds
(the number of a layer) runs; members that differ only in running indices belong together, as long
as they have one shape. Where the first, the last, or both differ from the others (the input layer
of a stack), they are families of their own.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from nparam_lint.records import NameValue, NotMeasured

if TYPE_CHECKING:
    from nparam_lint.records import ParameterRow

Value = NameValue
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


def whole_numbers(variables: Iterable[Variable]) -> dict[str, int]:
    """The base values of those that may have any whole number."""
    return {
        v.name: v.base
        for v in variables
        if isinstance(v.base, int) and v.is_number and not v.choices
    }


@dataclass(frozen=True, slots=True)
class Built:
    """A model: its parameters. `call`: as written."""

    tensors: tuple[ParameterRow, ...]
    call: str = ""

    @property
    def sizes(self) -> list[tuple[int, ...]]:
        """The shapes, whatever they are called."""
        return sorted(tensor.shape for tensor in self.tensors)

    @property
    def total(self) -> int:
        """The number of elements of all parameters."""
        return sum(math.prod(tensor.shape) for tensor in self.tensors)


Outcome = Built | NotMeasured
Ask = Callable[[Sequence[Point]], Sequence[Outcome]]


def exact(value: Value) -> Fraction:
    """A number as it was written: 0.1 is one tenth, not its binary neighbour."""
    if isinstance(value, float):
        return Fraction(repr(value))
    if isinstance(value, int):
        return Fraction(value)
    raise TypeError(f"{value!r} is no number")


def written(number: Fraction) -> int | float:
    """A number as an argument."""
    return int(number) if number.denominator == 1 else float(number)


def exactly(point: Point) -> dict[str, Fraction]:
    """The numbers of a point."""
    return {
        name: exact(value)
        for name, value in point.items()
        if isinstance(value, int | float) and value == value
    }


# --- what was built so far ----------------------------------------------------------------------


class BuildHistory:
    """Every point that was built so far, once. `base`: values for names that a point lacks. Two
    results of the first derivation say where to build for the next one: `lines`, the values with
    which each variable was built, and `free`, the variables that may have others."""

    def __init__(self, ask: Ask, variables: Sequence[Variable]) -> None:
        self._ask = ask
        self._origin: dict[str, Value] = {v.name: v.base for v in variables}
        self._outcomes: dict[tuple[tuple[str, str], ...], Outcome] = {}
        self.base = self._origin
        self.lines: dict[str, list[Value]] = {}
        self.free: set[str] = set()

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


# --- families of parameters -----------------------------------------------------------------------

_NUMBER = re.compile(r"\d+")
Indices = tuple[int, ...]
Shape = tuple[int, ...]
Members = dict[Indices, Shape]  # of one build


@dataclass(slots=True)
class Family:
    """`name`: as in the model, with `*` for a running index. For each build: how many there are,
    the shape that all of them have (None: there are none, or their shapes differ), and the number
    of their elements. `source`: where they are made."""

    name: str
    numbers: list[int]
    shapes: list[Shape | None]
    sizes: list[int]
    source: str | None = None

    @property
    def is_uniform(self) -> bool:
        ranks = {len(shape) for shape in self.shapes if shape is not None}
        seen = zip(self.numbers, self.shapes, strict=True)
        return len(ranks) == 1 and all(shape is not None for number, shape in seen if number)


def families(builds: Sequence[Built]) -> list[Family]:
    """All parameters of the builds, in the order of the first build, then of those after it."""
    patterns: dict[str, list[Members]] = {}
    sources: dict[str, str | None] = {}
    for number, built in enumerate(builds):
        for tensor in built.tensors:
            pattern = _NUMBER.sub("*", tensor.name)
            seen = patterns.setdefault(pattern, [{} for _ in builds])
            seen[number][tuple(map(int, _NUMBER.findall(tensor.name)))] = tensor.shape
            sources.setdefault(pattern, tensor.source)
    found = []
    for pattern, seen in patterns.items():
        for family in _families(pattern, seen):
            family.source = sources[pattern]
            found.append(family)
    return found


def _families(pattern: str, seen: Sequence[Members]) -> list[Family]:
    present = [members for members in seen if members]
    width = pattern.count("*")
    running = [
        position
        for position in range(width)
        if len({frozenset(i[position] for i in members) for members in present}) > 1
    ]
    fixed = [position for position in range(width) if position not in running]
    kinds = sorted({tuple(i[p] for p in fixed) for members in present for i in members})
    found = []
    for kind in kinds:
        own = [
            {i: shape for i, shape in members.items() if tuple(i[p] for p in fixed) == kind}
            for members in seen
        ]
        name = _name(pattern, dict(zip(fixed, kind, strict=True)))
        found += _split(name, own, running)
    return found


def _name(pattern: str, known: Mapping[int, object]) -> str:
    """With these in the place of some of the stars."""
    numbers = iter(range(pattern.count("*")))
    return re.sub(r"\*", lambda _: str(known.get(next(numbers), "*")), pattern)


# Ways to split a stack, the simplest first: whether its first and its last member differ.
_ENDS = ((True, False), (False, True), (True, True))


def _split(name: str, seen: Sequence[Members], running: Sequence[int]) -> list[Family]:
    """The parts of one stack that are uniform; all of it, where no way to part it makes them so."""
    whole = _family(name, seen)
    if whole.is_uniform or not running:
        return [whole]
    for position in running:
        for first, last in _ENDS:
            parts: dict[str, list[Members]] = defaultdict(lambda: [{} for _ in seen])
            for number, members in enumerate(seen):
                indices = [i[position] for i in members]
                for i, shape in members.items():
                    is_first = first and i[position] == min(indices)
                    is_last = last and i[position] == max(indices)
                    mark = "0" if is_first else "-1" if is_last else "*"
                    parts[mark][number][i] = shape
            star = list(running).index(position)
            found = [_family(_name(name, {star: mark}), own) for mark, own in parts.items()]
            if all(family.is_uniform for family in found):
                return found
    return [whole]


def _family(name: str, seen: Sequence[Members]) -> Family:
    shapes = [{*members.values()} for members in seen]
    return Family(
        name,
        [len(members) for members in seen],
        [next(iter(found)) if len(found) == 1 else None for found in shapes],
        [sum(map(math.prod, members.values())) for members in seen],
    )
