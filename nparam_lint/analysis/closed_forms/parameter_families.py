"""Parameters that are made alike: `h.0.mlp.weight … h.11.mlp.weight` are one family of twelve.

Each number in a parameter's name is an index. An index that takes other values in other builds
(the number of a layer) runs; members that differ only in running indices belong together, as long
as they have one shape. Where the first, the last, or both differ from the others (the input layer
of a stack), they are families of their own.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.observations import Built, size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NUMBER = re.compile(r"\d+")
Indices = tuple[int, ...]
Shape = tuple[int, ...]
Members = dict[Indices, Shape]  # of one build


@dataclass(slots=True)
class Family:
    """`name`: as in the model, with `*` for a running index. For each build: how many there are,
    the shape that all of them have (None: there are none, or their shapes differ), and the number
    of their elements. `sources`: where they are made."""

    name: str
    numbers: list[int] = field(default_factory=list)
    shapes: list[Shape | None] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
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


# Ways to part a stack, the simplest first: whether its first and its last member differ.
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
    family = Family(name)
    for members in seen:
        shapes = set(members.values())
        family.numbers.append(len(members))
        family.shapes.append(shapes.pop() if len(shapes) == 1 else None)
        family.sizes.append(sum(map(size, members.values())))
    return family
