"""What is drawn of models, and its data for the script of the page."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from nparam_lint.count.measured import Measured, ModuleRow, ParameterRow
from nparam_lint.ground.printable import clean

# Of each module that holds parameters itself, what they are for; the parameters may be unknown.
RolesOf = Callable[[Sequence["ModuleRow"], Sequence["ParameterRow"]], Mapping[str, str]]


class DrawnChange(Struct, frozen=True):
    """What became of a module. The paths are those on each side; None where it is not there."""

    kind: str
    before: str | None
    after: str | None
    delta: int
    notes: tuple[str, ...] = ()


class Picture(Struct, frozen=True):
    """One model, or several beside each other, each with what it is called there. `changes`: these
    are one model before and after."""

    sides: tuple[tuple[str, Measured], ...]
    changes: tuple[DrawnChange, ...] | None = None


class PageData:
    """The data of all pictures of a page. What several modules have in common is said once: texts,
    and modules that are equal with all that is below them, in whichever model.

    A node is `[type, own, source, role, children, more]`: numbers of texts (None where there is
    none), parameters, then for each child its name, its node and how many neighbours with following
    numbers are equal to it. `more`, where there is something in it: `t` the total, where that is
    not the sum of what is new at and below it; `f` frozen and `b` buffer elements; `s` the path
    under which this very module appeared before; `k` its parameters that appeared before.
    """

    def __init__(self, roles_of: RolesOf | None) -> None:
        self._roles_of = roles_of
        self._texts: dict[str, int] = {}
        self._nodes: dict[tuple[Any, ...], int] = {}
        self._new: list[int] = []
        self._pictures: list[dict[str, Any]] = []

    def add(self, picture: Picture) -> int:
        """Its number on the page."""
        sides = []
        for name, measured in picture.sides:
            kind = clean(measured.counts.type)
            sides.append({"name": clean(name), "type": kind, "root": self._root(measured)})
        changes = []
        for change in picture.changes or ():
            paths = (None if p is None else clean(p) for p in (change.before, change.after))
            notes = "; ".join(map(clean, change.notes))
            changes.append([change.kind, *paths, change.delta, notes])
        is_one = picture.changes is not None  # before and after
        self._pictures.append({"sides": sides, "changes": changes if is_one else None})
        return len(self._pictures) - 1

    @property
    def pictures(self) -> int:
        """How many there are."""
        return len(self._pictures)

    @property
    def json(self) -> str:
        """As it stands in an element of the page: nothing in it ends that element."""
        data = {
            "strings": list(self._texts),
            "nodes": [[*node, dict(more)] if more else node for *node, more in self._nodes],
            "pictures": self._pictures,
        }
        return json.dumps(data, separators=(",", ":")).replace("<", r"\u003c")

    def _text(self, text: str | None) -> int | None:
        return None if text is None else self._texts.setdefault(clean(text), len(self._texts))

    def _root(self, measured: Measured) -> int:
        rows = measured.modules
        roles = self._roles_of(rows, measured.parameters) if self._roles_of else {}
        children: dict[str, list[tuple[str, int]]] = {row.path: [] for row in rows}
        node = 0
        for row in reversed(rows):  # what is inside a module stands after it
            node = self._node(row, roles.get(row.path), _runs(reversed(children[row.path])))
            above = row.path.rpartition(".")[0]
            while above not in children:
                above = above.rpartition(".")[0]
            name = row.path[len(above) + 1 :] if above else row.path
            if row.path:
                children[above].append((name, node))
        return node

    def _node(self, row: ModuleRow, role: str | None, children: tuple[str | int, ...]) -> int:
        new = row.own
        for node, times in zip(children[1::3], children[2::3], strict=True):
            new += self._new[int(node)] * int(times)
        more: tuple[tuple[str, object], ...] = (
            ("t", row.total if row.total != new else None),
            ("f", row.frozen or None),
            ("b", row.buffers or None),
            ("s", None if row.shared_with is None else clean(row.shared_with)),
            ("k", tuple(map(clean, row.tied)) or None),
        )
        more = tuple((name, value) for name, value in more if value is not None)
        key = (self._text(row.type), row.own, self._text(row.source), self._text(role))
        number = self._nodes.setdefault((*key, children, more), len(self._nodes))
        if number == len(self._new):
            self._new.append(new)
        return number


def _runs(children: Any) -> tuple[str | int, ...]:
    """Name, node and number of equal neighbours of each. A number is one only where it is written
    like one (`007` is a name)."""
    flat: list[str | int] = []
    for text, node in children:
        is_number = text.isdecimal() and len(text) < 10 and text == str(int(text))
        name: str | int = int(text) if is_number else clean(text)
        is_next = bool(flat) and isinstance(name, int) and isinstance(flat[-3], int)
        if is_next and flat[-2] == node and int(flat[-3]) + int(flat[-1]) == name:
            flat[-1] = int(flat[-1]) + 1
        else:
            flat += [name, node, 1]
    return tuple(flat)
