"""The project and its environment as they are now, to compare with what a build depended on."""

from __future__ import annotations

import os
import stat
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from nparam_lint.cache.dependencies import Dependencies, SharedDependencies

LARGE = 1 << 26  # bytes; as in the worker, a larger file is known by its state


class ProjectState:
    """The project and its environment as they are, each looked at once."""

    def __init__(self, root: Path, names: Iterable[str]) -> None:
        self.root = os.path.realpath(root)
        self.importable = frozenset(names)
        self.digest = cache(self._digest)
        self.names = cache(self._names)
        self.probe = cache(self._probe)
        self.state = cache(state_of)

    def path(self, place: str) -> str:
        return os.path.normpath(os.path.join(self.root, place))

    def _digest(self, place: str) -> str | None:
        path = self.path(place)
        try:
            if os.stat(path).st_size > LARGE:
                return state_of(path)
            with open(path, "rb", buffering=0) as file:
                return content_digest(file.read())
        except (OSError, ValueError):
            return None

    def _names(self, place: str) -> str | None:
        try:
            with os.scandir(self.path(place)) as found:
                names = "\n".join(sorted(e.name + "/" * e.is_dir() for e in found))
        except (OSError, ValueError):
            return None
        return content_digest(names.encode("utf-8", "surrogateescape"))

    def _probe(self, asked: str) -> str:
        question, _, place = asked.partition(" ")
        path = self.path(place)
        try:
            if question == "readlink":
                return os.readlink(path)
            if question.startswith("access"):
                return str(os.access(path, int(question.removeprefix("access"))))
            mode = (os.stat(path) if question == "stat" else os.lstat(path)).st_mode
        except (OSError, ValueError):
            return "nothing"
        kinds = ((stat.S_ISREG, "file"), (stat.S_ISDIR, "directory"), (stat.S_ISLNK, "link"))
        return next((kind for is_kind, kind in kinds if is_kind(mode)), "other")

    def present(self, place: str, names: Sequence[str]) -> tuple[str, ...]:
        try:
            entries = os.listdir(self.path(place))
        except OSError:
            return ()
        wanted = set(names)
        return tuple(sorted(e for e in entries if e.partition(".")[0] in wanted))

    def matches(self, inputs: Dependencies) -> bool:
        return (
            all(self.digest(place) == was for place, was in inputs.files.items())
            and all(self.names(place) == was for place, was in inputs.lists.items())
            and all(self.probe(place) == was for place, was in inputs.probes.items())
        )

    def matches_shared(self, shared: SharedDependencies) -> bool:
        return (
            all(self.state(path) == was for path, was in shared.outside.items())
            and self.matches(shared.inputs)
            and all((name in self.importable) == was for name, was in shared.missing.items())
            and all(
                self.present(place, names) == shared.present.get(place)
                for place, names in shared.lookups.items()
            )
        )


def content_digest(data: bytes) -> str:
    """As the worker writes it."""
    from hashlib import blake2b

    return blake2b(data, digest_size=16).hexdigest()


def state_of(path: str) -> str | None:
    """As the worker writes it: what changes whenever a file or a directory does."""
    try:
        state = os.stat(path)
    except (OSError, ValueError):
        return None
    return f"{state.st_mtime_ns} {state.st_ctime_ns} {state.st_size} {state.st_ino}"
