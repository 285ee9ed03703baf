"""A Python file as text, and where the nodes of its tree stand in it: once it is edited, it is the
same program, and all other text is as it was, byte for byte."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING

from nparam_lint.discover.syntax import character
from nparam_lint.rewrite.edits import Unsafe

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Span = tuple[int, int]  # where a part of the text begins and ends
NEWLINE = re.compile(r"\r\n|\r|\n")


class PythonText:
    """Raises Unsafe for what cannot be read."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        try:
            self.tree = parsed(source)
            self.encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
            self.text = source.decode(self.encoding)
        except (SyntaxError, ValueError) as error:
            raise Unsafe(f"the file cannot be read: {error}") from None
        except (RecursionError, MemoryError):
            raise Unsafe("the file's expressions are nested too deeply") from None
        self._starts = [*line_starts(self.text), len(self.text)]

    def span(self, node: ast.stmt | ast.expr) -> Span:
        end_line, end_column = node.end_lineno, node.end_col_offset
        assert end_line is not None
        assert end_column is not None
        return self._offset(node.lineno, node.col_offset), self._offset(end_line, end_column)

    def _offset(self, line: int, column: int) -> int:
        start, end = self._starts[line - 1 : line + 1]
        return start + character(self.text[start:end], column)

    def before(self, node: ast.stmt | ast.expr) -> str:
        """What stands before a node on its line."""
        return self.text[self._starts[node.lineno - 1] : self.span(node)[0]]

    def line(self, number: int) -> str:
        return self.text[self._starts[number - 1] : self._starts[number]]

    def start_of_line(self, number: int) -> int:
        return self._starts[number - 1]

    def indent(self) -> str:
        """By how much the blocks of the file are indented."""
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                outer, inner = self.before(node), self.before(node.body[0])
                if inner.isspace() and inner.startswith(outer):
                    return inner.removeprefix(outer)
        return "    "

    def edited(
        self, changes: Mapping[Span, str], program: Callable[[ast.Module], str] = ast.dump
    ) -> bytes:
        """The file with other text in some places. `program`: what is to stay the same of it.
        Raises Unsafe."""
        text = self.text
        for (start, end), new in sorted(changes.items(), reverse=True):
            text = text[:start] + new + text[end:]
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            source = text.encode(self.encoding)
            if program(parsed(self.source)) == program(parsed(source)):
                return source
        raise Unsafe("the changed file would not be the same program")


def parsed(source: str | bytes) -> ast.Module:
    """Raises what `ast.parse` raises; warns of nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # odd escapes are not ours to report
        return ast.parse(source)


def line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in NEWLINE.finditer(text))]
