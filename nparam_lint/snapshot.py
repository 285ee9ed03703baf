"""A copy of what git has, outside of the working tree: the index, or a commit.

The hook judges what would be committed, not what happens to lie in the working tree. Files that
git ignores (a generated `_version.py`, a compiled extension, data) are linked into the copy; files
that are neither tracked nor ignored are not there, as they would not be in the commit.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.git import Exported, Repository

# Ignored, but nothing that a model could need.
_USELESS = frozenset({"__pycache__", "node_modules", ".tox", ".nox", "site-packages"})


@dataclass(frozen=True, slots=True)
class Snapshot:
    """`directory`: the copy. `home`: the working tree's top that it is a copy of. `tracked`: the
    copied files of the repository itself; `importable`: those and its submodules'. `linked`: what
    stands in the copy as a link into the working tree. `untracked` and `unstaged`: what differs in
    the working tree, for messages. All relative to the top, with `/`."""

    directory: Path
    home: Path
    tracked: tuple[str, ...]
    importable: tuple[str, ...]
    linked: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()
    unstaged: tuple[str, ...] = ()

    def copy_of(self, path: Path) -> Path:
        """Where a path of the working tree is in the copy. Raises ValueError outside of it."""
        return self._moved(path, self.home, self.directory)

    def original_of(self, path: Path) -> Path:
        """Where a path of the copy is in the working tree. Raises ValueError outside of it."""
        return self._moved(path, self.directory, self.home)

    def python_files(self, root: Path, *, importable: bool = False) -> list[str]:
        """The copied Python files below `root`, a directory of the copy, relative to it."""
        inside = root.relative_to(self.directory).as_posix()
        prefix = "" if inside == "." else f"{inside}/"
        return [
            path.removeprefix(prefix)
            for path in (self.importable if importable else self.tracked)
            if path.startswith(prefix) and path.endswith(".py")
        ]

    @staticmethod
    def _moved(path: Path, source: Path, target: Path) -> Path:
        for here, there in ((path.absolute(), source), (path.resolve(), source.resolve())):
            if here.is_relative_to(there):
                return target / here.relative_to(there)
        raise ValueError(f"{path} is outside of the repository at {source}")


@contextmanager
def staged(repository: Repository) -> Iterator[Snapshot]:
    """What `git commit` would commit now."""
    with _copy() as directory:
        yield _snapshot(repository.export_index(directory), directory)


@contextmanager
def committed(repository: Repository, commit: str) -> Iterator[Snapshot]:
    """What a commit holds."""
    with _copy() as directory:
        yield _snapshot(repository.export_commit(commit, directory), directory)


@contextmanager
def _copy() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(
        prefix="nparam-lint-copy-", ignore_cleanup_errors=True
    ) as name:
        yield Path(name).resolve()


def _snapshot(exported: Exported, directory: Path) -> Snapshot:
    repository = exported.repository
    return Snapshot(
        directory,
        repository.top,
        exported.tracked,
        tuple(_importable(exported)),
        tuple(_linked(exported, directory)),
        tuple(repository.untracked()),
        tuple(repository.unstaged()),
    )


def _importable(exported: Exported, prefix: str = "") -> Iterator[str]:
    yield from (prefix + path for path in exported.tracked)
    for path, inner in exported.submodules.items():
        yield from _importable(inner, f"{prefix}{path}/")


def _linked(exported: Exported, directory: Path, prefix: str = "") -> Iterator[str]:
    """Link what git ignores, and say what was linked."""
    for entry in exported.repository.ignored():
        path = entry.rstrip("/")
        original, copy = exported.repository.top / path, directory / path
        if _is_useless(original) or os.path.lexists(copy):
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.symlink_to(original)
        yield prefix + path
    for path, inner in exported.submodules.items():
        yield from _linked(inner, directory / path, f"{prefix}{path}/")


def _is_useless(path: Path) -> bool:
    return (
        path.name in _USELESS
        or path.name.endswith((".egg-info", ".pyc"))
        or (path / "pyvenv.cfg").exists()
    )
