"""What became of each module of a model. The differences of the lines add up to the model's."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from nparam_lint.changes.module_pairs import pair_modules
from nparam_lint.changes.records import ModuleChange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from nparam_lint.changes.module_pairs import ModulePair
    from nparam_lint.count.measured import ModuleRow
    from nparam_lint.count.module_tree import Node

    _Notes = dict[ModulePair, list[str]]


def compare_modules(
    before: Sequence[ModuleRow], after: Sequence[ModuleRow]
) -> tuple[ModuleChange, ...]:
    """The changes, in the order of today's model; removed modules are where they were."""
    root = pair_modules(before, after)
    return tuple(_changes(root, None, _notes(root)))


def _changes(pair: ModulePair, above: ModulePair | None, notes: _Notes) -> Iterator[ModuleChange]:
    """Those of a module and of all that is, or was, below it."""
    if pair.then and pair.now:
        was, now, remarks = pair.then.row, pair.now.row, notes.get(pair, [])
        is_beside = pair.then.parent is (above.then if above else None)
        is_named = is_beside and pair.then.name == pair.now.name
        if not is_named and was.path != now.path:
            if not pair.now.is_empty and (pair.now.children or was.own == now.own):
                yield ModuleChange("renamed", was, now, pair.then.weight, pair.then.weight)
            elif was.own != now.own:
                remarks = [f"was {was.path}", *remarks]
        if was.own != now.own:
            remarks = [*_ties(was, now), *remarks]
            yield ModuleChange("changed", was, now, was.own, now.own, tuple(remarks))
        elif remarks:
            yield ModuleChange("changed", was, now, now.total, now.total, tuple(remarks))
    elif pair.is_alone:
        if not pair.node.is_empty:
            yield _line(pair, pair.node.weight)
        return
    elif pair.node.row.own:
        yield _line(pair, pair.node.row.own)
    for child in pair.children:
        yield from _changes(child, pair, notes)


def _line(pair: ModulePair, count: int) -> ModuleChange:
    """Of what is on one side only."""
    row = pair.node.row
    notes = _ties(None, row) if pair.now else _ties(row, None)
    if not row.total:
        notes = [f"buffers {row.buffers:,}"]
    if pair.now:
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


def _notes(root: ModulePair) -> _Notes:
    """Changes other than the number of parameters, noted at the module that they are about: the
    highest module to which they apply as a whole, else the lowest."""
    notes: _Notes = defaultdict(list)

    def look(pair: ModulePair, about: Callable[[Node, Node, bool], str | None]) -> bool:
        if not (pair.then and pair.now):
            return False
        note = about(pair.then, pair.now, False)
        if note is None:
            if sum(look(child, about) for child in pair.children):
                return True
            note = about(pair.then, pair.now, True)
        if note is not None:
            notes[pair].append(note)
        return note is not None

    then = {pair.now: pair.then for pair in root.walk() if pair.now}

    def data(old: Node, new: Node, lowest: bool) -> str | None:
        was, now = old.row, new.row
        if (was.total, was.buffers) != (now.total, now.buffers) or was.bytes == now.bytes:
            return None
        # All below it became so many times larger: another dtype throughout.
        equal_ratios = (
            node_then.row.bytes * now.bytes == node.row.bytes * was.bytes
            for node in new.walk()
            if (node_then := then[node])
        )
        is_noted = lowest or all(equal_ratios)
        return f"bytes {was.bytes:,} → {now.bytes:,}" if is_noted else None

    for about in (_frozen, data, _buffers):
        look(root, about)
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
