"""The project and its surroundings as they are now: the answers to the questions of facts."""

from __future__ import annotations

import os
import platform
from functools import cache
from typing import TYPE_CHECKING

from nparam_lint.cache.store import digest
from nparam_lint.cache.variables import value_of
from nparam_lint.count.worker.path_facts import answer, escaped, unescaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from nparam_lint.cache.installed_files import InstalledFiles

# `path_facts.fact` → its answer, None where nothing was there. Paths are relative to the root where
# they lie below it, or in the repository around it; those below a place that has a name
# (`installed_files.places_of`) begin with it. Some questions are for us alone:
# "importable", whether the project has a file that could be imported by a name;
# "entries/NAME", what in a directory can be imported by a name;
# "installed", what a file contains that no project owns;
# "env", the value of an environment variable, or of several (`variables.value_of`);
# "machine", what code has asked about the machine.
Facts = dict[str, str | None]

# What Python imports from a directory: other directories, and files whose names end like this.
_IMPORTABLE = (".py", ".pyc", ".pyw", ".so", ".pyd", ".dll", ".dylib")


class ProjectState:
    """The project and its environment as they are, each looked at once."""

    def __init__(
        self,
        root: Path,
        names: Iterable[str],
        variables: Mapping[str, str],
        installed: InstalledFiles,
    ) -> None:
        """`names`: under which anything of the project could be imported; `variables`: those that
        Python code can see."""
        self.root = os.path.realpath(root)
        self.importable = frozenset(names)
        self.variables, self.installed = variables, installed
        self._places = dict(installed.places)
        self.answer = cache(self._answer)
        self._entries = cache(self._entries_of)

    def path(self, place: str, root: str = "") -> str:
        """The path of a place; `root`: the project's directory, if another one is meant."""
        place = unescaped(place)
        if place.startswith("//"):
            end = place.find("/", 2)
            name, rest = (place, "") if end < 0 else (place[:end], place[end:])
            return self._places.get(name, name) + rest
        return os.path.normpath(os.path.join(root or self.root, place))

    def holds(self, facts: Facts) -> bool:
        """Whether all answers are what they were."""
        return all(self.answer(asked) == was for asked, was in facts.items())

    def changes(self, facts: Facts) -> Iterator[tuple[str, str | None, str | None]]:
        """(what was asked, the answer that was, the answer now) where these differ."""
        for asked, was in facts.items():
            now = self.answer(asked)
            if now != was:
                yield asked, was, now

    def _answer(self, asked: str) -> str | None:
        question, _, place = asked.partition("\0")
        if question == "importable":
            return str(place in self.importable)
        if question.startswith("entries/"):
            return self._entries(place).get(question.removeprefix("entries/"))
        if question == "installed":
            return self.installed.digest(self.path(place))
        if question == "env":
            return self._variable(place)
        if question == "machine":
            return _of_machine(place)
        found: str | None = answer(question, self.path(place))
        return found

    def _variable(self, name: str) -> str | None:
        value = value_of(name, self.variables)
        if value is None:
            return None
        # It may be a secret that nobody recognised, or contain where the project is.
        value = self.installed.without_places(value, ("//root", self.root))
        return digest(value.encode("utf-8", "surrogateescape"))

    def _entries_of(self, place: str) -> dict[str, str]:
        """The entries of a directory that can be imported, by the names that they would be imported
        by."""
        found: dict[str, str] = {}
        try:
            with os.scandir(self.path(place)) as entries:
                kept = [
                    escaped(entry.name) + "/" * entry.is_dir()
                    for entry in entries
                    if entry.name.endswith(_IMPORTABLE)
                    or ("." not in entry.name and entry.is_dir())
                ]
        except OSError:
            return found
        for entry in sorted(kept):
            name = entry.rstrip("/").partition(".")[0]
            found[name] = f"{found.get(name, '')}:{entry}"
        return found


def _of_machine(question: str) -> str:
    if question == "node":
        return platform.node()
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else ""
    return f"{os.cpu_count()} {usable}"
