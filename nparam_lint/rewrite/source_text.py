"""The text of a Python file, with changes where `ast` says that something is.

All other text stays byte for byte, and the program stays the same.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from bisect import bisect_right
from typing import TYPE_CHECKING

from nparam_lint.discover.syntax import character
from nparam_lint.rewrite.edits import Unsafe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Place = tuple[int, int]  # line and column, from 1
Change = tuple[int, int, str]  # from where to where in the text, and what is to stand there

NEWLINE = re.compile(r"\r\n|\r|\n")


class SourceText:
    """`code`: the source as text, whose line ends are those of the file; `tree`: its syntax. Raises
    Unsafe for what cannot be read and given back as it is."""

    def __init__(self, source: bytes) -> None:
        try:
            self._encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
            self.code = source.decode(self._encoding)
            self.tree = parsed(self.code)
            if self.code.encode(self._encoding) != source:
                raise Unsafe("its encoding does not keep the file as it is")
        except (SyntaxError, ValueError) as error:
            raise Unsafe(f"the file cannot be read: {str(error).splitlines()[0]}") from None
        except (RecursionError, MemoryError):
            raise Unsafe("the file's expressions are nested too deeply") from None
        ends = (match.end() for match in NEWLINE.finditer(self.code))
        self._starts = [0, *ends, len(self.code)]

    def start(self, line: int) -> int:
        """Where a line begins in the text."""
        return self._starts[line - 1]

    def line(self, number: int) -> str:
        return self.code[self._starts[number - 1] : self._starts[number]]

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Where in the text something begins and ends."""
        ends = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
        start, end = (
            self._starts[line - 1] + character(self.line(line), column)
            for line, column in ends
            if line is not None and column is not None
        )
        return start, end

    def place(self, offset: int) -> Place:
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def changed(self, changes: Iterable[Change], program: Callable[[ast.Module], str]) -> bytes:
        """The file with these changes. `program`: what of a tree must stay as it is. Raises Unsafe
        where it does not."""
        code = self.code
        for start, end, text in sorted(changes, reverse=True):
            code = code[:start] + text + code[end:]
        try:
            same = program(parsed(self.code)) == program(parsed(code))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            same = False
        if not same:
            raise Unsafe("the changed file would not be the same program")
        return code.encode(self._encoding)


def parsed(source: str | bytes) -> ast.Module:
    """Raises what `ast.parse` raises; warns of nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # odd escapes are not ours to report
        return ast.parse(source)
