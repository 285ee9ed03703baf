"""The modules of two models as one tree: which are the same, and which are on one side only.

They are matched by name, by position in a sequence, by content.
"""

from __future__ import annotations

from collections import deque
from difflib import SequenceMatcher
from operator import attrgetter
from typing import TYPE_CHECKING

from msgspec import Struct, field

from nparam_lint.changes.likeness import likeness
from nparam_lint.changes.matching import best, if_as_many, in_order, match, with_one
from nparam_lint.count.module_tree import link
from nparam_lint.ground.grouping import grouped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.changes.likeness import Likeness
    from nparam_lint.changes.matching import Pair, Pick
    from nparam_lint.count.measured import ModuleRow
    from nparam_lint.count.module_tree import Node


class ModulePair(Struct, eq=False):
    """A module as it was and as it is; None on the side where it is not. `children`: in the order
    of today's model; what is gone stands where it was. Of a module that is gone they are those that
    are gone, too: what went elsewhere is there."""

    then: Node | None
    now: Node | None
    children: list[ModulePair] = field(default_factory=list)

    @property
    def node(self) -> Node:
        """What it is now; what it was if it is gone."""
        node = self.now or self.then
        assert node is not None
        return node

    @property
    def is_alone(self) -> bool:
        """Whether it and all that is below it are on one side only."""
        is_whole = len(self.children) == len(self.node.children)
        is_both = self.then is not None and self.now is not None
        return not is_both and is_whole and all(child.is_alone for child in self.children)

    def walk(self) -> Iterator[ModulePair]:
        yield self
        for child in self.children:
            yield from child.walk()


def pair_modules(before: Sequence[ModuleRow], after: Sequence[ModuleRow]) -> ModulePair:
    """The root of both."""
    shapes: dict[tuple[object, ...], int] = {}
    old, new = link(before, shapes), link(after, shapes)
    return _Matches(old, new).pair(new)


class _Matches:
    """Which modules are the same: `now[node]` for a module of the base, `then[node]` for one of
    today's model."""

    def __init__(self, before: Node, after: Node) -> None:
        self.now: dict[Node, Node] = {}
        self.then: dict[Node, Node] = {}
        self._match(before, after)
        # A whole part that was removed in one place and added in another is the same, if it is
        # unique; a single layer must also have kept its name.
        olds = grouped((node for node in before.walk() if node not in self.now), _content)
        news = grouped((node for node in after.walk() if node not in self.then), _content)
        common = [shape for shape in olds if shape is not None and shape in news]
        for shape in sorted(common, key=lambda shape: -olds[shape][0].weight):
            gone = [node for node in olds[shape] if node not in self.now]
            fresh = [node for node in news[shape] if node not in self.then]
            if len(gone) == 1 == len(fresh):
                old, new = gone[0], fresh[0]
                if old.filled > 1 or old.name == new.name:
                    self._match(old, new)

    def _match(self, old: Node, new: Node) -> None:
        self.now[old], self.then[new] = new, old
        pairs, _, _ = match(old.children, new.children, _PICKS)
        for child, new_child, _ in pairs:
            self._match(child, new_child)

    def pair(self, new: Node) -> ModulePair:
        """A module of today's model, with all that is, or was, below it."""
        old = self.then.get(new)
        pair = ModulePair(old, new)
        place = {child: i for i, child in enumerate(old.children if old else ())}
        gone = deque(child for child in place if child not in self.now)
        limits = [len(place)]  # what stood before the next that is still there comes before
        for child in reversed(new.children):
            then = self.then.get(child)
            limits.append(limits[-1] if then is None else place.get(then, limits[-1]))
        for child, limit in zip(new.children, reversed(limits), strict=False):
            while gone and place[gone[0]] < limit:
                pair.children.append(self._gone(gone.popleft()))
            pair.children.append(self.pair(child))
        pair.children += map(self._gone, gone)
        return pair

    def _gone(self, old: Node) -> ModulePair:
        children = [self._gone(child) for child in old.children if child not in self.now]
        return ModulePair(old, None, children)


def _numbered(olds: Sequence[Node], news: Sequence[Node]) -> list[Pair[Node]]:
    """Where a layer is put between others, those behind it get other numbers."""
    olds, news = ([node for node in side if node.is_numbered] for side in (olds, news))
    if [node.row.type for node in olds] == [node.row.type for node in news]:
        return [*in_order(olds, news)]
    pairs: list[Pair[Node]] = []
    shapes = [node.shape for node in olds], [node.shape for node in news]
    matcher = SequenceMatcher(None, *shapes, autojunk=False)
    for tag, start, end, new_start, new_end in matcher.get_opcodes():
        gone, fresh = olds[start:end], news[new_start:new_end]
        if tag == "equal":
            pairs += in_order(gone, fresh)
        elif tag == "replace":
            types = [node.row.type for node in gone], [node.row.type for node in fresh]
            blocks = SequenceMatcher(None, *types, autojunk=False).get_matching_blocks()
            for at, new_at, size in blocks:
                pairs += in_order(gone[at : at + size], fresh[new_at : new_at + size])
    return pairs


def _content(node: Node) -> int | None:
    """What all that have it hold alike; None where that is nothing."""
    return node.shape if node.weight else None


def _alike(old: Node, new: Node) -> Likeness | None:
    """Parts of several layers that were renamed and changed at once."""
    alike = likeness(old, new)
    return alike if alike.is_evidence else None


# For the children of two modules that are the same. By name, whatever has become of them.
_PICKS: Sequence[Pick[Node]] = (
    _numbered,
    with_one(attrgetter("name"), in_order),
    with_one(_content, if_as_many),
    best(_alike),
)
