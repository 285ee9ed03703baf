"""What a measurement depends on, as the worker reports it and as it is stored; and the project and
its environment as they are now, to compare with that."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

LARGE = 1 << 26  # bytes; as in the worker, a larger file is known by its state


@dataclass(frozen=True, slots=True)
class Dependencies:
    """What was read. `files`: path → digest of the content, None where there was none. `lists`:
    directory → digest of the names in it. `probes`: question and path → answer. `edges`: the
    project's files that were imported. Paths are relative to the root where they lie below it."""

    files: dict[str, str | None] = field(default_factory=dict)
    lists: dict[str, str | None] = field(default_factory=dict)
    probes: dict[str, str] = field(default_factory=dict)
    edges: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """A file of the project that was run. `source`: digest of its content. `edges`: files that it
    imports. `changes`: files whose state it changed when it was run; "": that of the process."""

    source: str | None
    edges: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProcessDependencies:
    """What one process of the worker has to tell. `files`: the project's files that were run.
    `shared`: what else was read while they were. `lookups`: directory → names that modules were
    looked for under. `missing`: name of a module that was not found → whether the project has a
    file of that name anywhere. `outside`: path of a file of no project → its state."""

    files: dict[str, ImportedFile]
    shared: Dependencies
    lookups: dict[str, tuple[str, ...]]
    missing: dict[str, bool]
    outside: dict[str, str | None]


@dataclass(frozen=True, slots=True)
class SharedDependencies:
    """What all models of a run have in common. `inputs`: what was read while modules were imported;
    `present`: for each directory of `lookups` those of its entries that go by such a name; the
    rest as in `ProcessDependencies`."""

    inputs: Dependencies
    lookups: dict[str, tuple[str, ...]]
    present: dict[str, tuple[str, ...]]
    missing: dict[str, bool]
    outside: dict[str, str | None]


@dataclass(frozen=True, slots=True)
class CachedMeasurement:
    """A measurement: the names under which its `Dependencies` and `SharedDependencies` are stored,
    and the worker's answer as JSON. `changes`: of the files among these, what each changed of
    others. `companions`: a name for all the models of the run, where one of them can tell which
    others were measured with it."""

    inputs: str
    shared: str
    ok: bool
    answer: str
    changes: dict[str, tuple[str, ...]]
    companions: str = ""


@dataclass(frozen=True, slots=True)
class Installation:
    """An interpreter: its versions, and the state of what changes when packages come or go."""

    torch: str
    python: str
    sites: dict[str, str | None]


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
