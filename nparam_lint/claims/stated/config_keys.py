"""Counts in the keys and comments of YAML, TOML and JSON.

The lines are read as they are written: what is indented less encloses a line, as people write all
three. So every count has its place, and a file that its own parser refuses is read as well.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nparam_lint.claims.comment_budgets import WITH_COMMENTS, comment_sign
from nparam_lint.claims.stated import StatedCount
from nparam_lint.claims.stated.sentences import counts_in_text
from nparam_lint.claims.stated.words import key_unit, readings_of, selector_of
from nparam_lint.ground.values import DocLine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_ENTRY = re.compile(
    r"""(?P<quote>["']?)(?P<key>[A-Za-z#][\w\-. ]{0,60}?)(?P=quote)\s*[:=]\s*
    (?P<value>"(?:[^"\\]|\\.)*"|'[^']*'|[^\s,{}\[\]#"'][^,{}\[\]#"'\n]*)""",
    re.VERBOSE,
)
_OPENED = re.compile(
    r"""(?P<quote>["']?)(?P<key>[\w\-./ ]+)(?P=quote)\s*[:=]\s*[{\[]?\s*$
    |\[+\s*(?P<table>[^\[\]]+?)\s*\]+\s*$""",
    re.VERBOSE,
)
_LONGEST_LINE = 4000
_MOST_ABOVE = 400  # lines in which the keys around a count are looked for
_LONGEST_NAME = 120


def stated_counts(path: str, text: str) -> Iterator[StatedCount]:
    lines = text.replace("\r\n", "\n").split("\n")
    yield from counts_in_keys(lines, in_file=True)
    if not path.lower().endswith(WITH_COMMENTS):
        return
    block: list[DocLine] = []
    for number, line in enumerate([*lines, ""], 1):
        sign = comment_sign(line) if "#" in line and len(line) <= _LONGEST_LINE else None
        if sign is not None:
            block.append(DocLine(line[sign.end() :], number, sign.end() + 1))
        elif block:
            yield from counts_in_text(block, _names_around(lines, block[-1].line), in_file=True)
            block = []


def counts_in_keys(lines: Sequence[str], *, in_file: bool = False) -> Iterator[StatedCount]:
    """The counts that keys name. Whether they are about the model of the whole file, where it is of
    one, is up to who knows it."""
    for number, line in enumerate(lines, 1):
        if "aram" not in line.lower() or len(line) > _LONGEST_LINE:
            continue
        sign = comment_sign(line) if "#" in line else None
        code = line[: sign.start()] if sign else line
        for entry in _ENTRY.finditer(code):
            named = key_unit(entry["key"].strip())
            if named is None:
                continue
            unit, is_count = named
            value = entry["value"].strip().strip("\"'")
            readings = readings_of(value, unit)
            is_large = readings and (value[-1:].isalpha() or "." in value or len(value) > 3)
            if readings and (is_count or is_large):
                column = entry.start("value") + 1 + (entry["value"][:1] in "\"'")
                names = _names_around(lines, number)
                yield StatedCount(
                    f"{entry['key'].strip()}: {value}",
                    readings,
                    selector_of(entry["key"]),
                    number,
                    column,
                    names,
                    is_name=True,
                    in_file=in_file,
                )


def _names_around(lines: Sequence[str], number: int) -> tuple[str, ...]:
    """What may name the model that a line is about, nearest first: the values beside it, the keys
    that enclose it, and the values beside those."""
    names: list[str] = []
    line = lines[number - 1]
    names += _values(line)
    depth = _depth(line)
    # Beside it, below, to the end of its block.
    for below in lines[number : number + _MOST_ABOVE]:
        if below.strip() and (_depth(below) < depth or below.lstrip().startswith("- ")):
            break
        if _depth(below) == depth:
            names += _values(below)
    is_first = line.lstrip().startswith("- ")
    for above in reversed(lines[max(0, number - 1 - _MOST_ABOVE) : number - 1]):
        if not above.strip() or above.strip() in ("{", "}", "},", "[", "]", "],"):
            continue
        here = _depth(above)
        if here > depth:
            continue
        if here == depth and not is_first:
            names += _values(above)
            is_first = above.lstrip().startswith("- ")  # the first entry of its item
        elif here < depth or (here == depth and above.lstrip().startswith("[")):
            if opened := _OPENED.search(above.split("#")[0].rstrip()):
                names.append(opened["key"] or opened["table"])
            names += _values(above)
            depth, is_first = here, above.lstrip().startswith("- ")
            if here == 0:
                break
    return tuple(dict.fromkeys(name for name in names if 0 < len(name) <= _LONGEST_NAME))


def _depth(line: str) -> int:
    body = line.lstrip(" \t")
    depth = len(line) - len(body)
    while body.startswith("- "):  # an item's keys are as deep as its first
        rest = body[2:].lstrip()
        depth += len(body) - len(rest)
        body = rest
    return depth


def _values(line: str) -> list[str]:
    """The texts that keys of a line have as values."""
    if len(line) > _LONGEST_LINE:
        return []
    values = (entry["value"].strip().strip("\"'") for entry in _ENTRY.finditer(line))
    return [value for value in values if re.search("[A-Za-z]", value)]
