"""What a measurement depends on, as the worker reports it and as it is stored; and the project and
its environment as they are now, to compare with that."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from nparam_lint.count.worker.path_facts import answer

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

# `path_facts.fact` → its answer, None where nothing was there. Paths are relative to the root where
# they lie below it. Two questions are for us alone: "importable", whether the project has a file
# that could be imported by a name; "entries/NAME", what in a directory can be imported by a name.
Facts = dict[str, str | None]


@dataclass(frozen=True, slots=True)
class Dependencies:
    """What a build read, and the project's files that were imported for it."""

    facts: Facts
    imports: frozenset[str]


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """A file of the project that was run. `source`: digest of its content. `imports`: files that it
    imports. `changes`: files whose state it changed when it was run; "": that of the process."""

    source: str | None
    imports: frozenset[str]
    changes: frozenset[str]


@dataclass(frozen=True, slots=True)
class ProcessDependencies:
    """What one process of the worker has to tell: the project's files that were run, and what else
    was read while they were."""

    files: dict[str, ImportedFile]
    facts: Facts


@dataclass(frozen=True, slots=True)
class CachedMeasurement:
    """A measurement: the names under which its own facts, and those that all models of the run
    share, are stored, and the worker's answer as JSON. `changes`: of the files among its own, what
    each changed of others. `companions`: a name for all the models of the run, where one of them
    can tell which others were measured with it."""

    inputs: str
    shared: str
    ok: bool
    answer: str
    changes: dict[str, frozenset[str]]
    companions: str = ""


class ProjectState:
    """The project and its environment as they are, each looked at once."""

    def __init__(self, root: Path, names: Iterable[str]) -> None:
        self.root = os.path.realpath(root)
        self.importable = frozenset(names)
        self.answer = cache(self._answer)
        self._entries = cache(self._entries_of)

    def path(self, place: str) -> str:
        return os.path.normpath(os.path.join(self.root, place))

    def holds(self, facts: Facts) -> bool:
        """Whether all answers are what they were."""
        return all(self.answer(asked) == was for asked, was in facts.items())

    def _answer(self, asked: str) -> str | None:
        question, _, place = asked.partition("\0")
        if question == "importable":
            return str(place in self.importable)
        if question.startswith("entries/"):
            return self._entries(place).get(question.removeprefix("entries/"))
        found: str | None = answer(question, self.path(place))
        return found

    def _entries_of(self, place: str) -> dict[str, str]:
        """The entries of a directory, by the names that these would be imported by."""
        found: dict[str, str] = {}
        try:
            entries = sorted(os.listdir(self.path(place)))
        except OSError:
            return found
        for entry in entries:
            name = entry.partition(".")[0]
            found[name] = f"{found.get(name, '')}/{entry}"
        return found
