"""How alike two models are, by their modules."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from nparam_lint.count.module_tree import Node

ENOUGH = 3  # modules with parameters, from which on structure is evidence
ALIKE = 0.8  # of the modules


class Likeness(Struct, frozen=True):
    """Of how many modules (`same` of `every`) path, type and count are the same in two trees;
    `structure`: whether paths and types of all are."""

    same: int
    every: int
    structure: bool

    @property
    def identical(self) -> bool:
        return self.same == self.every

    @property
    def rating(self) -> tuple[float, bool]:
        """The higher, the more alike."""
        return self.same / max(self.every, 1), self.structure

    @property
    def is_evidence(self) -> bool:
        """Whether it is more than chance: small models are soon alike."""
        enough = self.same >= ENOUGH and self.same >= ALIKE * self.every
        return enough or (self.structure and self.every > ENOUGH)

    def __str__(self) -> str:
        if self.identical:
            return f"the same {self.every:,} modules"
        if self.same:
            return f"{self.same:,} of {self.every:,} modules are the same"
        return f"{self.every:,} modules of the same names and types"


def likeness(old: Node, new: Node) -> Likeness:
    """Of the modules that hold parameters, without the names of the two roots."""
    before, after = _contents(old), _contents(new)
    same = sum((before & after).values())
    names = [Counter(name for name, _ in side.elements()) for side in (before, after)]
    return Likeness(same, max(before.total(), after.total()), names[0] == names[1])


def _contents(root: Node) -> Counter[tuple[tuple[str, str], int]]:
    """Each with its path and type, and what it holds."""
    start = len(root.row.path) + 1 if root.row.path else 0
    return Counter(
        (("", "") if node is root else (node.row.path[start:], node.row.type), node.row.own)
        for node in root.walk()
        if node.row.own
    )
