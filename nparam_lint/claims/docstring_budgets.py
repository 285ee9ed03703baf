"""The budgets that a docstring declares: `nparam…: VALUE` lines, and blocks under a bare `nparam:`.

Whatever begins like a budget and cannot be read is returned as malformed, never skipped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nparam_lint.claims import (
    Selector,
    TextError,
    Unclosed,
    closing_bracket,
    parse_selector,
    read_arguments,
    read_selector,
    shifted,
)
from nparam_lint.claims.grammar import EXAMPLES, Value, parse_value
from nparam_lint.records import DocLine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MENTION = re.compile(r"param|non.?embedding", re.IGNORECASE)
# How the line of a budget begins, and nothing else in a docstring.
HEAD = re.compile(r"\s*(?:[-*]\s+)?:?nparam(?=[(\[:])")
_BARE = re.compile(r":\s*(?:#.*)?$")
_BULLET = re.compile(r"\s*(?:[-*]\s+)?")
_COLON = re.compile(r"\s*:")
_ENTRY_SELECTOR = re.compile(r"""([^:'"()\[\]#]+):""")
_ENTRY_ARGUMENTS = re.compile(r"\s*(?:\[[^\]]*\])?\s*:")


_MOST_LINES = 200  # of one budget; it is read anew with each


@dataclass(frozen=True, slots=True)
class Declared:
    """A budget; `line` and `column` (from 1) are those of the value's first character."""

    arguments: str | None
    selector: Selector
    value: Value
    text: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Malformed:
    """What was found and expected at a place."""

    message: str
    line: int
    column: int


def parse_docstring(lines: Sequence[DocLine]) -> tuple[list[Declared], list[Malformed]]:
    """Every budget of one docstring, and every budget line that cannot be read."""
    results = [result for _, result in _entries(lines)]
    declared = [result for result in results if isinstance(result, Declared)]
    return declared, [result for result in results if isinstance(result, Malformed)]


def has_prose_count(lines: Sequence[DocLine]) -> bool:
    """Whether a count may be claimed in plain words: a line outside of the budgets mentions
    parameters. `claims.prose` finds out."""
    if not any(MENTION.search(line.text) for line in lines):
        return False
    budgets = budget_lines(lines)
    return any(MENTION.search(line.text) for n, line in enumerate(lines) if n not in budgets)


def budget_lines(lines: Sequence[DocLine]) -> frozenset[int]:
    """The indices of the lines that belong to budgets, so that none is read as prose."""
    return frozenset(index for span, _ in _entries(lines) for index in span)


def _entries(lines: Sequence[DocLine]) -> Iterator[tuple[range, Declared | Malformed | None]]:
    """Each budget with the lines that it takes; None for the head of a block."""
    index, block = 0, -1  # the indentation of the open block's head; -1: none is open
    while index < len(lines):
        line, start = lines[index], index
        index += 1
        if not line.text.strip():
            continue
        indent = _indent(lines, start)
        if indent <= block:
            block = -1
        head = HEAD.match(line.text)
        if head and _BARE.match(line.text, head.end()):
            block = indent
            yield range(start, index), _empty_block(lines, start, head.end() + 1)
        elif head or block >= 0:
            result, index = _entry(lines, start, head)
            yield range(start, index), result


def _indent(lines: Sequence[DocLine], index: int) -> int:
    """The column, from 0, at which a line's text begins."""
    line = lines[index]
    # The opening quotes stand where the other lines' indentation ends.
    opening = min(line.column - 1, 3) if index == 0 else 0
    return line.column - 1 - opening + len(line.text) - len(line.text.lstrip())


def _empty_block(lines: Sequence[DocLine], head: int, end: int) -> Malformed | None:
    following = (index for index in range(head + 1, len(lines)) if lines[index].text.strip())
    first = next(following, None)
    if first is not None and _indent(lines, first) > _indent(lines, head):
        return None
    line = lines[head]
    message = f"found nothing after `nparam:`, expected a count such as {EXAMPLES}"
    return Malformed(message, line.line, line.column + end)


def _entry(
    lines: Sequence[DocLine], index: int, head: re.Match[str] | None
) -> tuple[Declared | Malformed, int]:
    """Read the budget at `index`; give it and the index after it. Open parentheses continue it, but
    never into a blank line or the next budget."""
    parts = [lines[index]]  # read as one line, with a space between them
    while True:
        text = " ".join(part.text for part in parts)
        following = index + len(parts)
        try:
            return _read(text, head, parts), following
        except TextError as error:
            fault = error
        is_open = isinstance(fault, Unclosed) and text[fault.offset] == "("
        if is_open and following < len(lines) and len(parts) < _MOST_LINES:
            body = lines[following].text.lstrip()
            if body and not HEAD.match(body):
                column = lines[following].column + len(lines[following].text) - len(body)
                parts.append(DocLine(body, lines[following].line, column))
                continue
        return Malformed(fault.message, *_place(parts, fault.offset)), index + 1


def _place(parts: Sequence[DocLine], offset: int) -> tuple[int, int]:
    """The line and column of what stands at `offset` in the line that the parts are read as."""
    *before, last = parts
    for part in before:
        if offset <= len(part.text):
            return part.line, part.column + offset
        offset -= len(part.text) + 1
    return last.line, last.column + offset


def _read(text: str, head: re.Match[str] | None, parts: Sequence[DocLine]) -> Declared:
    arguments, selector, at = _prefix(text, head.end()) if head else _entry_prefix(text)
    with shifted(at):
        value = parse_value(text[at:], selector.metric)
    place = _place(parts, at + len(text[at:]) - len(text[at:].lstrip()))
    return Declared(arguments, selector, value, value.text, *place)


def _prefix(text: str, at: int) -> tuple[str | None, Selector, int]:
    """`(ARGUMENTS)`, `[SELECTOR]` and `:`; gives the offset after the colon."""
    arguments, at = read_arguments(text, at)
    selector, at = read_selector(text, at)
    colon = _COLON.match(text, at)
    if colon is None:
        found = f"`{text[at:].strip()}`" if text[at:].strip() else "the end of the line"
        raise TextError(f"found {found}, expected `:` and a count", at)
    return arguments, selector, colon.end()


def _entry_prefix(text: str) -> tuple[str | None, Selector, int]:
    """What may stand before the value on a line of a block: as `_prefix`, `SELECTOR:` or nothing.
    Parentheses are arguments only where a colon follows them; they may begin a formula."""
    at = _BULLET.match(text).end()  # type: ignore[union-attr]  # it matches nothing, too
    if text.startswith("[", at) or (
        text.startswith("(", at) and _ENTRY_ARGUMENTS.match(text, closing_bracket(text, at) + 1)
    ):
        return _prefix(text, at)
    named = _ENTRY_SELECTOR.match(text, at)
    if named is None or not named[1].strip():
        return None, Selector(), at
    with shifted(at):
        return None, parse_selector(named[1]), named.end()
