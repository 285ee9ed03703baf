"""Which keys stand in which lines of a YAML or JSON file. Enough to tell what kind of config it is;
the values that a model is built with are read by the project's own library, in the worker."""

from __future__ import annotations

import json
import re
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from .patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Keys = tuple[str | int, ...]

_KEY = late_pattern(
    r"""(?P<key>"(?:\\.|[^"\\])*"|'(?:[^']|'')*'
        |(?![-?:](?:\s|$))[^\s\#'"{}\[\],&*!|>%@`](?:[^\#]|(?<=\S)\#)*?)
        \s*:(?=\s|$)\s*(?P<value>.*)""",
    re.VERBOSE,
)
_BRACKETS = late_pattern(r"""'(?:[^']|'')*'|"(?:\\.|[^"\\])*"|\s\#.*|[\[{]|[\]}]""")
_ITEM = late_pattern(r"-(\s|$)")
_HALF = 0.5  # an item stands between its list's key and what is in it
_BLOCK_TEXT = late_pattern(r"[|>][-+0-9]*$")
_FLOW = late_pattern(r"([&!]\S*\s+)*[\[{]")
_FLOW_PART = late_pattern(
    r"""(?P<key>"[^"]*"|'[^']*'|[\w.-]+)\s*:(?=\s|[{\["'])[^\S\n]*(?P<value>"[^"]*"|'[^']*'|[^,{}\[\]\#\n]*)
        |(?P<comment>(?<=\s)\#.*)|(?P<bracket>[{}\[\]])|(?P<line>\n)""",
    re.VERBOSE,
)
# A text in quotes, which are no apostrophes; or where a comment begins.
_SIGN = late_pattern(
    r"""(?<!\w)(?:'(?:[^']|'')*'|"(?:\\.|[^"\\])*")|(?P<sign>(?:^|(?<=[\s\ufeff]))\#)""", re.VERBOSE
)
_JSON_TEXT = late_pattern(r'"((?:\\.|[^"\\])*)"(\s*:)?')


def comment_sign(line: str) -> re.Match[str] | None:
    """The sign that begins the comment in a line of YAML or TOML; None where there is none."""
    return next((match for match in _SIGN.finditer(line) if match["sign"]), None)


class OutlineEntry(NamedTuple):
    """A key with the keys above it, its line from 1, and its value where that is one of its line:
    "" where it is a mapping, a list or a text below."""

    keys: Keys
    line: int
    value: str


def outline(path: str, text: str) -> list[OutlineEntry]:
    """Every key of the file, in its order. Lines that cannot be read as YAML say nothing here:
    whoever loads the file says what is wrong with them."""
    return list(_json_entries(text) if path.endswith(".json") else _yaml_entries(text))


def _yaml_entries(text: str) -> Iterator[OutlineEntry]:
    above: list[tuple[float, str | int]] = []  # the indent of each key above, and the key
    hidden = inf  # the indent of a key whose text is in the lines below it
    depth = 0  # of brackets that are open
    keys: Keys = ()
    flow: list[str] = []  # the lines of a mapping in brackets that is not closed yet
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.expandtabs().rstrip()
        content = line.lstrip(" ")
        indent = len(line) - len(content)
        if depth:
            depth = max(0, depth + _opened(content))
            flow += [content] if flow else []
            if flow and not depth:
                yield from _flow_entries(flow, keys, number - len(flow) + 1)
                flow = []
            continue
        if not content or content[0] == "#" or indent > hidden:
            continue
        hidden = inf
        while _ITEM.match(content):
            _leave(above, indent + _HALF)
            last = above.pop()[1] if above and above[-1][0] == indent + _HALF else -1
            above.append((indent + _HALF, int(last) + 1))
            item = content[1:].lstrip(" ")
            indent += len(content) - len(item)
            content = item
        match = _KEY.match(content)
        value = match["value"] if match else content
        if sign := comment_sign(value):
            value = value[: sign.start()].strip()
        depth = max(0, _opened(value)) if _FLOW.match(value) else 0
        if match is None:
            continue
        _leave(above, indent - _HALF)
        above.append((indent, _plain(match["key"])))
        if _BLOCK_TEXT.match(value):
            hidden, value = indent, ""
        keys = tuple(key for _, key in above)
        is_flow = value.startswith("{")
        yield OutlineEntry(keys, number, "" if is_flow else _plain(value))
        if is_flow and depth:
            flow = [value]
        elif is_flow:
            yield from _flow_entries([value], keys, number)


def _flow_entries(lines: Sequence[str], keys: Keys, number: int) -> Iterator[OutlineEntry]:
    """The keys in a mapping in brackets, which begins in this line; not those in its lists."""
    above, last = [keys], keys  # the keys of each bracket that is open
    lists = 0  # that are open
    for part in _FLOW_PART.finditer("\n".join(lines)):
        if part["line"]:
            number += 1
        elif part["bracket"] in ("[", "]"):
            lists += 1 if part["bracket"] == "[" else -1
        elif part["bracket"] == "{" and not lists:
            above.append(last)
        elif part["bracket"] and not lists and len(above) > 1:
            above.pop()
        elif part["key"] and not lists:
            last = (*above[-1], _plain(part["key"]))
            yield OutlineEntry(last, number, _plain(part["value"]))


def _leave(above: list[tuple[float, str | int]], indent: float) -> None:
    """Forget the keys that stand further to the right."""
    while above and above[-1][0] > indent:
        above.pop()


def _opened(text: str) -> int:
    """How many brackets more are opened than closed."""
    parts = _BRACKETS.findall(text)
    return sum(part in "[{" for part in parts) - sum(part in "]}" for part in parts)


def _plain(text: str) -> str:
    text = text.strip()
    if len(text) < 2 or text[0] != text[-1] or text[0] not in "'\"":
        return text
    return text[1:-1].replace("''", "'") if text[0] == "'" else text[1:-1]


def _json_entries(text: str) -> Iterator[OutlineEntry]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return
    lines: dict[str, list[int]] = {}
    number, at = 1, 0
    for match in _JSON_TEXT.finditer(text):
        if match[2]:
            number += text.count("\n", at, match.start())
            at = match.start()
            lines.setdefault(match[1], []).append(number)

    def walk(value: object, keys: Keys, line: int) -> Iterator[OutlineEntry]:
        if keys:
            yield OutlineEntry(keys, line, "" if isinstance(value, (dict, list)) else str(value))
        if isinstance(value, dict):
            for key, inner in value.items():
                places = lines.get(key) or [line]
                place = places.pop(0) if len(places) > 1 else places[0]
                yield from walk(inner, (*keys, key), place)
        elif isinstance(value, list):
            for position, inner in enumerate(value):
                yield from walk(inner, (*keys, position), line)

    yield from walk(content, (), 1)
