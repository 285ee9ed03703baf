"""The modules of a model as a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from nparam_lint.count.measured import ModuleRow


class Node(Struct, eq=False):
    """A module. `weight`: parameters at or below it that no module before it holds, so that those
    of its children and its own add up to it. `filled`: modules at or below it that hold parameters.
    `shape`: a number for its look and the structure below it, names included."""

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


def counts_of(node: Node) -> tuple[object, ...]:
    """The look of a module: its type, and its counts."""
    return node.row.type, node.row.own, node.row.total


def link(
    rows: Sequence[ModuleRow],
    shapes: Shapes,
    look: Callable[[Node], tuple[object, ...]] = counts_of,
) -> Node:
    """The tree of a model whose first row is its root. Trees that are made with the same `shapes`
    can be compared. `look`: what is the same of two modules of one shape."""
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
        node.shape = shapes.setdefault((look(node), inner), len(shapes))
    return nodes[""]
