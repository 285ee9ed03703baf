"""Counts in running text: comments, paragraphs, docstrings of what is no model."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from nparam_lint.claims.docstring_budgets import place_in
from nparam_lint.claims.prose import SENTENCE_END, phrases
from nparam_lint.claims.stated import StatedCount

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.ground.values import DocLine


def counts_in_text(
    lines: Sequence[DocLine],
    around: Sequence[str] = (),
    *,
    in_file: bool = False,
    code: str | None = None,
) -> Iterator[StatedCount]:
    """The counts of some lines that belong together; the model is named in the sentence, or in what
    is `around`. `code`: what a comment is about; it names the model in the line of the number."""
    text = "\n".join(line.text for line in lines)
    ends = [0, *(match.end() for match in SENTENCE_END.finditer(text)), len(text)]
    for start, end in pairwise(ends):
        sentence = text[start:end]
        for offset, phrase, selector, value in phrases(sentence):
            line, column = place_in(lines, start + offset)
            before, after = sentence[:offset], sentence[offset:]
            if code is not None:
                last = before.rpartition("\n")[2]
                before = f"{code} {last}"
                after = after.partition("\n")[0]
            yield StatedCount(
                phrase,
                (value,),
                selector,
                line,
                column,
                (before, after, *around),
                in_file=in_file,
            )
