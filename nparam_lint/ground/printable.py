"""Text that others wrote, for a terminal and for the log of a CI: it is read, and does nothing."""

from __future__ import annotations

import re


def clean(text: str) -> str:
    """One printable line: an exception's text must not move the cursor or colour the terminal."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii")
        for c in " ".join(text.splitlines()).replace("\t", " ")
    )


def inert(text: str) -> str:
    """No line of it is a command to a CI's runner: `::error`, or the older `##[error]`."""
    return re.sub(r"^([^\S\n]*):(?=:)", r"\1: ", text, flags=re.MULTILINE).replace("##[", "## [")
