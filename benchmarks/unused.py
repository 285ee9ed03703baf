"""Classes that nothing in a repository uses, for `coverage.py`."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from nparam_lint.evidence.containment import _lines_of_code

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from nparam_lint.discover import Discovery

# Where a name is bound, or is only the base of another class.
_BINDS = re.compile(
    r"^[ \t]*(?:from[ \t][^\n(]*(?:\([^)]*\)|[^\n]*)|import[ \t][^\n]*)"
    r"|^[ \t]*class[ \t]+\w+(?:[ \t]*\([^)]*\))?",
    re.MULTILINE,
)
_TEXTS = tuple(".md .rst .txt .ipynb .yaml .yml .json .toml .cfg .sh .gin".split())
_LARGE = 4_000_000


def unused(found: Discovery, root: Path, targets: Collection[str]) -> set[str]:
    """Those of the classes that no Python file calls or hands on, and no text or config names. What
    cannot be told counts as a use: an attribute of something unknown, a decorated class."""
    left = {target for target in targets if not _is_decorated(found, target)}
    names = {target.partition("::")[2] for target in left}
    if names:
        word = re.compile(rf"(?<![\w.])(?:\w+\.)*(?:{'|'.join(map(re.escape, names))})\b|\.\w+")
        for path in found.tree.files:
            left -= _uses(found, path, word, left)
        left -= _mentioned(root, left, {d.target for d in found.definitions})
    return left


def _is_decorated(found: Discovery, target: str) -> bool:
    """Whether a class is registered somewhere, maybe."""
    path, _, name = target.partition("::")
    lines = found.tree.source(path).decode("utf-8", "replace").split("\n")
    at = found.models.names.classes(path)[name].line
    return any(line.startswith(("@", ")")) for line in lines[at - 2 : at])


def _uses(found: Discovery, path: str, word: re.Pattern[str], left: Collection[str]) -> set[str]:
    code = _BINDS.sub("", "\n".join(_lines_of_code(found.tree.source(path))))
    used: set[str] = set()
    for dotted in set(word.findall(code)):
        symbol = None if dotted.startswith(".") else found.models.names.resolve(path, dotted)
        name = dotted.rpartition(".")[2]
        for target in left:
            where, _, own = target.partition("::")
            is_it = symbol is None or (symbol.where, symbol.name) == (where, own)
            used |= {target} if own == name and is_it else set()
    return used


def _mentioned(root: Path, left: Collection[str], every: Collection[str]) -> set[str]:
    """Those that a text names; of several of one name, with the module."""
    often = Counter(target.partition("::")[2] for target in every)
    found: set[str] = set()
    for text in _texts(root):
        words = set(re.findall(r"\w+", text))
        for target in left:
            path, _, name = target.partition("::")
            module = path.removesuffix(".py").removesuffix("/__init__").rpartition("/")[2]
            if name in words and (module in words or often[name] == 1):
                found.add(target)
    return found


def _texts(root: Path) -> Iterator[str]:
    for path in root.rglob("*"):
        if path.suffix in _TEXTS and ".git" not in path.parts and path.stat().st_size < _LARGE:
            yield path.read_text("utf-8", "replace")
