"""Writes budgets into the comments of config files. The text is edited, never parsed and printed:
comments, order, quotes and layout stay byte for byte."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nparam_lint.claims.comment_budgets import parse_comments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nparam_lint.rewrite.number_style import Restated

Place = tuple[int, int]  # line and column, from 1


def restate(
    path: str, text: str, changes: Mapping[Place, Restated]
) -> tuple[str, dict[Place, str]]:
    """The file with other numbers in the values that begin at these places; and those that were
    not changed, with the reason."""
    lines = text.splitlines(keepends=True)
    failed: dict[Place, str] = {}
    expected = {(b.line, b.column): b.text for b in parse_comments(path, text)[0]}
    for place in sorted(changes, reverse=True):  # what is before stays where it is
        change, (line, column) = changes[place], place
        old = lines[line - 1] if line <= len(lines) else ""
        if not old.startswith(change.text, column - 1):
            failed[place] = "its number is not written in one piece"
            continue
        lines[line - 1] = old[: column - 1] + change.result + old[column - 1 + len(change.text) :]
        expected[place] = change.result
    new = "".join(lines)
    if [b.text for b in parse_comments(path, new)[0]] != [*expected.values()]:
        return text, dict.fromkeys(changes, "the changed file would not declare the right budgets")
    return new, failed
