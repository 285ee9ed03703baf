"""Counts in running text: paragraphs, comments, docstrings."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.discover.claims.comment_budgets import blocks, comments
from nparam_lint.discover.claims.prose import claims_in, listed_claims, split_claims
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nparam_lint.discover.claims.stated import StatedCount
    from nparam_lint.ground.values import DocLine

_LIST_ITEM = late_pattern(r"\s*(?:[-*•]\s+)?[`'\"*]*[A-Za-z][\w.-]*[`'\"*]*\s*[:=]\s*")


def counts_in_text(
    lines: Sequence[DocLine],
    around: Sequence[str] = (),
    *,
    in_file: bool = False,
    code: str | None = None,
) -> Iterator[StatedCount]:
    """The counts of some lines that belong together; the model is named in the sentence, or in what
    is `around`. `code`: what a comment is about; it names the model in the line of the number."""
    for count in (*claims_in(lines), *listed_claims(lines)):
        before, after = count.sentence
        if code is not None:
            before, after = before.rpartition("\n")[2], after.partition("\n")[0]
        names = before if code is None else f"{code} {before}", after, *around
        yield replace(count, names=names, sentence=(before, after), in_file=in_file)


def counts_in_paragraphs(lines: Iterable[DocLine]) -> Iterator[StatedCount]:
    """The counts of a text, whose paragraphs are parted by blank lines."""
    for has_text, paragraph in groupby(lines, key=lambda line: bool(line.text.strip())):
        if has_text:
            yield from counts_in_text([*paragraph])


def counts_in_docstring(lines: Sequence[DocLine], definition: str) -> Iterator[StatedCount]:
    """The counts that a class or a factory says that it has; and those of the sizes that it lists:
    `- small: 25M parameters`."""
    names = (definition.rpartition(".")[2],)
    own, of_named = split_claims(lines)
    for count in own:
        yield replace(count, names=names, is_name=True, definition=definition)
    for count in of_named:
        if _LIST_ITEM.fullmatch(count.sentence[0]):
            yield replace(count, names=count.sentence)


def counts_in_comments(path: str, text: str, *, in_file: bool = False) -> Iterator[StatedCount]:
    """The counts of a file's comments: of one behind code, about that; of successive ones that
    stand alone, about the line below."""
    lines = text.replace("\r\n", "\n").split("\n")

    def before(comment: DocLine) -> str:
        return lines[comment.line - 1][: comment.column - 2].strip()

    every = [*comments(path, text)]
    behind = [[comment] for comment in every if before(comment)]
    alone = blocks(comment for comment in every if not before(comment))
    for block in sorted([*behind, *alone], key=lambda block: block[0].line):
        below = "".join(lines[block[-1].line : block[-1].line + 1])
        code = before(block[0]) or below.strip()
        yield from counts_in_text(block, code=code, in_file=in_file)
