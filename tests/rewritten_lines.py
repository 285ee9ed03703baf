"""What is another line in a file that was rewritten."""

from __future__ import annotations

from difflib import unified_diff


def lines_changed(old: bytes, new: bytes) -> list[str]:
    """As `diff` has them, with their numbers; `␍` is a carriage return."""
    sides = [text.decode().replace("\r", "␍").split("\n") for text in (old, new)]
    return [*unified_diff(*sides, n=0, lineterm="")][2:]
