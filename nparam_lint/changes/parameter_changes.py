"""What made a count change, by the parameters of each module. The changes add up to the difference.

Of modules that are the same, the parameters of one name are the same.
"""

from __future__ import annotations

import re
from collections import defaultdict
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from nparam_lint.changes.fold_changes import Line, folded, parts_of
from nparam_lint.changes.module_pairs import pair_modules
from nparam_lint.ground.findings import Change
from nparam_lint.ground.grouping import grouped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nparam_lint.changes.module_pairs import ModulePair
    from nparam_lint.count.measured import Measured, ParameterRow
    from nparam_lint.count.module_tree import Node

_MARKS: dict[str, Literal["+", "−", "~"]] = {"added": "+", "removed": "−", "changed": "~"}
_MANY = 6  # changes; of more, those that one line of source makes are told together
_OWN = "(its own)"
_ELSEWHERE = "counted in modules elsewhere"
_ZERO = Fraction()


class _Parameter(Struct, frozen=True):
    """One that a metric counts, or a buffer; `amount`: as what."""

    row: ParameterRow
    amount: Fraction


class _Difference(Struct, frozen=True):
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
        self.hidden = {container.path: container.what for container in after.hidden}
        self.was_hidden = {container.path: container.what for container in before.hidden}

    def of(self, path: str = "") -> tuple[int | None, tuple[Change, ...]]:
        """What the module at `path` counted before, None where it was not there; and the changes
        since, largest first."""
        pair = self.pairs[path]
        count = pair.then.row.of(self.metric) if pair.then else None
        if count is None:
            return None, ()
        differences = self.below(pair)
        lines = []
        for item in differences:
            parts, notes = parts_of(item.node.row.path), (item.what, item.source or "")
            lines.append(Line(item.kind, parts, parts, None, int(item.delta), notes=notes))
        changes = []
        for line in folded(lines):
            mark, (what, source) = _MARKS[line.kind], line.notes
            changes.append(
                Change(mark, line.path or _OWN, what, line.sum, line.times, source or None)
            )
        if len(changes) > _MANY:
            changes = _by_line(differences)
        changes.sort(key=lambda change: -abs(change.delta))
        count_now = pair.node.row.of(self.metric) or 0
        if elsewhere := count_now - count - sum(change.delta for change in changes):
            changes.append(Change("~", path or "(all)", _ELSEWHERE, elsewhere))
        return count, tuple(change for change in changes if change.delta)

    def below(self, pair: ModulePair) -> list[_Difference]:
        """Those of a module, and of all that is or was below it; one that has come to all
        parameters below it stands for them."""
        node = pair.node
        if not (pair.then and pair.now):
            return [*self._one_sided(pair)]
        differences = [*self._of_module(pair.then, pair.now)]
        for child in sorted(pair.children, key=lambda child: child.now is None):
            differences += self.below(child)
        words = {(item.kind, item.what) for item in differences}
        covered = sum(item.covers for item in differences)
        if len(words) == 1 and len(differences) > 1 and covered == node.filled:
            first, delta = differences[0], sum((item.delta for item in differences), _ZERO)
            lines = {item.source for item in differences}  # that of a layer that is used everywhere
            source = first.source if len(lines) == 1 else node.row.source
            return [_Difference(first.kind, node, first.what, delta, source, node.filled)]
        return differences

    def _of_module(self, old: Node, node: Node) -> Iterator[_Difference]:
        """That of the parameters that a module holds itself."""
        was, now = self.then[old.row.path], self.now[node.row.path]
        amounts = {name: -parameter.amount for name, parameter in was.items()}
        for name, parameter in now.items():
            amounts[name] = amounts.get(name, _ZERO) + parameter.amount
        deltas = {name: amount for name, amount in amounts.items() if amount}
        if not deltas:
            return
        name = max(deltas, key=lambda name: abs(deltas[name]))
        what = self._words(name, old, node)
        if old.row.type != node.row.type:
            what = f"{old.row.type} → {node.row.type}, {what}"
        source = node.row.source or (now[name].row.source if name in now else None)
        yield _Difference("changed", node, what, sum(deltas.values(), _ZERO), source)

    def _words(self, name: str, old: Node, node: Node) -> str:
        """What became of one parameter of a module."""
        was, now = self.then[old.row.path].get(name), self.now[node.row.path].get(name)
        if was and now:
            if was.row.shape != now.row.shape:
                return f"{_shape(was.row)} → {_shape(now.row)}"
            if was.row.dtype != now.row.dtype:
                return f"{was.row.dtype} → {now.row.dtype}"
            return f"{name}: another share is used"
        ties_then, ties_now = _ties(old), _ties(node)
        if name in ties_now and name not in ties_then:
            return f"{name} is tied to {ties_now[name]} now"
        if name in ties_then and name not in ties_now:
            return f"{name} is no longer tied to {ties_then[name]}"
        if old.row.own == node.row.own:  # it is there, and not counted on one side
            return "trainable now" if bool(now) == (self.metric == "trainable") else "frozen now"
        if now:
            return f"{name} added ({_shape(now.row)})"
        return f"{name} removed ({_shape(self.then[old.row.path][name].row)})"

    def _one_sided(self, pair: ModulePair) -> Iterator[_Difference]:
        """What is on one side only; parts of it may be elsewhere on the other."""
        node, is_new = pair.node, pair.now is not None
        parameters = self.now if is_new else self.then
        parts = [*node.walk()] if pair.is_alone else [node]
        amounts = (p.amount for part in parts for p in parameters[part.row.path].values())
        if amount := sum(amounts, _ZERO):
            # It may have come out of a plain container, or have gone into one.
            containers, when = (self.was_hidden, "was in") if is_new else (self.hidden, "now in")
            inside = (
                f" {when} a plain {what}"
                for path, what in containers.items()
                if path and f"{node.row.path}.".startswith(f"{path}.")
            )
            what = node.row.type + next(inside, "")
            delta = amount if is_new else -amount
            covers = node.filled if pair.is_alone else 1
            kind: Literal["added", "removed"] = "added" if is_new else "removed"
            yield _Difference(kind, node, what, delta, node.row.source, covers)
        for child in () if pair.is_alone else pair.children:
            yield from self.below(child)


def _by_line(differences: Sequence[_Difference]) -> list[Change]:
    """One change for all that the same line makes under the same name, such as the layers of a
    DenseNet, of which each has another width."""

    def making(item: _Difference) -> tuple[object, ...]:
        name = item.node.name if not item.node.is_numbered else ""
        return item.kind, item.source, name, len(parts_of(item.node.row.path))

    changes = []
    for alike in grouped(differences, making).values():
        first, words = alike[0], {item.what for item in alike}
        what = first.what if len(words) == 1 else f"{first.node.row.type} of several sizes"
        paths = (parts_of(item.node.row.path) for item in alike)
        columns = map(dict.fromkeys, zip(*paths, strict=True))
        path = ".".join(next(iter(names)) if len(names) == 1 else "*" for names in columns)
        delta = sum((item.delta for item in alike), _ZERO)
        mark = _MARKS[first.kind]
        changes.append(Change(mark, path or _OWN, what, int(delta), len(alike), first.source))
    return changes


def _by_module(measured: Measured) -> Mapping[str, dict[str, _Parameter]]:
    """What each module holds first, by its name there."""
    modules: dict[str, dict[str, _Parameter]] = defaultdict(dict)
    weights = measured.weights or ["1"] * len(measured.parameters)
    for row, weight in zip(measured.parameters, weights, strict=True):
        path, _, name = row.name.rpartition(".")
        modules[path][name] = _Parameter(row, prod(row.shape) * Fraction(weight))
    return modules


def _ties(node: Node) -> dict[str, str]:
    """Own names → the parameter that was there before (`name = other.path.name`)."""
    return dict(re.split(" = ", tie, maxsplit=1) for tie in node.row.tied)


def _shape(row: ParameterRow) -> str:
    return "×".join(map(str, row.shape)) or "1 number"
