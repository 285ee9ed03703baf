"""A Python file with other docstrings: it stays the same program, and all other text stays byte for
byte. libcst says where things stand."""

from __future__ import annotations

import ast
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from nparam_lint.ground.patterns import late_pattern
from nparam_lint.rewrite.edits import Unsafe

if TYPE_CHECKING:
    from collections.abc import Iterable

TextEdit = tuple[int, int, str]  # from where to where, and what stands there instead
NEWLINE = late_pattern(r"\r\n|\r|\n")


class CstFile:
    """`spans`: where each node stands; its lines count from 1, its columns from 0. `lines`: of the
    text, which begin at its `starts`. Raises Unsafe for what libcst cannot read and give back as
    it is."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        try:
            wrapper = MetadataWrapper(cst.parse_module(source), unsafe_skip_copy=True)
            self.module, self.spans = wrapper.module, wrapper.resolve(PositionProvider)
            if self.module.bytes != source:
                raise Unsafe("libcst would change other parts of the file")
            self.code = self.module.code
        except (cst.ParserSyntaxError, SyntaxError, ValueError) as error:
            raise Unsafe(f"libcst cannot read the file: {str(error).splitlines()[0]}") from None
        except (RecursionError, MemoryError):
            raise Unsafe("the file's expressions are nested too deeply") from None
        self.lines, self.starts = NEWLINE.split(self.code), line_starts(self.code)

    def offset(self, node: cst.CSTNode) -> int:
        """Where in the text a node begins."""
        start = self.spans[node].start
        return self.starts[start.line - 1] + start.column

    def text(self, node: cst.CSTNode) -> str:
        end = self.spans[node].end
        return self.code[self.offset(node) : self.starts[end.line - 1] + end.column]

    def before(self, node: cst.CSTNode) -> str:
        """What stands before a node on its line."""
        return self.code[self.starts[self.spans[node].start.line - 1] : self.offset(node)]

    def edited(self, edits: Iterable[TextEdit]) -> bytes:
        """The file with other text. Raises Unsafe where it would be another program then."""
        code = self.code
        for start, end, text in sorted(edits, reverse=True):  # what is before stays where it is
            code = code[:start] + text + code[end:]
        source = code.encode(self.module.encoding)
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            if _program(self.source) == _program(source):
                return source
        raise Unsafe("the changed file would not be the same program")


def parsed(source: str | bytes) -> ast.Module:
    """Raises what `ast.parse` raises; warns of nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # odd escapes are not ours to report
        return ast.parse(source)


def _program(source: bytes) -> str:
    """What is executed: the tree without docstrings and places."""
    tree = parsed(source)
    definitions = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, definitions) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    return ast.dump(tree)


def line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in NEWLINE.finditer(text))]
