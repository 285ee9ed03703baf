"""Edits of comments, docstrings and layout alone: what was measured holds, and its lines move."""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec.json import decode, encode

from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Lines = dict[int, int]  # line before -> line now
# What reads its own source, or what stands there for readers.
_READERS = late_pattern(
    rb"__doc__|docopt|docstring|getsource|getcomments|getdoc|linecache|#\s*type:|tokenize|ast\.parse"
    rb"|\blineno|f_lineno|co_(?:firstlineno|consts|lines|code|linetable)|inspect\.(?:stack|trace)"
    rb"|getframeinfo|extract_stack|currentframe|_getframe"
)


def reads_source(text: bytes) -> bool:
    """Whether code may depend on more than its syntax tree: on docstrings, comments, lines."""
    return _READERS.search(text) is not None


def moved_lines(before: bytes, now: bytes) -> Lines | None:
    """Where the lines of a file are after an edit that no code can see; None after another one."""
    with suppress(SyntaxError, ValueError, RecursionError):
        trees = [_without_docstrings(ast.parse(text)) for text in (before, now)]
        dumps = [ast.dump(tree) for tree in trees]
        if dumps[0] == dumps[1]:
            lines: dict[int, set[int]] = {}
            for line_before, line_now in zip(*map(_lines, trees), strict=True):
                lines.setdefault(line_before, set()).add(line_now)
            # What stood in one line, and stands in several, is not told apart.
            return {line: new.pop() for line, new in lines.items() if len(new) == 1}
    return None


def with_moved_lines(answer: bytes, moves: Mapping[str, Lines]) -> bytes | None:
    """A measurement as JSON, whose lines (`path:line`, or a path and a line) are those of now; None
    where one is of a line of which that is not known."""
    places = re.compile(
        r"(?<![\w./-])(" + "|".join(map(re.escape, moves)) + r"):(\d+)(?!\d)", re.ASCII
    )

    def moved(value: Any) -> Any:
        if isinstance(value, str):
            return places.sub(lambda at: f"{at[1]}:{moves[at[1]][int(at[2])]}", value)
        if isinstance(value, list):
            return [moved(item) for item in value]
        if isinstance(value, dict):
            table = {key: moved(item) for key, item in value.items()}
            if value.get("path") in moves and isinstance(value.get("line"), int):
                table["line"] = moves[value["path"]][value["line"]]
            return table
        return value

    with suppress(KeyError):
        return encode(moved(decode(answer)))
    return None


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[:1]
            if first and isinstance(first[0], ast.Expr):
                value = first[0].value
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    del node.body[0]
    return tree


def _lines(tree: ast.Module) -> Iterator[int]:
    """Those that Python may be in while it makes something."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.stmt, ast.Call, ast.BinOp, ast.Subscript)):
            yield node.lineno
        yield from (decorator.lineno for decorator in getattr(node, "decorator_list", ()))
