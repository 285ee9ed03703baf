"""What a count depends on, so that the front end can tell whether it would still be the same."""

from __future__ import annotations

import collections
import hashlib
import io
import os
import sys
import time

from . import project_paths
from .project_modules import file_of
from .project_paths import is_project, is_told
from .state_snapshot import process_state

LARGE = 1 << 26  # bytes of a file that is not read in order to see whether it is the same
PASSING = ("/proc/", "/sys/", "/dev/")
STAT = os.stat  # of which no notes are taken


class Reads:
    """What was read besides imports: the content of files, the names in directories, and what
    stands at paths. `edges`: the project's files that were imported, or whose code was at work."""

    def __init__(self):
        self.opened = {}  # path -> state of the file when it was opened
        self.listed = {}  # directory -> its state
        self.probes = {}  # question and path -> answer
        self.edges = set()
        self.callers = set()  # files whose code was seen at work

    def size(self):
        return len(self.opened), len(self.listed), len(self.probes)

    def report(self):
        """As JSON, with paths as the front end knows them. None where a file was changed since."""
        files, lists = {}, {}
        for path, before in list(self.opened.items()):
            files[place(path)] = digest_of(path)
            if state_of(path) != before:
                return None
        for path, before in list(self.listed.items()):
            lists[place(path)] = digest_of_names(path)
            if state_of(path) != before:
                return None
        return {
            "files": files,
            "lists": lists,
            "probes": {asked + " " + place(p): was for (asked, p), was in self.probes.items()},
            "edges": sorted(map(place, self.edges)),
        }


class File:
    """A file of the project that was run: a digest of it, the files that it imports, and those
    whose state it changed ("": that of the process)."""

    def __init__(self):
        self.source, self.edges, self.changes = None, set(), set()

    def size(self):
        return len(self.edges), len(self.changes)


class Record:
    """Everything that this process has noted so far, and what of it was told already."""

    def __init__(self):
        self.on = False
        self.files = {}  # path of a file of the project -> File
        self.shared = Reads()  # what was read while modules were imported, by whichever
        self.job = None  # Reads of the model that is being built
        self.lookups = collections.defaultdict(set)  # directory -> names that were looked for
        self.missing = {}  # name that could not be imported -> whether the project has it
        self.outside = {}  # path of a file outside of the project -> its state
        self.known_modules = set()
        self.begin_again()
        self.held = None  # Held of all files that were run
        self.process = None
        self.patience = 2.0  # seconds for finding out which file changes what

    def begin_again(self):
        """Nothing was told yet to those that are told from now on."""
        self.told = {"files": {}, "lookups": {}, "missing": set(), "shared": None}
        self.fresh = dict(self.outside)

    def reads(self):
        return self.shared if self.job is None else self.job

    def edges(self):
        return self.files[RUNNING[-1]].edges if RUNNING else self.reads().edges

    def news(self):
        """What was noted and not told yet, as JSON; None: something of it was changed while it
        was read."""
        self.note_modules()
        told = self.told
        files = {}
        for path, file in list(self.files.items()):
            if told["files"].get(path) != file.size():
                told["files"][path] = file.size()
                changes = sorted(place(p) if p else p for p in file.changes)
                edges = sorted(map(place, file.edges))
                files[place(path)] = {"source": file.source, "edges": edges, "changes": changes}
        lookups = {}
        for path, names in self.lookups.items():
            new = names - told["lookups"].setdefault(path, set())
            if new:
                lookups[place(path)] = sorted(new)
                told["lookups"][path] |= new
        for path in sys.path:
            if path and not os.path.isdir(path) and to_note(path) is not None:
                self.shared.probes["stat", path] = "nothing"
        shared = self.shared.report() if told["shared"] != self.shared.size() else {}
        if shared is None:
            return None
        told["shared"] = self.shared.size()
        missing = {n: was for n, was in self.missing.items() if n not in told["missing"]}
        told["missing"].update(missing)
        outside, self.fresh = self.fresh, {}
        news = {"files": files, "lookups": lookups, "missing": missing, "outside": outside}
        return dict(news, shared=shared)

    def note_outside(self, path):
        if path not in self.outside:
            self.outside[path] = self.fresh[path] = state_of(path)

    def note_modules(self):
        """The files of all modules that came from neither the project nor the standard library."""
        for name in sys.modules.keys() - self.known_modules:
            self.known_modules.add(name)
            path = file_of(name)
            if not isinstance(path, str) or not os.path.isabs(path):
                continue
            if not (path.startswith(project_paths.OWN) or is_told(path) or is_project(path)):
                self.note_outside(path)

    # Which file changes what others hold: a model that these are part of depends on it, although
    # nothing imports it for that.

    def begin(self):
        """Before another module is run: what was changed so far is the running file's doing."""
        if RUNNING:
            self.note_changes(RUNNING[-1])

    def note_changes(self, path):
        if self.held is None or self.job is not None:
            return
        start = time.monotonic()
        file = self.files[path]
        if self.patience > 0:
            file.changes |= self.held.changed_by_others() - {path}
        else:
            file.changes.add("")  # nobody knows
        now = process_state()
        if now != self.process:
            self.process = now
            file.changes.add("")
        self.patience -= time.monotonic() - start

    def refresh(self):
        """After a module of a package was run: what it changed is not the project's doing."""
        self.process = process_state()

    def hold(self, path, module):
        if self.held is not None and self.job is None and self.patience > 0:
            start = time.monotonic()
            self.held.add(path, module)
            self.patience -= time.monotonic() - start
            if self.held.opaque:
                self.files[path].changes.add("")


RECORD = Record()
RUNNING = []


def place(path):
    """A path as the front end knows it: relative to the project's root where it lies in it (or in
    the copy around it), else absolute."""
    for top in (project_paths.ROOT, project_paths.COPY):
        if top and (path == top or path.startswith(top + os.sep)):
            return os.path.relpath(path, project_paths.ROOT).replace(os.sep, "/")
    return path


def state_of(path):
    """What changes whenever a file or a directory does; None where there is none."""
    try:
        state = STAT(path)
    except (OSError, ValueError):
        return None
    return "{} {} {} {}".format(state.st_mtime_ns, state.st_ctime_ns, state.st_size, state.st_ino)


def digest(content):
    """As the front end makes them."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def digest_of(path):
    """The digest of a file's content, None where it cannot be read; of a large one its state."""
    try:
        if STAT(path).st_size > LARGE:
            return state_of(path)
        with io.open(path, "rb") as file:
            return digest(file.read())
    except (OSError, ValueError):
        return None


def digest_of_names(path):
    """Of the names in a directory, and of which of them are directories."""
    try:
        with os.scandir(path) as found:
            names = "\n".join(sorted(e.name + "/" * e.is_dir() for e in found))
    except (OSError, ValueError):
        return None
    return digest(names.encode("utf-8", "surrogateescape"))


def to_note(path):
    """The absolute path, if a change of what is there might change a count; else None."""
    if not isinstance(path, (str, bytes)) and not hasattr(path, "__fspath__"):
        return None
    path = os.fsdecode(path)
    # Behind a link `..` is not what it looks like.
    path = os.path.realpath(path) if ".." in path else os.path.abspath(path)
    if path.startswith(project_paths.TEMPORARY) or "__pycache__" in path:
        return None
    if is_project(path):
        return path
    if path.startswith(project_paths.OUTSIDE):
        if not is_told(path):
            RECORD.note_outside(path)
        return None
    return None if path.startswith(PASSING) else path
