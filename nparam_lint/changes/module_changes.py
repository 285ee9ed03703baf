"""What became of each module of a model. The differences of the lines add up to the model's.

Modules are matched by name, by position in a sequence, by content. Nothing is guessed: a module
that could match several matches none; it is removed or added.
"""

from __future__ import annotations

from collections import defaultdict, deque
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from nparam_lint.changes.module_tree import Likeness, Node, best_pairs, likeness, link
from nparam_lint.changes.records import ModuleChange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from nparam_lint.count.measured import ModuleRow


def compare_modules(
    before: Sequence[ModuleRow], after: Sequence[ModuleRow]
) -> tuple[ModuleChange, ...]:
    """The changes, in the order of today's model; removed modules are where they were."""
    shapes: dict[tuple[object, ...], int] = {}
    old, new = link(before, shapes), link(after, shapes)
    return tuple(_Changes(ModuleMatches(old, new), old, new).of(new))


def _matched(olds: Sequence[Node], news: Sequence[Node]) -> list[tuple[Node, Node]]:
    """Of the children of two modules that are the same."""
    pairs = _numbered(
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


def _numbered(olds: Sequence[Node], news: Sequence[Node]) -> list[tuple[Node, Node]]:
    """Where a layer is put between others, those behind it get other numbers."""
    if [node.row.type for node in olds] == [node.row.type for node in news]:
        return list(zip(olds, news, strict=True))
    pairs: list[tuple[Node, Node]] = []
    shapes = [node.shape for node in olds], [node.shape for node in news]
    matcher = SequenceMatcher(None, *shapes, autojunk=False)
    for tag, start, end, new_start, new_end in matcher.get_opcodes():
        left, right = olds[start:end], news[new_start:new_end]
        if tag == "equal":
            pairs += zip(left, right, strict=True)
        elif tag == "replace":
            types = [node.row.type for node in left], [node.row.type for node in right]
            blocks = SequenceMatcher(None, *types, autojunk=False).get_matching_blocks()
            for one, other, size in blocks:
                pairs += zip(left[one : one + size], right[other : other + size], strict=True)
    return pairs


def _by_shape(
    olds: Iterable[Node], news: Iterable[Node]
) -> Iterable[tuple[list[Node], list[Node]]]:
    """The modules with parameters of both models, those of one shape together."""
    shapes: dict[int, tuple[list[Node], list[Node]]] = defaultdict(lambda: ([], []))
    for side, nodes in enumerate((olds, news)):
        for node in nodes:
            if node.weight:
                shapes[node.shape][side].append(node)
    return shapes.values()


def _of_one_shape(olds: Sequence[Node], news: Sequence[Node]) -> list[tuple[Node, Node]]:
    """As many as there were of the same shape are the same, in their order."""
    return [
        pair
        for gone, new in _by_shape(olds, news)
        if len(gone) == len(new)
        for pair in zip(gone, new, strict=True)
    ]


def _alike(olds: Sequence[Node], news: Sequence[Node]) -> list[tuple[Node, Node]]:
    """Parts of several layers that were renamed and changed at once."""

    def compare(old: Node, new: Node) -> Likeness | None:
        found = likeness(old, new)
        return found if found.is_evidence else None

    return [(old, new) for old, new, _ in best_pairs(olds, news, compare)]


# --- what became of them -----------------------------------------------------------------------


class ModuleMatches:
    """The modules of two models that are the same: `now[node]` for a module of the base,
    `then[node]` for one of today's model."""

    def __init__(self, before: Node, after: Node) -> None:
        self.now: dict[Node, Node] = {}
        self.then: dict[Node, Node] = {}
        self._match(before, after)
        # A whole part that was removed in one place and added in another is the same, if it is
        # unique; a single layer must also have kept its name.
        shapes = _by_shape(
            [node for node in before.walk() if node not in self.now],
            [node for node in after.walk() if node not in self.then],
        )
        for olds, news in sorted(shapes, key=lambda both: -(both[0] or both[1])[0].weight):
            gone = [node for node in olds if node not in self.now]
            new = [node for node in news if node not in self.then]
            if len(gone) == 1 == len(new):
                old, there = gone[0], new[0]
                if old.filled > 1 or old.name == there.name:
                    self._match(old, there)

    def _match(self, before: Node, after: Node) -> None:
        stack = [(before, after)]
        while stack:
            old, new = stack.pop()
            self.now[old], self.then[new] = new, old
            stack += _matched(old.children, new.children)


class _Changes:
    """What became of the modules of two models."""

    def __init__(self, matches: ModuleMatches, before: Node, after: Node) -> None:
        self.now, self.then = matches.now, matches.then
        self.notes = _notes(before, after, self.then)

    def of(self, new: Node) -> Iterator[ModuleChange]:
        """Those of a module of today's model and of all that is, or was, below it."""
        old = self.then.get(new)
        if old is None:
            yield from self._alone(new, self.then)
            return
        yield from self._own(old, new)
        place = {child: i for i, child in enumerate(old.children)}
        gone = deque(child for child in old.children if child not in self.now)
        limits = [len(place)]  # what stood before the next that is still there comes before
        for child in reversed(new.children):
            then = self.then.get(child)
            limits.append(limits[-1] if then is None else place.get(then, limits[-1]))
        for child, limit in zip(new.children, reversed(limits), strict=False):
            while gone and place[gone[0]] < limit:
                yield from self._alone(gone.popleft(), self.now)
            yield from self.of(child)
        for child in gone:
            yield from self._alone(child, self.now)

    def _own(self, old: Node, new: Node) -> Iterator[ModuleChange]:
        own_before, own_after = old.row.own, new.row.own
        notes = self.notes.get(new, [])
        above = None if old.parent is None else self.now.get(old.parent)
        beside = old.name == new.name and above is new.parent
        renamed = not beside and old.row.path != new.row.path
        if renamed and not new.is_empty and (new.children or own_before == own_after):
            yield ModuleChange("renamed", old.row, new.row, old.weight, old.weight)
        elif renamed and own_before != own_after:
            notes = [f"was {old.row.path}", *notes]
        if own_before != own_after:
            notes = [*_ties(old.row, new.row), *notes]
            yield ModuleChange("changed", old.row, new.row, own_before, own_after, tuple(notes))
        elif notes:
            total = new.row.total
            yield ModuleChange("changed", old.row, new.row, total, total, tuple(notes))

    def _alone(self, node: Node, known: dict[Node, Node]) -> Iterator[ModuleChange]:
        """What is on one side only; parts of it may be elsewhere on the other."""
        if node in known:
            if known is self.then:
                yield from self.of(node)
            return
        parts = [part for part in node.walk() if part in known]
        if not parts:
            if not node.is_empty:
                yield _line(node, node.weight, known is self.then)
            return
        if node.row.own:
            yield _line(node, node.row.own, known is self.then)
        for child in node.children:
            yield from self._alone(child, known)


def _line(node: Node, count: int, is_new: bool) -> ModuleChange:
    row = node.row
    notes = _ties(None, row) if is_new else _ties(row, None)
    if not row.total:
        notes = [f"buffers {row.buffers:,}"]
    if is_new:
        return ModuleChange("added", None, row, 0, count, tuple(notes))
    return ModuleChange("removed", row, None, count, 0, tuple(notes))


def _ties(before: ModuleRow | None, after: ModuleRow | None) -> list[str]:
    """What is counted elsewhere now, or was."""
    then, was = (before.tied, before.shared_with) if before else ((), None)
    now, shared = (after.tied, after.shared_with) if after else ((), None)
    notes = [f"no longer tied: {tie}" for tie in then if tie not in now]
    notes += [f"tied: {tie}" for tie in now if tie not in then]
    if was != shared:
        notes += [] if was is None else [f"no longer shared with {was or 'the root'}"]
        notes += [] if shared is None else [f"shared with {shared or 'the root'}"]
    return notes


# --- what else may change ---------------------------------------------------------------------


def _notes(old: Node, new: Node, known: Mapping[Node, Node]) -> dict[Node, list[str]]:
    """Changes other than the number of parameters, noted at the module that they are about: the
    highest module to which they apply as a whole, else the lowest."""
    notes: dict[Node, list[str]] = defaultdict(list)

    def look(old: Node, new: Node, about: Callable[[Node, Node, bool], str | None]) -> bool:
        note = about(old, new, False)
        if note is None:
            found = [look(known[child], child, about) for child in new.children if child in known]
            if any(found):
                return True
            note = about(old, new, True)
        if note is not None:
            notes[new].append(note)
        return note is not None

    def data(old: Node, new: Node, lowest: bool) -> str | None:
        same = old.row.total == new.row.total and old.row.buffers == new.row.buffers
        if same and old.row.bytes != new.row.bytes and (lowest or _evenly(old, new, known)):
            return f"bytes {old.row.bytes:,} → {new.row.bytes:,}"
        return None

    for about in (_frozen, data, _buffers):
        look(old, new, about)
    return notes


def _frozen(old: Node, new: Node, lowest: bool) -> str | None:
    was, now = old.row, new.row
    if was.total and now.total:
        if was.trainable == was.total and not now.trainable:
            return "frozen now"
        if now.trainable == now.total and not was.trainable:
            return "trainable now"
    if lowest and was.total == now.total and was.frozen != now.frozen:
        return f"frozen {was.frozen:,} → {now.frozen:,}"
    return None


def _buffers(old: Node, new: Node, lowest: bool) -> str | None:
    if not lowest or old.row.buffers == new.row.buffers or old.row.own != new.row.own:
        return None  # a layer that grew has larger buffers, too
    was, now = (
        node.row.buffers - sum(child.row.buffers for child in node.children) for node in (old, new)
    )
    return f"buffers {was:,} → {now:,}" if was != now else None


def _evenly(old: Node, new: Node, known: Mapping[Node, Node]) -> bool:
    """Whether all below it became so many times larger: another dtype throughout."""
    return all(
        then.row.bytes * new.row.bytes == node.row.bytes * old.row.bytes
        for node in new.walk()
        if (then := known.get(node)) is not None
    )
