"""Lines of a text, and where they are once it was edited."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def lines_of(text: str | bytes) -> list[str]:
    """As Python and editors count them: a form feed begins none."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    return re.split(r"\r\n?|\n", text)


def lines_now(old: Sequence[str], new: Sequence[str]) -> dict[int, int]:
    """Where lines of `old` stand in `new`, both from 1: those that are the same, and in place of
    lines that were changed, in their order, what stands there now."""
    # Most of a file is as it was. Of all of it, `difflib` compares each blank line with each other.
    start = alike(old, new)
    end = alike(old[start:][::-1], new[start:][::-1])
    middle = old[start : len(old) - end], new[start : len(new) - end]
    places = {line: line for line in range(1, start + 1)}
    for _, *bounds in SequenceMatcher(None, *middle, autojunk=False).get_opcodes():
        first, last, begin, stop = (start + bound + 1 for bound in bounds)
        places |= zip(range(first, last), range(begin, stop), strict=False)
    return places | {len(old) - n: len(new) - n for n in range(end)}


def alike(old: Sequence[str], new: Sequence[str]) -> int:
    """How many lines, or characters, are the same at the start of two."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(old), len(new)))
