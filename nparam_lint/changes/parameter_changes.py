"""What made a count change, by the parameters of each module. The changes add up to the difference.

Of modules that are the same, the parameters of one name are the same.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Literal

from nparam_lint.changes.fold_changes import Line, folded
from nparam_lint.changes.module_pairs import pair_modules
from nparam_lint.ground.findings import Change

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nparam_lint.changes.module_pairs import ModulePair
    from nparam_lint.changes.module_tree import Node
    from nparam_lint.count.measured import Measured, ParameterRow

_MARKS: dict[str, Literal["+", "−", "~"]] = {"added": "+", "removed": "−", "changed": "~"}
_MANY = 6  # changes; of more, those that one line of source makes are told together
_OWN = "(its own)"
_ELSEWHERE = "counted in modules elsewhere"


@dataclass(frozen=True, slots=True)
class _Held:
    """A parameter, or a buffer, that a metric counts; `amount`: as what."""

    row: ParameterRow
    amount: Fraction


@dataclass(frozen=True, slots=True)
class _Difference:
    """What became of one module; `covers`: how many modules with parameters that is."""

    kind: Literal["added", "removed", "changed"]
    node: Node
    what: str
    delta: Fraction
    source: str | None
    covers: int = 1


class ParameterChanges:
    """What changed between two builds of a model, both measured with the parameters that the
    `metric` counts."""

    def __init__(self, before: Measured, after: Measured, metric: str) -> None:
        root = pair_modules(before.modules, after.modules)
        self.metric = metric
        self.pairs = {pair.now.row.path: pair for pair in root.walk() if pair.now}
        self.then, self.now = _by_module(before), _by_module(after)
        self.hidden = {one.path: one.what for one in after.hidden}
        self.was_hidden = {one.path: one.what for one in before.hidden}

    def of(self, path: str = "") -> tuple[int | None, tuple[Change, ...]]:
        """What the module at `path` counted before, None where it was not there; and the changes
        since, largest first."""
        pair = self.pairs[path]
        count = pair.then.row.of(self.metric) if pair.then else None
        if count is None:
            return None, ()
        differences = self.below(pair)
        changes = [_change(line) for line in folded([_line(one) for one in differences])]
        if len(changes) > _MANY:
            changes = _by_line(differences)
        changes.sort(key=lambda change: -abs(change.delta))
        rest = (
            (pair.node.row.of(self.metric) or 0) - count - sum(change.delta for change in changes)
        )
        if rest:
            changes.append(Change("~", path or "(all)", _ELSEWHERE, rest))
        return count, tuple(change for change in changes if change.delta)

    def below(self, pair: ModulePair) -> list[_Difference]:
        """Those of a module, and of all that is or was below it; one that has come to all
        parameters below it stands for them."""
        node = pair.node
        if not (pair.then and pair.now):
            return [*self._alone(pair)]
        differences = [*self._own(pair.then, pair.now)]
        for child in sorted(pair.children, key=lambda child: child.now is None):
            differences += self.below(child)
        words = {(one.kind, one.what) for one in differences}
        covered = sum(one.covers for one in differences)
        if len(words) == 1 and len(differences) > 1 and covered == node.filled:
            first, delta = differences[0], sum((one.delta for one in differences), _ZERO)
            return [_Difference(first.kind, node, first.what, delta, node.row.source, node.filled)]
        return differences

    def _own(self, old: Node, node: Node) -> Iterator[_Difference]:
        """That of the parameters that a module holds itself."""
        was, now = self.then[old.row.path], self.now[node.row.path]
        deltas = {
            name: _amount(now.get(name)) - _amount(was.get(name))
            for name in {**was, **now}
            if _amount(now.get(name)) != _amount(was.get(name))
        }
        if not deltas:
            return
        name = max(deltas, key=lambda one: abs(deltas[one]))
        what = self._words(name, old, node)
        if old.row.type != node.row.type:
            what = f"{old.row.type} → {node.row.type}, {what}"
        source = node.row.source or (now[name].row.source if name in now else None)
        yield _Difference("changed", node, what, sum(deltas.values(), Fraction()), source)

    def _words(self, name: str, old: Node, node: Node) -> str:
        """What became of one parameter of a module."""
        one, other = self.then[old.row.path].get(name), self.now[node.row.path].get(name)
        if one is None or other is None:
            return self._come_or_gone(name, old, node, one or other)
        was, now = one.row, other.row
        if was.shape != now.shape:
            return f"{_shape(was)} → {_shape(now)}"
        if was.dtype != now.dtype:
            return f"{was.dtype} → {now.dtype}"
        return f"{name}: another share is used"

    def _come_or_gone(self, name: str, old: Node, node: Node, held: _Held | None) -> str:
        """Of a parameter that the metric counts on one side only."""
        then, now = _ties(old), _ties(node)
        if name in now and name not in then:
            return f"{name} is tied to {now[name]} now"
        if name in then and name not in now:
            return f"{name} is no longer tied to {then[name]}"
        if old.row.own == node.row.own:  # it is there, and not counted
            is_counted = name in self.now[node.row.path]
            return "trainable now" if is_counted == (self.metric == "trainable") else "frozen now"
        shape = f" ({_shape(held.row)})" if held else ""
        return f"{name} {'added' if name in self.now[node.row.path] else 'removed'}{shape}"

    def _alone(self, pair: ModulePair) -> Iterator[_Difference]:
        """What is on one side only; parts of it may be elsewhere on the other."""
        node, is_new = pair.node, pair.now is not None
        held = self.now if is_new else self.then
        parts = [*node.walk()] if pair.is_alone else [node]
        amount = sum((one.amount for part in parts for one in held[part.row.path].values()), _ZERO)
        if amount:
            kind: Literal["added", "removed"] = "added" if is_new else "removed"
            covers = node.filled if pair.is_alone else 1
            what = node.row.type + self._moved(node, kind)
            delta = amount if is_new else -amount
            yield _Difference(kind, node, what, delta, node.row.source, covers)
        for child in () if pair.is_alone else pair.children:
            yield from self.below(child)

    def _moved(self, node: Node, kind: Literal["added", "removed"]) -> str:
        """Whether it came out of a plain container, or went into one."""
        there = self.hidden if kind == "removed" else self.was_hidden
        path = node.row.path
        for hidden, what in there.items():
            if hidden and (path == hidden or path.startswith(f"{hidden}.")):
                when = "now in" if kind == "removed" else "was in"
                return f" {when} a plain {what}"
        return ""


def _by_line(differences: Sequence[_Difference]) -> list[Change]:
    """One change for all that the same line makes under the same name, such as the layers of a
    DenseNet, of which each has another width."""
    groups: dict[object, list[_Difference]] = defaultdict(list)
    for one in differences:
        name = one.node.name if not one.node.is_numbered else ""
        groups[one.kind, one.source, name, len(_parts(one))].append(one)
    found = []
    for alike in groups.values():
        first, words = alike[0], {one.what for one in alike}
        what = first.what if len(words) == 1 else f"{first.node.row.type} of several sizes"
        columns = (dict.fromkeys(part) for part in zip(*map(_parts, alike), strict=True))
        path = ".".join(next(iter(names)) if len(names) == 1 else "*" for names in columns)
        delta = sum((one.delta for one in alike), _ZERO)
        mark = _MARKS[first.kind]
        found.append(Change(mark, path or _OWN, what, int(delta), len(alike), first.source))
    return found


def _parts(one: _Difference) -> tuple[str, ...]:
    return tuple(one.node.row.path.split(".")) if one.node.row.path else ()


def _line(one: _Difference) -> Line:
    notes = (one.what, one.source or "")
    return Line(one.kind, _parts(one), _parts(one), None, int(one.delta), notes=notes)


def _change(line: Line) -> Change:
    what, source = line.notes
    path = line.path or _OWN
    return Change(_MARKS[line.kind], path, what, line.sum, line.times, source or None)


_ZERO = Fraction()


def _by_module(measured: Measured) -> Mapping[str, dict[str, _Held]]:
    """What each module holds first, by its name there."""
    found: dict[str, dict[str, _Held]] = defaultdict(dict)
    weights = measured.weights or ["1"] * len(measured.parameters)
    for row, weight in zip(measured.parameters, weights, strict=True):
        path, _, name = row.name.rpartition(".")
        found[path][name] = _Held(row, prod(row.shape) * Fraction(weight))
    return found


def _amount(held: _Held | None) -> Fraction:
    return held.amount if held else _ZERO


def _ties(node: Node) -> dict[str, str]:
    """Own names → the parameter that was there before (`name = other.path.name`)."""
    return dict(re.split(" = ", tie, maxsplit=1) for tie in node.row.tied)


def _shape(row: ParameterRow) -> str:
    return "×".join(map(str, row.shape)) or "1 number"
