"""What a count depends on, so that the front end can tell whether it would still be the same."""

from __future__ import annotations

import importlib.machinery
import itertools
import os
import re
import sys

from ...ground.facts import answer, fact
from ..state import STATE
from .project_paths import OWN, file_of, is_known_by_version, is_project, modules_after

PASSING = re.compile("/(proc|sys|dev(?!/shm))/")
EXTENSIONS = tuple(importlib.machinery.EXTENSION_SUFFIXES)
# Packages whose compiled code opens files with Python's own `open` only, which is recorded.
OPENS_AS_PYTHON = ("numpy",)


class InputLog:
    """What was read apart from imports: `facts`, by question and path. `imports`: the project's
    files that were imported, or whose code was at work."""

    def __init__(self):
        self.facts = {}
        self.imports = set()
        self.is_complete = True  # whether everything that was read is known

    def note(self, question, path):
        """Record that the "content" of a file or the "names" (or "distributions") in a directory
        are being read. Until the report, the state is stored; the answer is looked up then."""
        if (question, path) not in self.facts:
            self.facts[question, path] = answer("state", path)

    def facts_from(self, start=0):
        """What was read after the first `start` facts, with paths as the front end knows them. None
        if something has changed since, or if it is unknown what was read."""
        if not self.is_complete:
            return None
        answers = {}
        for (question, path), value in [*itertools.islice(self.facts.items(), start, None)]:
            state = value
            if question in ("content", "names", "distributions"):
                value = answer(question, path)
                if answer("state", path) != state:
                    return None
            answers[fact(question, front_end_path(path))] = value
        return answers

    def report(self):
        """All of it, as JSON; None as above."""
        facts = self.facts_from()
        return None if facts is None else {"facts": facts, "imports": front_end_paths(self.imports)}


class FileRecord:
    """A file of the project that was run: a digest of it (None: it read something unknown), and the
    files that it imports."""

    def __init__(self):
        self.source, self.imports = None, set()


class DependencyRecord:
    """Everything that this process has recorded so far, and how much of it was already reported."""

    def __init__(self):
        self.on = False
        self.files = {}  # path of a file of the project -> FileRecord
        self.shared = InputLog()  # what was read while modules were imported, by whichever
        self.model_inputs = None  # InputLog of the model that is being built
        self.last_module = ""  # of those whose files were recorded
        # Files that are mapped or open, and need not be recorded any more.
        self.settled_files = set()
        self.looks_at_held = False  # whether there is compiled code that may have mapped others
        self.report_all_again()

    def report_all_again(self):
        """Report everything again: the recipient has changed."""
        self.told_files, self.told_facts = {}, 0

    def inputs(self):
        return self.shared if self.model_inputs is None else self.model_inputs

    def imports(self):
        return self.files[STATE.running[-1]].imports if STATE.running else self.inputs().imports

    def unreported(self):
        """What was recorded and not reported yet, as JSON; None: some of it changed while it was
        read."""
        self.record_modules()
        files = {}
        for path, file in list(self.files.items()):
            if self.told_files.get(path) != len(file.imports):
                self.told_files[path] = len(file.imports)
                files[front_end_path(path)] = {
                    "source": file.source,
                    "imports": front_end_paths(file.imports),
                }
        for path in sys.path:
            if path and not os.path.isdir(path) and recordable_path(path) is not None:
                self.shared.facts["stat", path] = None
        facts = self.shared.facts_from(self.told_facts)
        if facts is None:
            return None
        self.told_facts = len(self.shared.facts)
        return {"files": files, "facts": facts}

    def record_lookup(self, name, directory):
        """Record that a module was looked up in a directory. The front end finds out what has that
        name there."""
        self.shared.facts.setdefault(("entries/" + name, directory), None)

    def record_outside(self, path):
        """Record a file outside the project, which is identified by its state."""
        if ("state", path) not in self.shared.facts:
            self.shared.facts["state", path] = answer("state", path)

    def record_modules(self):
        """Record the files of all modules that came since from neither the project nor what a
        version tells of."""
        for name in modules_after(self.last_module):
            path = file_of(name)
            if not isinstance(path, str) or not os.path.isabs(path):
                continue
            if path.startswith(OWN) or is_known_by_version(path):
                continue
            if path.endswith(EXTENSIONS) and name.partition(".")[0] not in OPENS_AS_PYTHON:
                self.looks_at_held = True
            if not is_project(path):
                self.record_outside(path)
        self.last_module = next(reversed(sys.modules))


def front_end_path(path):
    """A path as the front end knows it: relative to the project's root where it lies in it (or in
    the repository around it, or in that which this is a copy of); below one of the places that have
    a name (`//home`), which are elsewhere on another machine; else absolute."""
    for name, top in STATE.places:
        if path == top or path.startswith(top + os.sep):
            below = path[len(top) :]
            if not name:
                path = STATE.copy + below if top == STATE.original else path
                return os.path.relpath(path, STATE.root).replace(os.sep, "/")
            return name + below.replace(os.sep, "/")
    return path


def front_end_paths(paths):
    return sorted(map(front_end_path, paths))


def recordable_path(path):
    """The absolute path, if a change of what is there might change a count; else None."""
    if not isinstance(path, (str, bytes)) and not hasattr(path, "__fspath__"):
        return None
    path = os.fsdecode(path)
    # Behind a link `..` is not what it looks like. (Of a relative path the parts would be asked for
    # as they stand, and lead here again.)
    is_plain = ".." not in path
    path = os.path.abspath(path) if is_plain else os.path.realpath(os.path.join(os.getcwd(), path))
    if path.startswith(STATE.temporary) or "__pycache__" in path:
        return None
    if is_project(path):
        return path
    if path.startswith(OWN):  # which the front end knows
        return None
    if path.startswith(STATE.packages):
        if not is_known_by_version(path):
            STATE.record.record_outside(path)
        return None
    return None if PASSING.match(path) else path
