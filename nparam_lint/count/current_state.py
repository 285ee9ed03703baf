"""The project and its surroundings as they are now: files, the variables of the environment, and
installed packages.

Another machine, or a fresh environment, has the same packages with other times and in another
place. So their files are known by what they contain; what a file in a certain state contained is
remembered, so that a run only has to look at the state.
"""

from __future__ import annotations

import os
import platform
import re
import time
from typing import TYPE_CHECKING

from nparam_lint.cache import value_of
from nparam_lint.cache.file_facts import FactCache
from nparam_lint.discover.source_tree import cached_method
from nparam_lint.ground.facts import answer, digest, escaped, unescaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from nparam_lint.cache.store import Store

# `facts.fact` → its answer, None where nothing was there. Paths are relative to the root where
# they lie below it, or in the repository around it; those below a place that has a name
# (`places_of`) begin with it. Some questions are for us alone:
# "importable", whether the project has a file that could be imported by a name;
# "entries/NAME", what in a directory can be imported by a name;
# "installed", what a file contains that no project owns;
# "env", the value of an environment variable, or of several (`cache.value_of`);
# "machine", what code has asked about the machine.
Facts = dict[str, str | None]
CODE = "code"  # of a file of the project that is run: its content, but for what no code can see

# What Python imports from a directory: other directories, and files whose names end like this.
_IMPORTABLE = (".py", ".pyc", ".pyw", ".so", ".pyd", ".dll", ".dylib")
# Bytes of a file (a library, as a rule) that its size and its package's version tell enough of.
_LARGE = 16 << 20
_MOST = 100_000  # installed files whose digests are kept
_GRAIN = 2_000_000_000  # ns: what changed so shortly ago may change again without another time
_BYTECODE = ("__pycache__", ".pyc")
# Files that say where things are: how their names end.
_OF_PLACES = (".pth", "direct_url.json", "pyvenv.cfg")


def places_of(python: str, environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """(name, directory) of what is elsewhere on another machine, or in another environment: that of
    the interpreter, of the one that it was made from, and of the user; the innermost first."""
    prefix = _prefix(python)
    base = _setting(prefix, "home")
    names = {
        os.path.expanduser(environ.get("HOME") or "~"): "//home",
        os.path.dirname(base): "//base",
        prefix: "//python",
    }
    places = [(name, place) for place, name in names.items() if len(place) > 1]
    return sorted(places, key=lambda pair: -len(pair[1]))


def _prefix(python: str) -> str:
    return os.path.dirname(os.path.dirname(os.path.abspath(python)))


def _setting(prefix: str, name: str) -> str:
    """What the file says that makes a directory a virtual environment."""
    try:
        with open(os.path.join(prefix, "pyvenv.cfg"), encoding="utf-8", errors="replace") as file:
            pairs = (line.partition("=") for line in file)
            return next((value.strip() for key, _, value in pairs if key.strip() == name), "")
    except OSError:
        return ""


def packages_in(prefix: str) -> list[str]:
    """The names in the directories where an interpreter has its packages."""
    names: set[str] = set()
    library = os.path.join(prefix, "lib")
    for version in ("", *(name for name in _listed(library) if name.startswith("python3"))):
        for kind in ("site-packages", "dist-packages"):
            names.update(_listed(os.path.join(library, version, kind)))
    return sorted(name for name in names if not name.endswith(_BYTECODE))


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


class InstalledFiles:
    """What files that no project owns contain. `places`: as `places_of` has them; `store`: where
    digests by the files' states are kept."""

    def __init__(self, store: Store, places: list[tuple[str, str]]) -> None:
        self.places = places
        self._digests = FactCache[tuple[str, str]](store, "digests", tuple[str, str])

    def digest(self, path: str) -> str | None:
        """A name for what a file contains, or for the names in a directory without bytecode; None
        if nothing is there, or it cannot be read."""
        state = answer("state", path)
        if state is None:
            return None
        entry = self._digests.get(escaped(path))
        if entry and entry[0] == state:
            return entry[1]
        modified, status_change, size, _ = map(int, state.split(":"))
        try:
            name = self._read(path, size)
        except OSError:
            return None
        is_old = max(modified, status_change) < time.time_ns() - _GRAIN
        if is_old and not path.endswith(_OF_PLACES):
            self._digests.put(escaped(path), (state, name))
        return name

    def _read(self, path: str, size: int) -> str:
        if os.path.isdir(path):
            names = [name for name in os.listdir(path) if not name.endswith(_BYTECODE)]
            return digest(*map(os.fsencode, sorted(names)))
        if size > _LARGE:
            return f"{size} bytes"
        with open(path, "rb", buffering=0) as file:
            content = file.read()
        if os.path.basename(path) == "RECORD":  # scripts, and their hashes, name the interpreter
            content = b"\n".join(line.partition(b",")[0] for line in content.splitlines())
        if path.endswith("pyvenv.cfg"):  # another command may have made the same
            lines = content.splitlines()
            content = b"\n".join(x for x in lines if not x.startswith((b"command", b"executable")))
        if path.endswith(_OF_PLACES):
            return digest(self.without_places(os.fsdecode(content)))
        return digest(content)

    def without_places(self, text: str, *more: tuple[str, str]) -> str:
        """`text` with the names of the places in it, and of `more`."""
        for name, place in (*more, *self.places):
            if place in text:  # as a whole, or as the beginning of a path
                text = re.sub(re.escape(place) + r"(?![\w.-])", name, text)
        return text

    def save(self) -> None:
        """Remember the digests that were new."""
        self._digests.save(_MOST)


def context_of(
    python: str, variables: Mapping[str, str], release: str, installed: InstalledFiles
) -> str:
    """A name for what all measurements with an interpreter have in common."""
    prefix = _prefix(python)
    version = _setting(prefix, "version") or _setting(prefix, "version_info")
    # The values themselves are nobody else's business.
    values = (
        f"{name}={digest(installed.without_places(value))}" for name, value in variables.items()
    )
    parts = (
        release,
        version or os.path.basename(os.path.realpath(python)),
        "\n".join(packages_in(prefix)),
        f"{platform.system()} {platform.machine()}",
        "\n".join(sorted(values)),
    )
    return digest(*parts)


class ProjectState:
    """The project and its environment as they are, each looked at once."""

    def __init__(
        self,
        root: Path,
        names: Iterable[str],
        variables: Mapping[str, str],
        installed: InstalledFiles,
        untracked: Iterable[str],
    ) -> None:
        """`names`: under which anything of the project could be imported; `variables`: those that
        Python code can see; `untracked`: files that a copy of what git has lacks."""
        self.root = os.path.realpath(root)
        self.importable = frozenset(names)
        self.variables, self.installed = variables, installed
        self.untracked_names = {
            name.removesuffix(".py") for path in untracked for name in path.split("/")
        }
        self._places = dict(installed.places)

    def path(self, place: str, root: str = "") -> str:
        """The path of a place; `root`: the project's directory, if another one is meant."""
        place = unescaped(place)
        if place.startswith("//"):
            end = place.find("/", 2)
            name, rest = (place, "") if end < 0 else (place[:end], place[end:])
            return self._places.get(name, name) + rest
        return os.path.normpath(os.path.join(root or self.root, place))

    def changes(self, facts: Facts) -> Iterator[tuple[str, str | None, str | None]]:
        """(what was asked, the answer that was, the answer now) where these differ."""
        for query, old_answer in facts.items():
            new_answer = self.answer(query)
            if new_answer != old_answer:
                yield query, old_answer, new_answer

    @cached_method
    def answer(self, query: str) -> str | None:
        question, _, place = query.partition("\0")
        if question == "importable":
            return str(place in self.importable)
        if question.startswith("entries/"):
            name = question.removeprefix("entries/")
            # An import of what git lacks is refused in another way than one of what is nowhere.
            lacking = f":untracked {name}" if name in self.untracked_names else None
            return self._entries(place).get(name, lacking)
        if question == "installed":
            return self.installed.digest(self.path(place))
        if question == "env":
            value = value_of(place, self.variables)
            if value is None:
                return None
            # It may be a secret that nobody recognised, or contain where the project is.
            return digest(self.installed.without_places(value, ("//root", self.root)))
        if question == "machine":
            if place == "node":
                return platform.node()
            usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else ""
            return f"{os.cpu_count()} {usable}"
        return answer("content" if question == CODE else question, self.path(place))

    @cached_method
    def _entries(self, place: str) -> dict[str, str]:
        """The entries of a directory that can be imported, by the names that they would be imported
        by."""
        try:
            with os.scandir(self.path(place)) as entries:
                importable = [
                    escaped(entry.name) + "/" * entry.is_dir()
                    for entry in entries
                    if entry.name.endswith(_IMPORTABLE)
                    or ("." not in entry.name and entry.is_dir())
                ]
        except OSError:
            return {}
        entries_by_name: dict[str, str] = {}
        for entry in sorted(importable):
            name = entry.rstrip("/").partition(".")[0]
            entries_by_name[name] = f"{entries_by_name.get(name, '')}:{entry}"
        return entries_by_name
