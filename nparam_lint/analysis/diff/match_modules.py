"""Matches the modules of two models: by name, by position in a sequence, by content.

Nothing is guessed: a module that could match several matches none; it is removed or added.
"""

from __future__ import annotations

from collections import defaultdict
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from nparam_lint.analysis.diff.module_tree import Likeness, Node, best_pairs, likeness

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Pairs:
    """The matches: `now[node]` for a module of the base, `then[node]` for one of today's model."""

    def __init__(self, before: Node, after: Node) -> None:
        self.now: dict[Node, Node] = {}
        self.then: dict[Node, Node] = {}
        self._match(before, after)
        self._match_moved(before, after)

    def _match(self, before: Node, after: Node) -> None:
        stack = [(before, after)]
        while stack:
            old, new = stack.pop()
            self.now[old], self.then[new] = new, old
            stack += _matched(old.children, new.children)

    def _match_moved(self, before: Node, after: Node) -> None:
        """A whole part that is gone here and is new there is the same, if there is no other like
        it; what is a single layer must also have kept its name."""
        places: dict[int, tuple[list[Node], list[Node]]] = defaultdict(lambda: ([], []))
        for root, known, side in ((before, self.now, 0), (after, self.then, 1)):
            for node in root.walk():
                if node not in known and node.weight:
                    places[node.shape][side].append(node)
        heaviest = sorted(places.values(), key=_weight, reverse=True)
        for olds, news in heaviest:
            gone = [node for node in olds if node not in self.now]
            new = [node for node in news if node not in self.then]
            if len(gone) == 1 == len(new):
                old, there = gone[0], new[0]
                if old.filled > 1 or old.name == there.name:
                    self._match(old, there)


def _weight(both: tuple[list[Node], list[Node]]) -> int:
    return max(node.weight for nodes in both for node in nodes)


def _matched(olds: Sequence[Node], news: Sequence[Node]) -> list[tuple[Node, Node]]:
    """Of the children of two modules that are the same."""
    pairs = _in_sequence(
        [node for node in olds if node.is_numbered], [node for node in news if node.is_numbered]
    )
    for pick in (_of_one_name, _of_one_shape, _alike):
        known = {node for pair in pairs for node in pair}
        gone = [node for node in olds if node not in known]
        new = [node for node in news if node not in known]
        pairs += pick(gone, new) if gone and new else []
    return pairs


def _of_one_name(olds: Sequence[Node], news: Sequence[Node]) -> list[tuple[Node, Node]]:
    """Whatever has become of them."""
    named = {node.name: node for node in news}
    return [(node, named[node.name]) for node in olds if node.name in named]


def _in_sequence(olds: Sequence[Node], news: Sequence[Node]) -> list[tuple[Node, Node]]:
    """Where a layer is put between others, those behind it get other numbers."""
    if [node.row.type for node in olds] == [node.row.type for node in news]:
        return list(zip(olds, news, strict=True))
    pairs: list[tuple[Node, Node]] = []
    shapes = SequenceMatcher(None, _shapes(olds), _shapes(news), autojunk=False)
    for tag, start, end, new_start, new_end in shapes.get_opcodes():
        left, right = olds[start:end], news[new_start:new_end]
        if tag == "equal":
            pairs += zip(left, right, strict=True)
        elif tag == "replace":
            types = SequenceMatcher(None, _types(left), _types(right), autojunk=False)
            for one, other, size in types.get_matching_blocks():
                pairs += zip(left[one : one + size], right[other : other + size], strict=True)
    return pairs


def _shapes(nodes: Iterable[Node]) -> list[int]:
    return [node.shape for node in nodes]


def _types(nodes: Iterable[Node]) -> list[str]:
    return [node.row.type for node in nodes]


def _of_one_shape(olds: Sequence[Node], news: Sequence[Node]) -> list[tuple[Node, Node]]:
    """As many as there were of the same shape are the same, in their order."""
    shapes: dict[int, tuple[list[Node], list[Node]]] = defaultdict(lambda: ([], []))
    for nodes, side in ((olds, 0), (news, 1)):
        for node in nodes:
            if node.weight:
                shapes[node.shape][side].append(node)
    return [
        pair
        for gone, new in shapes.values()
        if len(gone) == len(new)
        for pair in zip(gone, new, strict=True)
    ]


def _alike(olds: Sequence[Node], news: Sequence[Node]) -> list[tuple[Node, Node]]:
    """Parts of several layers that were renamed and changed at once."""

    def compare(old: Node, new: Node) -> Likeness | None:
        found = likeness(old, new)
        return found if found.is_evidence else None

    return [(old, new) for old, new, _ in best_pairs(olds, news, compare)]
