"""Edits the literal of a docstring: replaces a number in it, or adds a line at its end."""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

from nparam_lint.claims.docstring_budgets import parse_docstring
from nparam_lint.discover.syntax import docstring_lines

if TYPE_CHECKING:
    from nparam_lint.claims.docstring_budgets import Declared
    from nparam_lint.rewrite.number_style import Restated

Place = tuple[int, int]  # line and column, from 1

NEWLINE = re.compile(r"\r\n|\r|\n")


def budgets(literal: str, at: Place) -> dict[Place, Declared]:
    """What a literal (or adjacent ones) that begins `at` a place declares, by the places at which
    the values begin."""
    line, column = at
    # The columns decide which line belongs to which block.
    text = NEWLINE.sub("\n", f"class _:\n (\n{' ' * (column - 1)}{literal})")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd escapes are not ours to report
            body = ast.parse(text).body[0]
    except SyntaxError:
        return {}
    assert isinstance(body, ast.ClassDef)
    declared, _ = parse_docstring(docstring_lines(body.body, text.split("\n")))
    moved = (replace(item, line=item.line + line - 3) for item in declared)
    return {(item.line, item.column): item for item in moved}


def find(literal: str, at: Place, place: Place, change: Restated) -> int | None:
    """Where in a literal the number of the value stands that begins at a place; None where it is
    not written there in one piece.

    Escapes and quotes may put the value further behind than its place says: of the numbers that
    look like it, it is the one whose change changes nothing but this value.
    """
    before = budgets(literal, at)
    expected = {where: _said(item) for where, item in before.items()}
    expected[place] = (*expected[place][:2], change.result)
    start = literal.find(change.old_number, _offset(literal, at, place))
    while start >= 0:
        after = budgets(replaced(literal, start, change), at)
        if {where: _said(item) for where, item in after.items()} == expected:
            return start
        start = literal.find(change.old_number, start + 1)
    return None


def replaced(text: str, start: int, change: Restated) -> str:
    """The text with the new number at `start`."""
    return text[:start] + change.number + text[start + len(change.old_number) :]


def _said(declared: Declared) -> tuple[str | None, str, str]:
    return declared.arguments, str(declared.selector), declared.text


def _offset(literal: str, at: Place, place: Place) -> int:
    """Where in the literal a place of the file is."""
    line, column = at
    starts = [0, *(match.end() for match in NEWLINE.finditer(literal))]
    row = place[0] - line
    return starts[row] + place[1] - 1 - (column - 1 if row == 0 else 0)


def with_line(prefix: str, quote: str, content: str, line: str, indent: str, newline: str) -> str:
    """The literal `prefix quote content quote` with a line at the end of its text, after an empty
    one, and the closing quotes on a line of their own.

    `indent`: that of the statement; `newline`: what ends a line.
    """
    if len(quote) == 1:
        quote *= 3  # which cannot stand in it: it could not even hold one of them
    if not content.strip():
        return f"{prefix}{quote}{line}{quote}"
    found = NEWLINE.search(content)
    newline = found[0] if found else newline
    text, end, closing = content.rpartition(newline)
    if not end or closing.strip():  # the quotes follow the text
        text, closing = content.rstrip(" \t"), indent
    *_, last = NEWLINE.split(text)
    gap = newline if last.strip() else ""
    return f"{prefix}{quote}{text}{newline}{gap}{indent}{line}{newline}{closing}{quote}"
