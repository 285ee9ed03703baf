"""The modules of a model as a tree, and how alike two such trees are."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.count.measured import ModuleRow

ENOUGH = 3  # modules with parameters, from which on structure is evidence
ALIKE = 0.8  # of the modules


@dataclass(eq=False, slots=True)
class Node:
    """A module. `weight`: parameters at or below it that no module before it holds, so that those
    of its children and its own add up to it. `filled`: modules at or below it that hold parameters.
    `shape`: a number for its type, its counts and the structure below it, names included."""

    row: ModuleRow
    name: str
    parent: Node | None
    children: list[Node] = field(default_factory=list)
    weight: int = 0
    filled: int = 0
    shape: int = 0

    @property
    def is_numbered(self) -> bool:
        return self.name.isdecimal()

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all is lost with it."""
        return not (self.row.total or self.row.buffers)

    def walk(self) -> Iterator[Node]:
        yield self
        for child in self.children:
            yield from child.walk()


Shapes = dict[tuple[object, ...], int]


def link(rows: Sequence[ModuleRow], shapes: Shapes) -> Node:
    """The tree of a model whose first row is its root. Trees that are made with the same `shapes`
    can be compared."""
    nodes: dict[str, Node] = {}
    for row in rows:
        above = row.path.rpartition(".")[0]
        while above and above not in nodes:
            above = above.rpartition(".")[0]
        parent = nodes.get(above) if row.path else None
        name = row.path.removeprefix(f"{above}.") if above else row.path
        node = nodes[row.path] = Node(row, name, parent)
        if parent is not None:
            parent.children.append(node)
    for node in reversed(nodes.values()):  # a module stands before what is in it
        node.weight = node.row.own + sum(child.weight for child in node.children)
        node.filled = bool(node.row.own) + sum(child.filled for child in node.children)
        inner = tuple((child.name, child.shape) for child in node.children)
        shape = (node.row.type, node.row.own, node.row.total, inner)
        node.shape = shapes.setdefault(shape, len(shapes))
    return nodes[""]


@dataclass(frozen=True, slots=True)
class Likeness:
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
