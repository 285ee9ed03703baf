"""Writes counts into Markdown and reStructuredText, in the place of those that comments bind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nparam_lint.claims.doc_comments import parse_docs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nparam_lint.rewrite.number_style import Restated

Place = tuple[int, int]  # line and column, from 1


def restate(
    path: str, text: str, changes: Mapping[Place, Restated]
) -> tuple[str, dict[Place, str]]:
    """The file with other numbers at these places, and nothing else changed; and those that were
    not changed, with the reason."""
    lines = text.split("\n")
    bound = {(one.line, one.column): one for one in parse_docs(path, text)[0]}
    expected = {at: one.value.text for at, one in bound.items()}
    failed: dict[Place, str] = {}
    for place in sorted(changes, reverse=True):  # what is before stays where it is
        change, (line, column) = changes[place], place
        one = bound.get(place)
        if one is None or one.value.text != change.text:
            failed[place] = "the file has changed since it was read"
            continue
        old, end = lines[line - 1], column - 1 + len(one.text)
        number = change.result.removesuffix(one.unit)
        lines[line - 1] = old[: column - 1] + number + old[end:]
        expected[place] = change.result
    new = "\n".join(lines)
    if [one.value.text for one in parse_docs(path, new)[0]] != [*expected.values()]:
        return text, dict.fromkeys(changes, "the changed file would not hold the right numbers")
    return new, failed
