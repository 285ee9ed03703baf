"""Counts in the keys and comments of YAML, TOML and JSON.

The lines are read as they are written: what is indented less encloses a line, as people write all
three. So every count has its place, and a file that its own parser refuses is read as well.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nparam_lint.discover.claims.count_words import selector_of
from nparam_lint.discover.claims.stated import StatedCount
from nparam_lint.discover.claims.stated.sentences import counts_in_comments
from nparam_lint.discover.claims.stated.words import key_unit, readings_of
from nparam_lint.ground.config_outline import comment_sign

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_ENTRY = re.compile(
    r"""(?P<quote>["']?)(?P<key>[A-Za-z#][\w\-. ]{0,60}?)(?P=quote)\s*[:=]\s*
    (?P<value>"(?:[^"\\]|\\.)*"|'[^']*'|[0-9]{1,3}(?:,[0-9]{3})+(?=\s*$)
    |[^\s,{}\[\]#"'][^,{}\[\]#"'\n]*)""",
    re.VERBOSE,
)
_OPENED = re.compile(
    r"""(?P<quote>["']?)(?P<key>[\w\-./ ]+)(?P=quote)\s*[:=]\s*[{\[]?\s*$
    |\[+\s*(?P<table>[^\[\]]+?)\s*\]+\s*$""",
    re.VERBOSE,
)
_KEY_BEFORE = re.compile(r"""["']?(?P<key>[^"'{}\[\],]{1,100}?)["']?\s*:\s*$""")
_CLOSED_WITHIN = re.compile(r"[{\[][^{}\[\]]*[}\]]")
_CLOSED = frozenset(("{", "}", "},", "[", "]", "],"))
_LONGEST_LINE = 4000
_LONGEST_NAME = 120
_MOST_NAMES = 20  # of one block
_SHORT = 4  # digits of a number that a key such as `params` may have as an option


def stated_counts(path: str, text: str) -> Iterator[StatedCount]:
    lines = text.replace("\r\n", "\n").split("\n")
    yield from counts_in_keys(lines, in_file=True)
    yield from counts_in_comments(path, text, in_file=True)


def counts_in_keys(lines: Sequence[str], *, in_file: bool = False) -> Iterator[StatedCount]:
    """The counts that keys name. Whether they are about the model of the whole file, where it is of
    one, is up to who knows it."""
    outline = _Block(-1)
    counts = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or len(line) > _LONGEST_LINE:
            continue
        outline = outline.next(line)
        sign = comment_sign(line) if "#" in line else None
        code = line[: sign.start()] if sign else line
        if "aram" not in code.lower():
            continue
        for entry in _ENTRY.finditer(code):
            named = key_unit(entry["key"].strip())
            value = entry["value"].strip().strip("\"'")
            readings = readings_of(value, named[0]) if named else ()
            is_large = value[-1:].isalpha() or "." in value or len(value) > _SHORT
            if named and readings and (named[1] or is_large):
                beside = [*_names_beside(code, entry.start())]
                counts.append((number, entry, value, readings, (outline, beside)))
    for number, entry, value, readings, (block, beside) in counts:  # the blocks are read now
        yield StatedCount(
            f"{entry['key'].strip()}: {value}",
            readings,
            selector_of(entry["key"]),
            number,
            entry.start("value") + 1 + (entry["value"][:1] in "\"'"),
            tuple(dict.fromkeys((*beside, *block.names()))),
            is_name=True,
            in_file=in_file,
        )


def _names_beside(line: str, at: int) -> Iterator[str]:
    """What may name what a place in a line is about, nearest first: the values beside it in its
    braces, then the key of these, and the same of the braces around."""
    opened: list[int] = []
    for index, sign in enumerate(line[:at]):
        if sign in "{[":
            opened.append(index)
        elif sign in "}]" and opened:
            opened.pop()
    for start in (*reversed(opened), -1):
        inside = line[start + 1 :]
        while (shorter := _CLOSED_WITHIN.sub("", inside)) != inside:
            inside = shorter
        yield from _values(re.split(r"[}\]]", inside)[0])
        if start >= 0 and (key := _KEY_BEFORE.search(line[:start])):
            yield key["key"].strip()


class _Block:
    """Lines of one depth below a key: `values`, the texts that they have as values."""

    def __init__(self, depth: int, key: str = "", parent: _Block | None = None) -> None:
        self.depth, self.key, self.parent = depth, key, parent
        self.values: list[str] = []
        self.opened = ""  # the key that the last line ended with

    def next(self, line: str) -> _Block:
        """The block that the next line stands in."""
        body = line.strip()
        if body in _CLOSED:
            return self
        depth, is_item = _depth(line)
        opened = _OPENED.search(line.split("#")[0].rstrip())
        begins = is_item or (opened is not None and opened["table"] is not None)
        block = self
        while block.parent and (block.depth > depth or (begins and block.depth >= depth)):
            block = block.parent
        if block.depth < depth:
            block = _Block(depth, block.opened, block)
        if opened is None:
            block.opened = ""
        elif opened["table"]:
            block.key = opened["table"].strip("\"'")
        else:
            block.opened = opened["key"].strip()
        if len(block.values) < _MOST_NAMES:
            block.values += _values(line)
        return block

    def names(self) -> Iterator[str]:
        """What may name what it is about, nearest first."""
        block: _Block | None = self
        while block is not None:
            yield from block.values
            if block.key:
                yield block.key
            block = block.parent


def _depth(line: str) -> tuple[int, bool]:
    """How deep the keys of a line stand, and whether it begins an item of a list."""
    body = line.lstrip(" \t")
    depth, is_item = len(line) - len(body), body.startswith("- ")
    while body.startswith("- "):
        rest = body[2:].lstrip()
        depth += len(body) - len(rest)
        body = rest
    return depth, is_item


def _values(line: str) -> list[str]:
    """The texts that keys of a line have as values."""
    values = (entry["value"].strip().strip("\"'") for entry in _ENTRY.finditer(line))
    return [
        value
        for value in values
        if len(value) <= _LONGEST_NAME and re.search("[A-Za-z]", value) and not readings_of(value)
    ]
