"""A model's modules as the rows of a short table: repeated blocks folded, empty modules left out.

What is shown adds up: the sum of `counted` over the rows is the model's total.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from nparam_lint.count.measured import Measured, ModuleRow
from nparam_lint.count.module_tree import Node, link
from nparam_lint.report import Cell, Column, Row, Step, Table, style

_FOOTNOTES = 4


class Modules(Struct, frozen=True):
    """The modules of a model as a tree, in about `limit` rows, or the heaviest where one level has
    more than twice as many. `name`: that of the model. `brief`: without notes on how to see more
    and on what is tied."""

    measured: Measured
    depth: int | None
    limit: int
    name: str = ""
    brief: bool = False

    @property
    def table(self) -> Table:
        """No rows where the total is all that there is to say. `own` is that of one module, `total`
        that of all that the row stands for."""
        modules = self.measured.modules
        tree = make_tree(modules, self.depth, self.limit)
        rows = tree.rows if len(tree.rows) > 1 else ()
        if self.depth is None and len(rows) > 2 * self.limit:  # flat, of hundreds of layers
            heaviest = sorted(rows, key=lambda row: -row.times * row.new)[: self.limit]
            shown = {id(row) for row in heaviest}  # in their order; the first is the total
            rows = tuple(row for row in rows if id(row) in shown)
        notes = tree.notes(rows, "" if self.brief else "--depth shows more")
        notes += [] if self.brief else _footnotes(modules)
        lines, whole = [], rows[0].module.total if rows else 0
        for row in rows:
            indent = "  " * max(row.level - 1, 0)
            first, fold, last = row.label.partition(" … ")
            short = f"{indent}{first}{fold}{last.rpartition('.')[2]}" if fold else ""
            tone, weight = "" if row.level else "bold", row.times * row.new
            cells = (
                Cell(indent + row.label, tone, short=short),
                row.module.type,
                f"{row.module.own:,}" if row.module.own else "",
                Cell(row.total, tone),
                style.share(weight, whole),
                Cell(", ".join(row.marks), "yellow", bar=(weight, whole)),
                row.module.source or "",
            )
            lines.append(Row(cells))
        return Table(_COLUMNS, tuple(lines), _STEPS, notes=tuple(notes), noun="module")


class TreeRow(Struct, frozen=True):
    """One line of the table, with the (first) module that it stands for.

    `new`: parameters at or below it that no module before it holds. `closed`: the modules below it
    are not shown; `more`: but could be. `marks`: of `tied`, `shared`, `frozen`, `part frozen`.
    """

    module: ModuleRow
    label: str
    level: int
    times: int
    new: int
    closed: bool
    more: bool
    marks: tuple[str, ...]

    @property
    def counted(self) -> int:
        """What this row adds to the sum of the rows."""
        return self.times * (self.new if self.closed else self.module.own)

    @property
    def total(self) -> str:
        """What is counted elsewhere stands in brackets, so that the rest adds up."""
        times = f"{self.times:,} × " if self.times > 1 else ""
        elsewhere = self.module.total - self.new
        if not elsewhere:
            return f"{times}{self.new:,}"
        return f"{times}{self.new:,} (+{elsewhere:,})" if self.new else f"{times}({elsewhere:,})"


class Tree(Struct, frozen=True):
    """`empty`: modules without parameters, left out."""

    rows: tuple[TreeRow, ...]
    empty: int

    def notes(self, shown: Sequence[TreeRow], deeper: str) -> list[str]:
        """In one line, what is not among these rows; `deeper`: said where some hold more below
        them."""
        seen, notes = {id(row) for row in shown}, []
        if hidden := [row for row in self.rows if id(row) not in seen]:
            count = sum(row.counted for row in hidden)
            notes.append(f"… and {style.plural(len(hidden), 'row')} with {count:,} parameters")
        if self.empty:
            notes.append(f"… and {style.plural(self.empty, 'module')} without parameters")
        if deeper and any(row.more for row in self.rows):
            notes.append(deeper)
        return [" · ".join(notes)] if notes else []


def _look(node: Node) -> tuple[object, ...]:
    """What is the same of neighbours that fold into one row."""
    row = node.row
    ties = row.shared_with is None, len(row.tied)
    return row.type, row.own, row.total, row.trainable, node.weight, ties


def make_tree(modules: Sequence[ModuleRow], depth: int | None, limit: int) -> Tree:
    """`depth` levels below the root; None: the heaviest modules opened first, for as long as the
    table has no more than `limit` rows."""
    if not modules:
        return Tree((), 0)
    root = link(modules, {}, _look)
    if depth is not None:
        return _flatten(root, depth)
    tree, opened = _flatten(root, 1), frozenset[str]()
    while True:
        heaviest = max((row.counted for row in tree.rows if row.more), default=None)
        opened |= {row.module.path for row in tree.rows if row.more and row.counted == heaviest}
        larger = _flatten(root, 1, opened)
        if heaviest is None or len(larger.rows) > limit:
            return tree
        tree = larger


def _folded(children: Iterable[Node]) -> list[list[Node]]:
    """Neighbours `0, 1, 2, …` of one structure stand together."""
    groups: list[list[Node]] = []
    for node in children:
        last = groups[-1][-1] if groups else node
        numbered = last.is_numbered and node.is_numbered
        follows = numbered and int(node.name) == int(last.name) + 1
        if follows and last.shape == node.shape:
            groups[-1].append(node)
        else:
            groups.append([node])
    return groups


def _label(path: str, folded: frozenset[int]) -> str:
    """The last name; a number keeps the names before it (`h.0`), for it says nothing alone.
    `folded`: which of the names stand for several (`layers.*.0`)."""
    parts = path.split(".")
    parts = ["*" if i in folded else part for i, part in enumerate(parts)]
    start = len(parts) - 1
    while start > 0 and (parts[start].isdecimal() or parts[start] == "*"):
        start -= 1
    return ".".join(parts[start:])


def _marks(node: Node, closed: bool) -> tuple[str, ...]:
    row, marks = node.row, []
    if row.shared_with is not None:
        marks.append("shared")
    elif row.tied or (closed and node.weight < row.total):
        marks.append("tied")
    if row.total and not row.trainable:
        marks.append("frozen")
    elif row.frozen > (0 if closed else sum(child.row.frozen for child in node.children)):
        marks.append("part frozen")  # here, or in children that are not shown
    return tuple(marks)


def _flatten(root: Node, depth: int, opened: frozenset[str] = frozenset()) -> Tree:
    rows: list[TreeRow] = []
    empty = 0

    def is_open(node: Node, level: int) -> bool:
        return level < depth or node.row.path in opened

    def empties(node: Node, level: int) -> int:
        inner = node.children if is_open(node, level) else ()
        return sum(empties(child, level + 1) for child in inner) + (node.row.total == 0)

    def visit(group: list[Node], level: int, outer: int, folded: frozenset[int]) -> None:
        nonlocal empty
        node, times = group[0], outer * len(group)
        if node.row.total == 0 and level:
            empty += times * empties(node, level)
            return
        inside = node.row.shared_with is None and any(n.row.total for n in node.children)
        closed = not inside or not is_open(node, level)
        label = _label(node.row.path, folded) if level else "(total)"
        if len(group) > 1:
            label += f" … {_label(group[-1].row.path, folded)} ({len(group):,}×)"
            folded |= {node.row.path.count(".")}
        more, marks = closed and inside, _marks(node, closed)
        rows.append(TreeRow(node.row, label, level, times, node.weight, closed, more, marks))
        if is_open(node, level) and node.row.shared_with is None:
            for children in _folded(node.children):
                visit(children, level + 1, times, folded)

    visit([root], 0, 1, frozenset())
    return Tree(tuple(rows), empty)


_COLUMNS = (
    Column("module", "code"),
    Column("type", tone="dim"),
    Column("own", "number", empty=True),
    Column("total", "number", "times"),
    Column("share", "number"),
    Column(""),
    Column("source", "code", "dim"),
)
# `own` and `total` always stand.
_STEPS = (
    Step("bar", "", 6),
    Step("drop", "source"),
    Step("bar", "", 6),
    Step("bar", "", 4),
    Step("shorten", "type", 12),
    Step("short", "module"),
    Step("bar", "", 0),
    Step("shorten", "module", 28),
    Step("shorten", "type", 8),
    Step("drop", "share"),
    Step("shorten", "type", 6),
    Step("shorten", "module", 24),
    Step("shorten", "type", 4),
    Step("shorten", "module", 8),
)


def _footnotes(modules: Sequence[ModuleRow]) -> list[str]:
    """What is counted once though it has two names."""
    shared: dict[str, list[str]] = {}
    notes = []
    again = {row.path for row in modules if row.shared_with is not None}
    for row in modules:
        prefix = f"{row.path}." if row.path else ""
        if row.shared_with is None:
            notes += [f"tied: {prefix + tie}" for tie in row.tied]
        elif row.total and row.path.rpartition(".")[0] not in again:
            shared.setdefault(row.shared_with, []).append(row.path)
    notes += [
        f"shared: {' = '.join([first or '(total)', *others])}" for first, others in shared.items()
    ]
    if len(notes) > _FOOTNOTES:
        notes[_FOOTNOTES - 1 :] = [f"… and {len(notes) - _FOOTNOTES + 1:,} more tied or shared"]
    return notes
