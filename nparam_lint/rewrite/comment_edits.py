"""Writes counts into the comments of config files, and into the numbers of Markdown and
reStructuredText that comments bind. The text is edited, never parsed and printed: everything else
stays byte for byte."""

from __future__ import annotations

import ast
import io
from typing import TYPE_CHECKING

from nparam_lint.discover.claims.comment_budgets import WITH_COMMENTS, parse_comments
from nparam_lint.discover.claims.doc_comments import parse_docs
from nparam_lint.ground.config_outline import comment_sign, outline
from nparam_lint.ground.paths import is_doc
from nparam_lint.rewrite.edits import Unsafe

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nparam_lint.rewrite.edits import Place
    from nparam_lint.rewrite.number_style import Restated

_LONGEST = 100  # characters of a line that gets a comment at its end


def restate(
    path: str, text: str, changes: Mapping[Place, Restated]
) -> tuple[str, dict[Place, str]]:
    """The file with other numbers in the values that begin at these places; and those that were
    not changed, with the reason."""
    lines = [*io.StringIO(text)]
    failures: dict[Place, str] = {}
    stated = _stated(path, text)
    expected = {at: value for at, (value, _) in stated.items()}
    for place in sorted(changes, reverse=True):  # what is before stays where it is
        change, row, start = changes[place], place[0] - 1, place[1] - 1
        value, unit = stated.get(place, ("", ""))
        if value != change.text:
            failures[place] = "the file has changed since it was read"
            continue
        old, number = change.text.removesuffix(unit), change.result.removesuffix(unit)
        if not lines[row].startswith(old, start):
            failures[place] = "its number is not written in one piece"
            continue
        lines[row] = lines[row][:start] + number + lines[row][start + len(old) :]
        expected[place] = change.result
    new = "".join(lines)
    if [value for value, _ in _stated(path, new).values()] != [*expected.values()]:
        return text, dict.fromkeys(changes, "the changed file would not declare the right budgets")
    return new, failures


def _stated(path: str, text: str) -> dict[Place, tuple[str, str]]:
    """Each value by where it begins, with the end of it that does not stand there (`million`)."""
    if is_doc(path):
        numbers, _ = parse_docs(path, text)
        return {(n.line, n.column): (n.value.text, n.unit) for n in numbers}
    budgets, _ = parse_comments(path, text)
    return {(budget.line, budget.column): (budget.value.text, "") for budget in budgets}


def add(path: str, text: str, values: Mapping[int, str]) -> str:
    """The file with a budget in a comment at each of these lines: at its end, or above it where the
    line is long or has a comment. Raises Unsafe where the file has no comments, or where a comment
    would change what else it says."""
    if not path.endswith(WITH_COMMENTS):
        raise Unsafe("JSON has no comments" if path.endswith(".json") else "it has no comments")
    lines = [*io.StringIO(text)]
    for number in sorted(values, reverse=True):
        line = lines[number - 1]
        bare = line.rstrip("\r\n")
        comment, end = f"# nparam: {values[number]}", line[len(bare) :]
        if comment_sign(bare) or len(bare) + len(comment) + 2 > _LONGEST:
            indent = bare[: len(bare) - len(bare.lstrip(" "))]
            lines.insert(number - 1, f"{indent}{comment}{end or chr(10)}")
        else:
            lines[number - 1] = f"{bare.rstrip()}  {comment}{end}"
    new = "".join(lines)
    declared = [budget.value.text for budget in parse_comments(path, new)[0]]
    expected = [*(b.value.text for b in parse_comments(path, text)[0]), *values.values()]
    if sorted(declared) != sorted(expected) or _content(path, text) != _content(path, new):
        raise Unsafe("a comment there would change what the file says")
    return new


def _content(path: str, text: str) -> object:
    """What a file says, apart from its comments."""
    if path.endswith(".py"):
        return ast.dump(ast.parse(text))
    return [(entry.keys, entry.value) for entry in outline(path, text)]
