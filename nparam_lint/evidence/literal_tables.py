"""Literal tables of named sizes: dictionaries, lists of entries with a name, enumerations."""

from __future__ import annotations

import ast
import json
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from nparam_lint.discover.syntax import dotted_name, flat, tail, text_of
from nparam_lint.ground.values import Position, Way

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


class Entry(NamedTuple):
    """A name in a table, a text or a whole number: where it stands, and what it stands for; None
    for a mere list of names. `member`: how an enumeration has it."""

    key: str | int
    node: ast.expr
    value: ast.expr | None = None
    member: str = ""

    @property
    def name(self) -> str:
        return str(self.key)

    @property
    def text(self) -> str:
        """As it is written in a call."""
        return self.member or json.dumps(self.key, ensure_ascii=False)

    def way(self, path: str) -> Way:
        """That it is a size; `path`: the file that it stands in."""
        return Way("size", Position(path, self.node.lineno, self.node.col_offset + 1), self.name)


class SizeTable(NamedTuple):
    """The entries in their order. `by_key`: whether `table[name]` is the value of one."""

    entries: tuple[Entry, ...]
    by_key: bool = True


def read_table(node: ast.expr | None, tables: Mapping[str, SizeTable]) -> SizeTable | None:
    """The table that an expression writes, or names among the `tables`; None where it is none."""
    if isinstance(node, ast.Name):
        return tables.get(node.id)
    if isinstance(node, ast.DictComp):  # {item["name"]: item for item in items}
        table = read_table(node.generators[0].iter, tables)
        return SizeTable(table.entries) if table and not table.by_key else None
    entries = tuple(_entries(node))
    return SizeTable(entries, _items(node) is not None) if entries else None


def _entries(node: ast.expr | None) -> Iterator[Entry]:
    items = _items(node)
    if items is not None:
        for key, value in items:
            if key is None:  # **{…}, **dict.fromkeys(["t", "tiny"], …)
                yield from _unpacked(value)
            elif isinstance(key, ast.Constant) and _is_key(key.value):
                yield Entry(key.value, key, value)
    elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        for item in node.elts:
            values = {text_of(key): value for key, value in _items(item) or ()}
            if isinstance(item, ast.Call):  # `Config(name="tiny", width=64)`
                values |= {keyword.arg: keyword.value for keyword in item.keywords}
            name = values.get("name", item)
            if isinstance(name, ast.Constant) and _is_key(name.value):
                yield Entry(name.value, name, None if name is item else item)


def _unpacked(node: ast.expr) -> Iterator[Entry]:
    if isinstance(node, ast.Call) and tail(dotted_name(node.func)) == "fromkeys" and node.args[1:]:
        entries = _entries(node.args[0])
        yield from (entry._replace(value=node.args[1]) for entry in islice(entries, 1))
    else:
        yield from _entries(node) if _items(node) is not None else ()


def _is_key(value: object) -> TypeGuard[str | int]:
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def _items(node: ast.expr | None) -> list[tuple[ast.expr | None, ast.expr]] | None:
    """The items of a dictionary that is written out."""
    if isinstance(node, ast.Dict):
        return list(zip(node.keys, node.values, strict=True))
    if isinstance(node, ast.Call) and tail(dotted_name(node.func)) in ("dict", "OrderedDict"):
        items = _items(node.args[0]) if node.args else []
        if items is not None:
            for item in node.keywords:
                key = ast.copy_location(ast.Constant(item.arg), item) if item.arg else None
                items.append((key, item.value))
        return items
    return None


def keys_of(node: ast.expr | None) -> set[str]:
    """The keys of a dictionary that is written out; empty where one of them is not known."""
    keys = [text_of(key) for key, _ in _items(node) or ()]
    return {key for key in keys if key} if all(keys) else set()


def tables_in(body: Sequence[ast.stmt]) -> dict[str, SizeTable]:
    """The tables that the statements of one scope make, by name."""
    tables: dict[str, SizeTable] = {}
    for node in flat(body):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            _assign(tables, node.targets[0], node.value)
        elif isinstance(node, ast.AnnAssign):
            _assign(tables, node.target, node.value)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            _extend(tables, node.value)
        elif isinstance(node, ast.For):
            _extend_by_kind(tables, node)
        elif isinstance(node, ast.ClassDef) and any("Enum" in dotted_name(b) for b in node.bases):
            values: list[Any] = [getattr(item, "value", None) for item in node.body]
            names = [Entry(name, v) for v in values if (name := text_of(v)) is not None]
            tables[node.name] = SizeTable(tuple(names), by_key=False)
    return tables


def members_of(enumeration: ast.ClassDef, name: str) -> tuple[Entry, ...]:
    """Those of an enumeration that is called so; empty of another class."""
    if not any("Enum" in dotted_name(base) for base in enumeration.bases):
        return ()
    return tuple(
        Entry(target.id, target, node.value, f"{name}.{target.id}")
        for node in enumeration.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    )


def _assign(tables: dict[str, SizeTable], target: ast.expr, value: ast.expr | None) -> None:
    table = read_table(value, tables)
    if isinstance(target, ast.Name):
        tables.pop(target.id, None)
        if table:
            tables[target.id] = table
    elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
        name = text_of(target.slice)
        if name is not None and value is not None:
            _add(tables, target.value.id, (Entry(name, target.slice, value),))


def _extend(tables: dict[str, SizeTable], call: ast.Call) -> None:
    owner, _, method = dotted_name(call.func).rpartition(".")
    if len(call.args) == 1 and owner in tables and method in ("update", "extend", "append"):
        argument = call.args[0]
        addition = ast.List([argument], ast.Load()) if method == "append" else argument
        if table := read_table(addition, tables):
            _add(tables, owner, table.entries)


def _extend_by_kind(tables: dict[str, SizeTable], loop: ast.For) -> None:
    """By entries with a gap in their names, and the first of what fills it: `for size in sizes: for
    kind in ("", "-chat"): … size["name"].format(kind) …; every.append(…)`."""
    table = read_table(loop.iter, tables)
    for inner in loop.body:
        if table is None or not (isinstance(inner, ast.For) and isinstance(inner.iter, ast.Tuple)):
            continue
        kind = text_of(inner.iter.elts[0]) if inner.iter.elts else None
        calls = [dotted_name(node.func) for node in ast.walk(inner) if isinstance(node, ast.Call)]
        for owner in (name.removesuffix(".append") for name in calls if name.endswith(".append")):
            if owner in tables and kind is not None:
                known = {entry.name for entry in tables[owner].entries}
                entries = (e._replace(key=e.name.replace("{}", kind)) for e in table.entries)
                _add(tables, owner, [entry for entry in entries if entry.name not in known])


def _add(tables: dict[str, SizeTable], name: str, entries: Sequence[Entry]) -> None:
    before = tables.get(name, SizeTable(()))
    tables[name] = before._replace(entries=(*before.entries, *entries))
