"""Paths of a project: relative to its root, which is "", and written with `/`; and kinds of files,
by their names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from nparam_lint.ground.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

CONFIG_SUFFIXES = (".yaml", ".yml", ".toml", ".json")
_REST_SUFFIXES = (".rst", ".rest")
DOC_SUFFIXES = (".md", ".markdown", ".mdown", ".mkd", ".mdx", *_REST_SUFFIXES)


def join(directory: str, name: str) -> str:
    """Join two relative posix paths, where "" is the root."""
    return f"{directory}/{name}" if directory and name else directory or name


def parent(path: str) -> str:
    return path.rpartition("/")[0]


def ancestors(folder: str) -> Iterator[str]:
    """`folder` and all above it, up to the root ""."""
    yield folder
    while folder:
        folder = parent(folder)
        yield folder


def is_below_one(path: str, other: str) -> bool:
    """Whether two files lie in the same directory of the top."""
    return path.partition("/")[0] == other.partition("/")[0]


def within(places: Collection[str]) -> Callable[[str], bool]:
    """Whether a path lies at or below one of these; where there are none, any does."""
    folders = frozenset(places)
    return lambda path: not (folders and folders.isdisjoint(ancestors(path)))


def place_of(path: Path, root: Path) -> str:
    """The path relative to the root, which itself is "". Raises UsageError for one outside."""
    # Lexically first: a symbolic link inside the project keeps its own name there.
    here, top = Path(os.path.abspath(path)), Path(os.path.abspath(root))
    for place, base in ((here, top), (here.resolve(), top.resolve())):
        if place.is_relative_to(base):
            return "/".join(place.relative_to(base).parts)
    raise UsageError(f"{path} is outside the project root {root}")


def relative_path(path: str | Path, start: str | Path = os.curdir) -> str:
    """The path as it is called from another place, which it need not lie in."""
    return os.path.relpath(path, start).replace(os.sep, "/")


def is_doc(path: str) -> bool:
    """Whether a file is Markdown or reStructuredText, by its name: `README.MD` is, too."""
    return path.lower().endswith(DOC_SUFFIXES)


def is_rest(path: str) -> bool:
    return path.lower().endswith(_REST_SUFFIXES)
