"""What a count depends on, so that the front end can tell whether it would still be the same."""

from __future__ import annotations

import collections
import hashlib
import io
import os
import sys
import time

from ..state import STATE
from .project_modules import file_of
from .project_paths import OWN, is_known_by_version, is_project
from .state_snapshot import process_state

LARGE = 1 << 26  # bytes of a file that is not read in order to see whether it is the same
PASSING = ("/proc/", "/sys/", "/dev/")
STAT = os.stat  # of which no notes are taken


class InputLog:
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
            files[front_end_path(path)] = digest_of(path)
            if state_of(path) != before:
                return None
        for path, before in list(self.listed.items()):
            lists[front_end_path(path)] = digest_of_names(path)
            if state_of(path) != before:
                return None
        return {
            "files": files,
            "lists": lists,
            "probes": {
                asked + " " + front_end_path(p): was for (asked, p), was in self.probes.items()
            },
            "edges": sorted(map(front_end_path, self.edges)),
        }


class FileRecord:
    """A file of the project that was run: a digest of it, the files that it imports, and those
    whose state it changed ("": that of the process)."""

    def __init__(self):
        self.source, self.edges, self.changes = None, set(), set()

    def size(self):
        return len(self.edges), len(self.changes)


class DependencyRecord:
    """Everything that this process has noted so far, and what of it was told already."""

    def __init__(self):
        self.on = False
        self.files = {}  # path of a file of the project -> FileRecord
        self.shared = InputLog()  # what was read while modules were imported, by whichever
        self.model_inputs = None  # InputLog of the model that is being built
        self.lookups = collections.defaultdict(set)  # directory -> names that were looked for
        self.missing = {}  # name that could not be imported -> whether the project has it
        self.outside = {}  # path of a file outside of the project -> its state
        self.known_modules = set()
        self.report_all_again()
        self.snapshot = None  # StateSnapshot of all files that were run
        self.process = None
        self.patience = 2.0  # seconds for finding out which file changes what

    def report_all_again(self):
        """Nothing was told yet to those that are told from now on."""
        self.reported = {"files": {}, "lookups": {}, "missing": set(), "shared": None}
        self.fresh = dict(self.outside)

    def inputs(self):
        return self.shared if self.model_inputs is None else self.model_inputs

    def edges(self):
        return self.files[STATE.running[-1]].edges if STATE.running else self.inputs().edges

    def unreported(self):
        """What was noted and not told yet, as JSON; None: something of it was changed while it
        was read."""
        self.record_modules()
        told = self.reported
        files = {}
        for path, file in list(self.files.items()):
            if told["files"].get(path) != file.size():
                told["files"][path] = file.size()
                changes = sorted(front_end_path(p) if p else p for p in file.changes)
                edges = sorted(map(front_end_path, file.edges))
                files[front_end_path(path)] = {
                    "source": file.source,
                    "edges": edges,
                    "changes": changes,
                }
        lookups = {}
        for path, names in self.lookups.items():
            new = names - told["lookups"].setdefault(path, set())
            if new:
                lookups[front_end_path(path)] = sorted(new)
                told["lookups"][path] |= new
        for path in sys.path:
            if path and not os.path.isdir(path) and recordable_path(path) is not None:
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

    def record_outside(self, path):
        if path not in self.outside:
            self.outside[path] = self.fresh[path] = state_of(path)

    def record_modules(self):
        """The files of all modules that came from neither the project nor the standard library."""
        for name in sys.modules.keys() - self.known_modules:
            self.known_modules.add(name)
            path = file_of(name)
            if not isinstance(path, str) or not os.path.isabs(path):
                continue
            if not (path.startswith(OWN) or is_known_by_version(path) or is_project(path)):
                self.record_outside(path)

    # Which file changes what others hold: a model that these are part of depends on it, although
    # nothing imports it for that.

    def begin(self):
        """Before another module is run: what was changed so far is the running file's doing."""
        if STATE.running:
            self.record_changes(STATE.running[-1])

    def record_changes(self, path):
        if self.snapshot is None or self.model_inputs is not None:
            return
        start = time.monotonic()
        file = self.files[path]
        if self.patience > 0:
            file.changes |= self.snapshot.changed_by_others() - {path}
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

    def add_module(self, path, module):
        if self.snapshot is not None and self.model_inputs is None and self.patience > 0:
            start = time.monotonic()
            self.snapshot.add(path, module)
            self.patience -= time.monotonic() - start
            if self.snapshot.opaque:
                self.files[path].changes.add("")


def front_end_path(path):
    """A path as the front end knows it: relative to the project's root where it lies in it (or in
    the copy around it), else absolute."""
    for top in (STATE.root, STATE.copy):
        if top and (path == top or path.startswith(top + os.sep)):
            return os.path.relpath(path, STATE.root).replace(os.sep, "/")
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


def recordable_path(path):
    """The absolute path, if a change of what is there might change a count; else None."""
    if not isinstance(path, (str, bytes)) and not hasattr(path, "__fspath__"):
        return None
    path = os.fsdecode(path)
    # Behind a link `..` is not what it looks like.
    path = os.path.realpath(path) if ".." in path else os.path.abspath(path)
    if path.startswith(STATE.temporary) or "__pycache__" in path:
        return None
    if is_project(path):
        return path
    if path.startswith(STATE.packages):
        if not is_known_by_version(path):
            STATE.record.record_outside(path)
        return None
    return None if path.startswith(PASSING) else path
