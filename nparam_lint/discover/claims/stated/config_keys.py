"""Counts in the keys and comments of YAML, TOML and JSON.

The lines are read as they are written: what is indented less encloses a line, as people write all
three. So every count has its place, and a file that its own parser refuses is read as well.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from nparam_lint.discover.claims.count_words import selector_of
from nparam_lint.discover.claims.stated import StatedCount
from nparam_lint.discover.claims.stated.sentences import counts_in_comments
from nparam_lint.discover.claims.stated.words import (
    called_by,
    is_of_another,
    is_of_run,
    readings_at,
    readings_of,
)
from nparam_lint.ground.config_outline import comment_sign
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_Pairs: TypeAlias = "list[tuple[str, str]]"

_ENTRY = late_pattern(
    r"""(?P<quote>["']?)(?P<key>[A-Za-z#][\w\-. ]{0,60}?)(?P=quote)\s*[:=]\s*
    (?P<value>"(?:[^"\\]|\\.)*"|'[^']*'|[0-9]{1,3}(?:,[0-9]{3})+(?=\s*$)
    |[^\s,{}\[\]#"'][^,{}\[\]#"'\n]*)""",
    re.VERBOSE,
)
_OPENED = late_pattern(
    r"""(?P<quote>["']?)(?P<key>[\w\-./ ]+)(?P=quote)\s*[:=]\s*[{\[]?\s*$
    |\[+\s*(?P<table>[^\[\]]+?)\s*\]+\s*$""",
    re.VERBOSE,
)
_KEY_BEFORE = late_pattern(r"""["']?(?P<key>[^"'{}\[\],]{1,100}?)["']?\s*:\s*$""")
_CLOSED_WITHIN = late_pattern(r"[{\[][^{}\[\]]*[}\]]")
_ABOUT_MODEL = late_pattern(r"meta\w*|info|stats|details|summary|specs?|metrics", re.IGNORECASE)
_CLOSED = frozenset(("{", "}", "},", "[", "]", "],"))
_LONGEST_LINE = 4000
_LONGEST_NAME = 120
_MOST_NAMES = 20  # of one block


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
            value = entry["value"].strip().strip("\"'")
            readings = readings_at(entry["key"].strip(), value)
            if readings and not (is_of_run(outline.key) or _is_index(value, lines, number)):
                inside = outline.braces(code, entry.start())
                counts.append((number, entry, value, readings, outline, inside))
    for number, entry, value, readings, block, inside in counts:  # the blocks are read now
        nearest = block.values if inside.parent is block else inside.values  # which braces hold
        if block.parent and _ABOUT_MODEL.fullmatch(block.key):  # mmlab's `Metadata:`
            nearest = [*block.parent.values, *nearest]
        yield StatedCount(
            f"{entry['key'].strip()}: {value}",
            readings,
            selector_of(entry["key"]),
            number,
            entry.start("value") + 1 + (entry["value"][:1] in "\"'"),
            tuple(dict.fromkeys(inside.names())),
            is_name=True,
            called=called_by(dict(nearest)),
            in_file=in_file,
        )


def _is_index(value: str, lines: Sequence[str], number: int) -> bool:
    """Whether the numbers before and after that of a line stand around it: in a vocabulary."""
    if not value.isdecimal():
        return False
    around = "\n".join(lines[max(number - 2, 0) : number + 1])
    return all(re.search(rf":\s*{int(value) + step}\b", around) for step in (-1, 1))


class _Block:
    """Lines of one depth below a key, or a part of a line. `values`: their keys that have texts as
    values, and these."""

    def __init__(self, depth: int, key: str = "", parent: _Block | None = None) -> None:
        self.depth, self.key, self.parent = depth, key, parent
        self.values: _Pairs = []
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
            block.values += _pairs(line)
        return block

    def braces(self, line: str, at: int) -> _Block:
        """The innermost braces around a place in a line of the block, inside the others, and these
        inside what no braces of the line hold."""
        opened = [-1]
        for index, sign in enumerate(line[:at]):
            if sign in "{[":
                opened.append(index)
            elif sign in "}]" and len(opened) > 1:
                opened.pop()
        block = self
        for start in opened:
            inside = line[start + 1 :]
            while (shorter := _CLOSED_WITHIN.sub("", inside)) != inside:
                inside = shorter
            key = _KEY_BEFORE.search(line[:start]) if start >= 0 else None
            block = _Block(self.depth, key["key"].strip() if key else "", block)
            block.values = _pairs(re.split(r"[}\]]", inside)[0])
        return block

    def names(self) -> Iterator[str]:
        """What may name what it is about, nearest first."""
        block: _Block | None = self
        while block is not None:
            yield from _of_model(block.values)
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


def _pairs(line: str) -> _Pairs:
    """The keys of a line that have texts as values, and these."""
    every = ((e["key"].strip(), e["value"].strip().strip("\"'")) for e in _ENTRY.finditer(line))
    return [
        (key, value)
        for key, value in every
        if len(value) <= _LONGEST_NAME and re.search("[A-Za-z]", value) and not readings_of(value)
    ]


def _of_model(pairs: _Pairs) -> list[str]:
    """The values that may name the model itself."""
    return [value for key, value in pairs if not is_of_another(key)]
