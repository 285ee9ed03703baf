"""The budgets that the comments of a config file declare, and where their numbers are."""

from __future__ import annotations

import io
import tokenize
from contextlib import suppress
from typing import TYPE_CHECKING

from nparam_lint.discover.claims.docstring_budgets import (
    Malformed,
    budget_lines,
    find_stray,
    parse_docstring,
)
from nparam_lint.ground.config_outline import comment_sign
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.values import DocLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nparam_lint.discover.claims.docstring_budgets import Declared

WITH_COMMENTS = (".yaml", ".yml", ".toml", ".py")
_IGNORES = late_pattern(r"\s*nparam:\s*ignore\b")


def parse_comments(path: str, text: str) -> tuple[list[Declared], list[Malformed]]:
    """Every budget in the comments of a file, and every claim there that cannot be read as one."""
    budgets: list[Declared] = []
    faults: list[Malformed] = []
    for block in blocks(comments(path, text)):
        declared, malformed = parse_docstring(block)
        faults += malformed
        for budget in declared:
            if budget.arguments is None and budget.host is None:
                budgets.append(budget)
            else:
                how = budget.arguments or f"in {budget.host}"
                message = f"found `({how})`, expected none: the file itself holds them"
                faults.append(Malformed(message, budget.line, budget.column))
        indices = budget_lines(block)
        for comment in (line for n, line in enumerate(block) if n not in indices):
            if stray := find_stray(comment.text):
                message = f"found `{stray.text}`, expected `# {stray.line}` on a line of its own"
                faults.append(Malformed(message, comment.line, comment.column + stray.offset))
    return budgets, faults


def comments(path: str, text: str) -> Iterator[DocLine]:
    """The text of each comment of a file, without its sign."""
    if path.endswith(".py"):
        yield from python_comments(text)
    elif path.lower().endswith(WITH_COMMENTS):
        for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
            if sign := comment_sign(line):
                yield DocLine(line[sign.end() :], number, sign.end() + 1)


def python_comments(text: str) -> Iterator[DocLine]:
    """The text of each comment of some Python, without its sign."""
    with suppress(SyntaxError, tokenize.TokenError):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield DocLine(token.string[1:], token.start[0], token.start[1] + 2)


def blocks(comments: Iterable[DocLine]) -> Iterator[Sequence[DocLine]]:
    """Comments in successive lines belong together; one that ignores a finding is none."""
    block: list[DocLine] = []
    for line in comments:
        if _IGNORES.match(line.text):
            continue
        if block and block[-1].line + 1 < line.line:
            yield block
            block = []
        block.append(line)
    if block:
        yield block
