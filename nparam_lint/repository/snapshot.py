"""A copy of the index or a commit, outside the working tree.

The hook checks what would be committed, not what happens to be in the working tree. Files that git
ignores (a generated `_version.py`, a compiled extension, data) are linked into the copy; files that
are neither tracked nor ignored are not there, as they would not be in the commit.
"""

from __future__ import annotations

import os
import re
import shlex
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.temporary import temporary_directory

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nparam_lint.repository.git import Exported, Repository

# Ignored, but nothing that a model could need.
_USELESS = frozenset({"__pycache__", "node_modules", ".tox", ".nox", "site-packages"})


class Snapshot(Struct, frozen=True):
    """`directory`: the copy. `home`: the working tree's top that it is a copy of. `commit`: which
    commit it is a copy of; None: the index. `tracked`: the copied files of the repository itself;
    `importable`: those and its submodules'; `absent`: what a partial clone lacks. `linked`: what
    stands in the copy as a link into the working tree. `untracked`, and for an index `unstaged`:
    what differs in the working tree, for messages. All relative to the top, with `/`."""

    directory: Path
    home: Path
    tracked: tuple[str, ...]
    importable: tuple[str, ...]
    linked: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()
    unstaged: tuple[str, ...] = ()
    commit: str | None = None
    absent: tuple[str, ...] = ()

    def copy_of(self, path: Path) -> Path:
        """Where a path of the working tree is in the copy. Raises UsageError outside of it."""
        return self._moved(path, self.home, self.directory)

    def original_of(self, path: Path) -> Path:
        """Where a path of the copy is in the working tree. Raises UsageError outside of it."""
        return self._moved(path, self.directory, self.home)

    def files(
        self,
        root: Path,
        kind: str | tuple[str, ...] = ".py",
        which: Literal["tracked", "importable", "absent"] = "tracked",
    ) -> list[str]:
        """The files whose names end like this below `root`, a directory of the copy, relative to
        it."""
        inside = root.relative_to(self.directory).as_posix()
        prefix = "" if inside == "." else f"{inside}/"
        return [
            path.removeprefix(prefix)
            for path in getattr(self, which)
            if path.startswith(prefix) and path.endswith(kind)
        ]

    def at_fault(self, reason: str, root: Path) -> str | None:
        """The file that the working tree has but git does not, if the reason of a failure names it,
        with the next step, which is the same in each directory. `root`: the directory of the copy
        that relative paths start from."""
        inside = root.relative_to(self.directory)
        for files, what in (
            (self.untracked, "is not tracked by git"),
            (self.unstaged, "has changes that are not staged"),
        ):
            for path in files:
                near = os.path.relpath(path, inside)
                if any(_names(reason, name) for name in (path, near, str(self.home / path))):
                    return f"{path} {what}; next: git add {shlex.quote(f':/{path}')}"
        return None

    @staticmethod
    def _moved(path: Path, source: Path, target: Path) -> Path:
        for here, there in ((path.absolute(), source), (path.resolve(), source.resolve())):
            if here.is_relative_to(there):
                return target / here.relative_to(there)
        raise UsageError(f"{path} is outside of the repository at {source}")


@contextmanager
def copied(
    repository: Repository, commit: str | None = None, *, is_past: bool = False
) -> Iterator[Snapshot]:
    """What a commit holds; by default what `git commit` would commit now. `is_past`: what is in the
    working tree besides has nothing to do with it."""
    with temporary_directory("nparam-lint-copy-") as name:
        directory = Path(name).resolve()
        differing = {} if is_past else repository.differing()
        intended = [path for path, letter in differing.items() if letter == "A"]
        exported = repository.export(directory, commit, () if commit else intended)
        _redirect_links(chain(*(part.links for part in exported)), directory, repository.top)
        (directory / ".git").mkdir(exist_ok=True)  # by which a project finds its top
        yield Snapshot(
            directory,
            repository.top,
            tuple(exported[0].tracked),
            tuple(chain(*(part.tracked for part in exported))),
            tuple(_linked(exported, directory)),
            untracked=() if is_past else tuple(sorted({*repository.untracked(), *intended})),
            unstaged=() if commit else tuple(sorted(differing.keys() - intended)),
            commit=commit,
            absent=tuple(chain(*(part.absent for part in exported))),
        )


def _redirect_links(paths: Iterable[str], copy: Path, home: Path) -> None:
    """Symbolic links that leave the repository, or that name it by its absolute path, would lead
    elsewhere in the copy: those into the working tree stay in the copy, others lead outside."""
    for path in paths:
        link = copy / path
        if not link.is_symlink():  # a system without them has a file that holds the target
            continue
        target = link.readlink()
        place = os.path.normpath((home / path).parent / target)
        inside = Path(place).is_relative_to(home)
        if inside == target.is_absolute():
            link.unlink()
            link.symlink_to(copy / Path(place).relative_to(home) if inside else place)


def _linked(exported: Iterable[Exported], copy: Path) -> Iterator[str]:
    """Link what git ignores, and say what was linked."""
    for export in exported:
        directory = copy / export.prefix
        for path in (entry.rstrip("/") for entry in export.repository.ignored()):
            original, link = export.repository.top / path, directory / path
            name = original.name
            if name in _USELESS or name.endswith(".pyc") or (original / "pyvenv.cfg").exists():
                continue
            # Where git has a file or a link, the working tree may have a directory.
            above = (directory / parent for parent in Path(path).parents)
            is_covered = any(place.is_symlink() or place.is_file() for place in above)
            if is_covered or os.path.lexists(link):
                continue
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(original)
            yield export.prefix + path


def _names(text: str, path: str) -> bool:
    """Whether a text mentions a path; a path without a dot or a slash could be any word."""
    if path not in text or ("." not in path and os.sep not in path):
        return False
    return re.search(rf"(?<![\w./-])(?:\./)?{re.escape(path)}(?![\w-]|\.\w)", text) is not None
