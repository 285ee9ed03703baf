"""The lines of a docstring, each with the place of its first character in the source."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from typing import TYPE_CHECKING

from nparam_lint.records import DocLine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_OPENING = re.compile(r"""([rRuU]?)(\"\"\"|'''|"|')""")
_PIECE = re.compile(
    r"[^\\\n]+|\n|\\(?:\n|[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]*\}|.)"
)


def docstring_lines(body: Sequence[ast.stmt], lines: Sequence[str]) -> tuple[DocLine, ...]:
    """The docstring with which `body` begins; `lines` are the file's lines. () when there is none.

    The text is what Python makes of the literal. Inside a line an escape shifts the columns that
    follow it; the first character's place is right all the same.
    """
    if not body or not isinstance(body[0], ast.Expr):
        return ()
    node = body[0].value
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return ()
    end_line, end_offset = node.end_lineno or node.lineno, node.end_col_offset or 0
    start = character(lines[node.lineno - 1], node.col_offset)
    segment = _segment(lines, node.lineno, start, end_line, end_offset)
    opening = _OPENING.match(segment)
    if opening is not None:
        plain = segment[opening.end() : -len(opening[2])]
        if plain == node.value:  # one literal without escapes: what nearly all docstrings are
            return tuple(
                DocLine(text, node.lineno + number, 1 if number else start + 1 + opening.end())
                for number, text in enumerate(plain.split("\n"))
            )
    return tuple(_evaluated(segment, node.lineno, start))


def character(line: str, offset: int) -> int:
    """The character index that is `offset` bytes of UTF-8 into `line` (`ast` counts bytes)."""
    if line.isascii():
        return offset
    return len(line.encode("utf-8", "surrogatepass")[:offset].decode("utf-8", "replace"))


def _segment(lines: Sequence[str], first: int, start: int, last: int, end_offset: int) -> str:
    end = character(lines[last - 1], end_offset)
    if first == last:
        return lines[first - 1][start:end]
    return "\n".join((lines[first - 1][start:], *lines[first : last - 1], lines[last - 1][:end]))


def _evaluated(segment: str, line: int, start: int) -> Iterator[DocLine]:
    """Slow and general: adjacent literals, escapes and line continuations."""
    text: list[str] = []
    place: tuple[int, int] | None = None
    for value, at in _pieces(segment, line, start):
        place = place or at
        if value == "\n":
            yield DocLine("".join(text), *place)
            text, place = [], None
        else:
            text.append(value)
    if place is not None:
        yield DocLine("".join(text), *place)


def _pieces(segment: str, line: int, start: int) -> Iterator[tuple[str, tuple[int, int]]]:
    # The parentheses let adjacent literals stand on several lines.
    for token in tokenize.generate_tokens(io.StringIO(f"({segment})\n").readline):
        opening = _OPENING.match(token.string) if token.type == tokenize.STRING else None
        if opening is None:
            continue
        row = token.start[0]
        column = token.start[1] + opening.end() + (start - 1 if row == 1 else 0) + 1
        body = token.string[opening.end() : -len(opening[2])]
        raw = bool(opening[1]) and opening[1] in "rR"
        for piece in re.findall(r"[^\n]+|\n", body) if raw else _PIECE.findall(body):
            at = (line + row - 1, column)
            if piece == "\n":
                yield "\n", at
            elif piece != "\\\n":
                yield (piece if raw else _unescape(piece)), at
            if piece.endswith("\n"):
                row, column = row + 1, 1
            else:
                column += len(piece)


def _unescape(piece: str) -> str:
    if not piece.startswith("\\"):
        return piece
    if piece[1:] in ("'", '"', "\\"):
        return piece[1:]
    if piece[1] not in "abfnrtvxuUN01234567":
        return piece  # no escape: Python keeps the backslash
    return str(ast.literal_eval(f'"{piece}"'))
