"""Whether Python can compile what it could parse. To compile a whole file takes as long as to parse
it, and in most of it nothing can be wrong: only the rest is compiled.

A statement is sure if it is of one of the kinds below, and has no word of `_WORDS`, no star that is
assigned to, and no keyword twice. Nothing else is refused of what has a syntax tree: the tests
compare with `compile` itself.
"""

from __future__ import annotations

import ast
import copy
import re
from bisect import bisect_left
from typing import TYPE_CHECKING, Any

from nparam_lint.discover.syntax import FUNCTIONS, inside, parameter_names

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from nparam_lint.discover.syntax import Function

_WORDS = ("lambda", "yield", "await", "async", ":=", "__debug__", "__future__")
# `for a, *b in c`, in a comprehension too.
_STARRED_LOOP = re.compile(r"for\b(?:(?!\bin\b)[\w\s,.()\[\]#])*\*")
_KEYWORD = re.compile(r"[(,\n]\s*(\w+)\s*=(?!=)")
_SIMPLE = {ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Raise, ast.Assert, ast.Delete}
_SIMPLE |= {ast.Pass, ast.Import, ast.ImportFrom}
_IN_FUNCTION = _SIMPLE | {ast.Return}
_BLOCKS = {ast.If, ast.For, ast.While, ast.With, ast.Try}
_DEEP = 6  # blocks in each other; each counts up to three times, and Python allows twenty
_MANY = 3  # contexts of one `with`, each of which is a block


def doubtful_part(tree: ast.Module, text: str, lines: Sequence[str]) -> ast.Module:
    """What has to be compiled to know that the file can be. `lines`: those of the text."""
    return ast.Module(_Doubts(text, lines).of_scope(tree.body), [])


class _Doubts:
    def __init__(self, text: str, lines: Sequence[str]) -> None:
        self._lines = lines
        self._marked = [*_marked(text)]

    def of_scope(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The statements of a file or a class that are not sure; of a class, only such in it."""
        doubts: list[ast.stmt] = []
        for number, node in enumerate(body):
            if isinstance(node, ast.ClassDef):
                inner = self.of_scope(node.body)
                if inner or not self._has_sure_header(node):
                    part = copy.copy(node)
                    part.body = inner or node.body[:1]
                    doubts.append(part)
            elif isinstance(node, FUNCTIONS):
                if not (self._has_sure_header(node) and self._are_sure(node.body, _IN_FUNCTION)):
                    doubts.append(node)
            elif isinstance(node, ast.ImportFrom) and node.module == "__future__":
                doubts = [*body[: number + 1]]  # it counts what is before it
            elif not self._are_sure([node], _SIMPLE):
                doubts.append(node)
        plain = (node for node in doubts if not isinstance(node, (ast.ClassDef, *FUNCTIONS)))
        if any(isinstance(inner, ast.Global) for node in plain for inner in ast.walk(node)):
            return [*body]  # the name must not be used before
        return doubts

    def _has_sure_header(self, node: ast.ClassDef | Function) -> bool:
        first, last = min(item.lineno for item in (node, *node.decorator_list)), _header_end(node)
        if getattr(node, "type_params", None) or self._is_marked(first, last):
            return False
        names = [] if isinstance(node, ast.ClassDef) else parameter_names(node.args)
        return len(set(names)) == len(names) and not _repeats(self._text(first, last))

    def _is_marked(self, first: int, last: int) -> bool:
        at = bisect_left(self._marked, first)
        return at < len(self._marked) and self._marked[at] <= last

    def _text(self, first: int, last: int) -> str:
        lines = self._lines
        return lines[first - 1] if first == last else "\n".join(lines[first - 1 : last])

    def _are_sure(self, body: Sequence[ast.stmt], simple: Collection[type[ast.stmt]]) -> bool:
        if self._is_marked(body[0].lineno, body[-1].end_lineno or 0):
            return False
        level = body
        for _ in range(_DEEP):
            inner: list[ast.stmt] = []
            for node in level:
                kind = node.__class__
                if kind in simple:
                    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                        continue  # a docstring
                    text = self._text(node.lineno, node.end_lineno or 0)
                    if ("=" in text and _repeats(text)) or ("*" in text and _assigns_star(node)):
                        return False
                elif kind in _BLOCKS and self._is_sure_block(node):
                    inner += inside(node)
                else:
                    return False
            if not inner:
                return True
            level = inner
        return False

    def _is_sure_block(self, node: Any) -> bool:
        """Whether what stands around the statements of a block is sure."""
        text = self._text(node.lineno, _header_end(node))
        if isinstance(node, ast.Try):
            headers = (self._text(part.lineno, _header_end(part)) for part in node.handlers)
            return all(part.type for part in node.handlers) and not any(map(_repeats, headers))
        if isinstance(node, (ast.For, ast.With)) and "*" in text:
            return False
        return len(getattr(node, "items", ())) <= _MANY and not _repeats(text)


def _marked(text: str) -> Iterator[int]:
    """The lines with one of the words, and those in which a loop assigns to a star, in order."""
    offsets = [match.end() for match in _STARRED_LOOP.finditer(text)]
    for word in _WORDS:
        at = text.find(word)
        while at >= 0:
            offsets.append(at)
            at = text.find(word, at + 1)
    line, before = 1, 0
    for offset in sorted(offsets):
        line += text.count("\n", before, offset)
        yield line
        before = offset


def _header_end(node: Any) -> int:
    """The last line before the body of a compound statement; the first, where both share it."""
    return int(max(node.lineno, node.body[0].lineno - 1))


def _repeats(text: str) -> bool:
    """Whether a keyword stands twice in it, if only in two calls, or may do so behind a comment."""
    names = _KEYWORD.findall(text) if text.count("=") > 1 else ()
    return len(set(names)) < len(names) or bool(names and "#" in text)


def _assigns_star(node: ast.stmt) -> bool:
    """Whether a star is assigned to, or stands alone as a value."""
    stack = [getattr(node, "value", None), *getattr(node, "targets", ())]
    while stack:
        item = stack.pop()
        if isinstance(item, ast.Starred):
            return True
        if isinstance(item, (ast.Tuple, ast.List)) and isinstance(item.ctx, ast.Store):
            stack += item.elts
    return isinstance(node, ast.ImportFrom)
