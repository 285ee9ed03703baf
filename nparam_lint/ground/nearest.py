"""Which of the names that there are somebody meant, for messages about one that there is not."""

from __future__ import annotations

import os
from difflib import get_close_matches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def nearest(
    word: str, candidates: Iterable[object], count: int = 1, cutoff: float = 0.6
) -> list[str]:
    """The names most like a word, the best first; capitals make no difference. `cutoff`: how like
    it they must be, from 0 to 1."""

    names = {str(name).lower(): str(name) for name in reversed([*candidates])}
    return [names[name] for name in get_close_matches(word.lower(), names, count, cutoff)]


def did_you_mean(
    word: str, candidates: Iterable[object], otherwise: str = "", *, cutoff: float = 0.6
) -> str:
    """What a message ends with: `; did you mean GPT?`. Where no name is like the word, `otherwise`
    after a semicolon, or nothing."""
    near = nearest(word, candidates, cutoff=cutoff)
    text = f"did you mean {near[0]}?" if near else otherwise
    return f"; {text}" if text else ""


def did_you_mean_path(path: str | os.PathLike[str]) -> str:
    """The same for a path that does not exist: what lies beside it."""
    folder, name = os.path.split(path)
    word, suffix = os.path.splitext(name)  # a suffix makes short names alike
    try:
        there = [os.path.splitext(one) for one in os.listdir(folder or ".")]
    except OSError:
        there = []
    near = nearest(word, [stem for stem, end in there if end == suffix])
    return f"; did you mean {os.path.join(folder, near[0] + suffix)}?" if near else ""
