"""Characters for terminals and files whose encoding lacks ours (ASCII, Windows' cp1252)."""

from __future__ import annotations

# Bars and ticks take the place of one character, so that columns stay straight.
_ALIKE = {
    **dict.fromkeys("▏▎▍", "-"),
    **dict.fromkeys("▌▋▊▉", "="),
    "█": "#",
    **dict.fromkeys("─–—−", "-"),
    "✓": "+",
    "✗": "x",
    "×": "x",
    "Δ": "*",
    "·": "-",
    "…": "~",
    "≈": "~",
    "→": ">",
    "≤": "<=",
    "≥": ">=",
    "±": "+/-",
}


def look_alikes(error: UnicodeError) -> tuple[str, int]:
    """What stands for the characters that an encoding lacks, and where to go on; a handler of
    errors as `codecs.register_error` takes it."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    wrong = error.object[error.start : error.end]
    return "".join(_ALIKE.get(character, "?") for character in wrong), error.end
