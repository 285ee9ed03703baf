"""What became of each module of a model. The differences of the lines add up to the model's."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING

from nparam_lint.analysis.diff.diff_records import ModuleChange
from nparam_lint.analysis.diff.match_modules import Pairs
from nparam_lint.analysis.diff.module_tree import Node, link

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from nparam_lint.records import ModuleRow


def compare_modules(
    before: Sequence[ModuleRow], after: Sequence[ModuleRow]
) -> tuple[ModuleChange, ...]:
    """The changes, in the order of today's model; removed modules are where they were."""
    shapes: dict[tuple[object, ...], int] = {}
    old, new = link(before, shapes), link(after, shapes)
    pairs = Pairs(old, new)
    return tuple(_Changes(pairs, _notes(old, new, pairs)).of(new))


class _Changes:
    def __init__(self, pairs: Pairs, notes: dict[Node, list[str]]) -> None:
        self.pairs = pairs
        self.notes = notes

    def of(self, new: Node) -> Iterator[ModuleChange]:
        """Those of a module of today's model and of all that is, or was, below it."""
        old = self.pairs.then.get(new)
        if old is None:
            yield from self._alone(new, self.pairs.then)
            return
        yield from self._own(old, new)
        place = {child: i for i, child in enumerate(old.children)}
        gone = deque(child for child in old.children if child not in self.pairs.now)
        limits = [len(place)]  # what stood before the next that is still there comes before
        for child in reversed(new.children):
            then = self.pairs.then.get(child)
            limits.append(limits[-1] if then is None else place.get(then, limits[-1]))
        for child, limit in zip(new.children, reversed(limits), strict=False):
            while gone and place[gone[0]] < limit:
                yield from self._alone(gone.popleft(), self.pairs.now)
            yield from self.of(child)
        for child in gone:
            yield from self._alone(child, self.pairs.now)

    def _own(self, old: Node, new: Node) -> Iterator[ModuleChange]:
        own_before, own_after = old.row.own, new.row.own
        notes = self.notes.get(new, [])
        above = None if old.parent is None else self.pairs.now.get(old.parent)
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
            if known is self.pairs.then:
                yield from self.of(node)
            return
        parts = [part for part in node.walk() if part in known]
        if not parts:
            if not node.is_empty:
                yield _line(node, node.weight, known is self.pairs.then)
            return
        if node.row.own:
            yield _line(node, node.row.own, known is self.pairs.then)
        for child in node.children:
            yield from self._alone(child, known)


def _line(node: Node, count: int, is_new: bool) -> ModuleChange:
    row, notes = node.row, []
    if not row.total:
        notes.append(f"buffers {row.buffers:,}")
    elif row.tied or row.shared_with is not None:
        notes += _ties(None, row) if is_new else _ties(row, None)
    if is_new:
        return ModuleChange("added", None, row, 0, count, tuple(notes))
    return ModuleChange("removed", row, None, count, 0, tuple(notes))


def _ties(before: ModuleRow | None, after: ModuleRow | None) -> list[str]:
    """What is counted elsewhere now, or was."""
    then = () if before is None else before.tied
    now = () if after is None else after.tied
    notes = [f"no longer tied: {tie}" for tie in then if tie not in now]
    notes += [f"tied: {tie}" for tie in now if tie not in then]
    was = None if before is None else before.shared_with
    shared = None if after is None else after.shared_with
    if was != shared:
        notes += [] if was is None else [f"no longer shared with {was or 'the root'}"]
        notes += [] if shared is None else [f"shared with {shared or 'the root'}"]
    return notes


# --- what else may change ---------------------------------------------------------------------


def _notes(old: Node, new: Node, pairs: Pairs) -> dict[Node, list[str]]:
    """What changed besides the number of parameters, noted at the module that it is about: the
    highest for which it holds throughout, else the lowest."""
    notes: dict[Node, list[str]] = defaultdict(list)

    def look(old: Node, new: Node, about: Callable[[Node, Node, bool], str | None]) -> bool:
        inner = [
            (then, child) for child in new.children if (then := pairs.then.get(child)) is not None
        ]
        note = about(old, new, False)
        if note is None:
            found = [look(then, child, about) for then, child in inner]
            if any(found):
                return True
            note = about(old, new, True)
        if note is not None:
            notes[new].append(note)
        return note is not None

    def data(old: Node, new: Node, lowest: bool) -> str | None:
        same = old.row.total == new.row.total and old.row.buffers == new.row.buffers
        if same and old.row.bytes != new.row.bytes and (lowest or _evenly(old, new, pairs)):
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


def _evenly(old: Node, new: Node, pairs: Pairs) -> bool:
    """Whether all below it became so many times larger: another dtype throughout."""
    return all(
        then.row.bytes * new.row.bytes == node.row.bytes * old.row.bytes
        for node in new.walk()
        if (then := pairs.then.get(node)) is not None
    )
