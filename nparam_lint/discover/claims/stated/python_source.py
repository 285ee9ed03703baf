"""Counts in Python: the keys of dictionaries, calls and assignments, comments, docstrings."""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter
from contextlib import suppress
from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from nparam_lint.discover.claims.count_words import selector_of
from nparam_lint.discover.claims.doc_text import cells
from nparam_lint.discover.claims.stated import StatedCount
from nparam_lint.discover.claims.stated.sentences import (
    counts_in_comments,
    counts_in_docstring,
    counts_in_paragraphs,
)
from nparam_lint.discover.claims.stated.tables import counts_in_table
from nparam_lint.discover.claims.stated.words import (
    called_by,
    is_of_another,
    is_of_run,
    key_unit,
    readings_at,
)
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.values import DocLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_Documented: TypeAlias = "ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef"
_SCOPES = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_QUOTES = late_pattern(r"^\s*[rRuU]?(?:\"\"\"|''')|(?:\"\"\"|''')\s*$")
_SAYS_UNIT = late_pattern(r"[0-9.]+\s?[kKmMbB]")  # of a count: `"5.1M"`
# A dictionary is of counts, where `MODEL_PARAM` holds arguments.
_COUNTS = late_pattern(r"^(?:n|nb|num|no|number_of|total)_|count", re.IGNORECASE)
_LONGEST_NAME = 120


def stated_counts(path: str, text: str) -> Iterator[StatedCount]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    lines = text.split("\n")
    with suppress(RecursionError):  # of what is nested deeper than anybody writes
        yield from _keys(tree, (), lines)
    of_file = [*_docstring(tree, lines)]
    yield from counts_in_paragraphs(of_file)
    yield from _in_tables(of_file)
    definitions = [*_definitions(tree)]
    times = Counter(name for name, node in definitions if getattr(node, "name", "") != "__init__")
    for name, node in definitions:
        docstring = [*_docstring(node, lines)]
        if times[name] == 1:  # else it depends on the environment which of them there is
            yield from counts_in_docstring(docstring, name)
        yield from _in_tables(docstring)
    yield from counts_in_comments(path, text)


def _definitions(node: ast.AST, outer: str = "") -> Iterator[tuple[str, _Documented]]:
    """The classes and functions that a file's models may be, by their names in it; the constructor
    by that of its class."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _SCOPES):
            is_constructor = outer and child.name == "__init__"
            name = outer[:-1] if is_constructor else f"{outer}{child.name}"
            yield name, child
            if isinstance(child, ast.ClassDef):
                yield from _definitions(child, f"{name}.")
        elif isinstance(child, (ast.If, ast.Try, ast.ExceptHandler, ast.With)):
            yield from _definitions(child, outer)


def _in_tables(lines: Sequence[DocLine]) -> Iterator[StatedCount]:
    """The counts in the tables of a docstring: lines of as many columns, but for drawn ones."""
    written = (line for line in lines if re.search(r"\w|^\s*$", line.text))
    for bars, alike in groupby(written, key=lambda line: line.text.count("|")):
        if bars:
            yield from counts_in_table([cells(line.text, line.line) for line in alike])


def _docstring(node: _Documented, lines: Sequence[str]) -> Iterator[DocLine]:
    """The lines of a docstring, as they are written."""
    first = node.body[0] if node.body else None
    if not isinstance(first, ast.Expr) or _text(first.value) is None:
        return
    for number in range(first.lineno, (first.end_lineno or first.lineno) + 1):
        yield DocLine(_QUOTES.sub(lambda m: " " * len(m[0]), lines[number - 1]), number, 1)


def _keys(node: ast.AST, around: tuple[str, ...], lines: Sequence[str]) -> Iterator[StatedCount]:
    """`around`: the names of what encloses the node, nearest first."""
    match node:
        case ast.Dict(keys=keys, values=values):
            entries = [(_text(k), v) for k, v in zip(keys, values, strict=True)]
        case ast.Call(keywords=keywords):
            entries = [(k.arg, k.value) for k in keywords]
        case ast.ClassDef(body=body) | ast.Module(body=body):
            entries = [pair for statement in body for pair in _assigned(statement)]
        case _:
            entries = []
    entries_by_key = [(key, value) for key, value in entries if key]
    of_model = [(key, value) for key, value in entries_by_key if not is_of_another(key)]
    called = called_by({key: text for key, value in of_model for text in _strings([value])})
    beside = (
        *_strings(value for _, value in of_model),
        *_strings(node.args if isinstance(node, ast.Call) else ()),
    )
    if isinstance(node, ast.Module):
        beside, called = (), ""
    if isinstance(node, ast.ClassDef):
        beside = (*beside, node.name)
    for key, value in entries_by_key:
        unit = key_unit(key)
        if unit is None or is_of_run(next(iter(around), "")):
            continue
        if isinstance(value, ast.Dict):  # `PARAMS_M = {"vit_tiny": 5.7}`
            is_of_counts = unit[0] or _COUNTS.search(key)
            for name, inner_value in zip(map(_text, value.keys), value.values, strict=True):
                is_count = is_of_counts or _SAYS_UNIT.fullmatch(_text(inner_value) or "")
                if is_count and name and (count := _count(key, inner_value, lines)):
                    yield replace(count, names=(name, *around))
        elif count := _count(key, value, lines):
            yield replace(count, names=(*beside, *around), called=called)
    if isinstance(node, _SCOPES):
        around = (node.name, *around)
    if isinstance(node, ast.Assign):
        around = (*(t.id for t in node.targets if isinstance(t, ast.Name)), *around)
    inner: dict[int, str] = {id(value): key for key, value in entries_by_key}
    # What a dictionary or a call says of its model is said of the counts in what it holds, too.
    outer = around if isinstance(node, (ast.Module, *_SCOPES)) else (*beside, *around)
    for child in ast.iter_child_nodes(node):
        above = inner.get(id(child))
        yield from _keys(child, (above, *outer) if above else outer, lines)


def _count(key: str, value: ast.expr, lines: Sequence[str]) -> StatedCount | None:
    """The count that a constant is, which stands at a key of counts."""
    if not isinstance(value, ast.Constant):
        return None
    before = lines[value.lineno - 1].encode()
    text = before[value.col_offset : value.end_col_offset].decode("utf-8", "replace").strip("\"'")
    if not (readings := readings_at(key, text)):
        return None
    column = len(before[: value.col_offset].decode()) + 1 + isinstance(value.value, str)
    place = value.lineno, column
    return StatedCount(f"{key}={text}", readings, selector_of(key), *place, is_name=True)


def _assigned(statement: ast.stmt) -> Iterator[tuple[str | None, ast.expr]]:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            yield name, value
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield name, value


def _strings(values: Iterable[ast.expr]) -> list[str]:
    """The names among some values: strings, and what they refer to."""
    names = []
    for value in values:
        if (text := _text(value)) and len(text) <= _LONGEST_NAME and "\n" not in text:
            names.append(text)
        elif isinstance(value, ast.Name):
            names.append(value.id)
        elif isinstance(value, ast.Attribute):
            names.append(value.attr)
    return names


def _text(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
