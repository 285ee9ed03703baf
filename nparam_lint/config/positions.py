"""The position of each key and each value of a TOML file, which the parser does not report.

The file is valid, since tomllib has read it. So this only has to distinguish keys, strings,
comments and brackets.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.values import Position

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Path = tuple[str, ...]  # of a key, through the tables; an element of an array by its number
_TOKEN = late_pattern(
    r"""
    [\s,]+ | \#[^\n]*
    | (?P<text> \"{3}(?:\\.|[^\\])*?\"{3}(?!\") | '{3}.*?'{3}(?!') | "(?:\\.|[^"\\])*" | '[^']*')
    | (?P<mark> [][{}=])
    | (?P<plain> [0-9-]+[ ][0-9]{2}:[^\s,\]}\#]+ | [^][{}=,\s\#'"]+ )
    """,
    re.VERBOSE | re.DOTALL,
)


class Positions:
    """The places of what a file holds. `name`: how its path is written in messages."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        tokens = [m for m in _TOKEN.finditer(text) if m.lastgroup]
        self._tokens = [(m.group(), m.start()) for m in tokens]
        self._next = 0
        # The offset at which each begins first.
        self._keys: dict[Path, int] = {}
        self._values: dict[Path, int] = {}
        self._lengths: dict[Path, int] = {}  # of each array of tables, so far
        table: Path = ()
        while self._next < len(self._tokens):
            if self._token() == "[":
                table = self._header()
            else:
                self._pair(table)

    def key(self, path: Sequence[str]) -> Position:
        """Where a key stands; where it is not there itself, the nearest table around it."""
        ends = (tuple(path[:end]) for end in range(len(path), 0, -1))
        return self._at(next((self._keys[end] for end in ends if end in self._keys), 0))

    def value(self, path: Sequence[str]) -> Position:
        """Where the value of a key begins; that of the key where it is a table with a header."""
        offset = self._values.get(tuple(path))
        return self.key(path) if offset is None else self._at(offset)

    def _at(self, offset: int) -> Position:
        line = bisect_right(self._lines, offset)
        return Position(self.name, line, offset - self._lines[line - 1] + 1)

    # --- reading, token by token ---

    def _token(self) -> str:
        return self._tokens[self._next][0]

    def _take(self) -> tuple[str, int]:
        self._next += 1
        return self._tokens[self._next - 1]

    def _header(self) -> Path:
        self._take()
        is_array = self._token() == "["
        if is_array:
            self._take()
        path: Path = ()
        for name, offset in self._names():
            path = self._last(path)  # a table below an array of tables belongs to its last entry
            path = self._note((*path, name), offset)
        self._take()
        if not is_array:
            return self._last(path)
        self._take()
        self._lengths[path] = self._lengths.get(path, 0) + 1
        return self._note(self._last(path), offset)

    def _last(self, path: Path) -> Path:
        return (*path, str(self._lengths[path] - 1)) if path in self._lengths else path

    def _pair(self, table: Path) -> None:
        path = table
        for name, offset in self._names():
            path = self._note((*path, name), offset)
        self._take()  # =
        self._value(path)

    def _value(self, path: Path) -> None:
        token, offset = self._take()
        self._values[path] = offset
        if token == "{":
            while self._token() != "}":
                self._pair(path)
            self._take()
        elif token == "[":
            number = 0
            while self._token() != "]":
                element = (*path, str(number))
                self._value(self._note(element, self._tokens[self._next][1]))
                number += 1
            self._take()

    def _names(self) -> Iterator[tuple[str, int]]:
        """The parts of a dotted key, each with its offset."""
        while self._token() not in ("=", "]"):
            token, offset = self._take()
            if token[0] == '"' and "\\" in token:
                yield next(iter(tomllib.loads(f"{token} = 0"))), offset
            elif token[0] in "\"'":
                yield token[1:-1], offset
            else:
                yield from ((m.group(), offset + m.start()) for m in re.finditer("[^.]+", token))

    def _note(self, path: Path, offset: int) -> Path:
        self._keys.setdefault(path, offset)
        return path
