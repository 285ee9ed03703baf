"""Loads the project's source: never from stale bytecode, and in part where the whole would work."""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.machinery
import importlib.util
import io
import os
import sys

from ..tracing import project_paths
from ..tracing.dependency_record import RECORD, RUNNING, File, digest, state_of
from ..tracing.failures import BarredImport, NotTracked
from ..tracing.project_paths import from_copy, is_project, relative
from .partial_exec import SLICED, Slice, may_be_elsewhere
from .script_analysis import would_work

SUSPECTS = set()  # files that hung or killed their process when run whole: read in part
BARRED = {}  # path -> (cause, words): how the process ended that ran it, even in part
ANNOUNCE = []  # [function that says which file is being run]; the innermost is at fault for a death
FOREIGN = []  # the module of a package that is being run, if any: what it changes is its own affair


def read_tree(path):
    with io.open(path, "rb") as file:
        return ast.parse(file.read(), path)


class Untracked:
    """The last of the finders: knows a module that nobody found as a file that was not added."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        if sys._getframe(2).f_code.co_name != "_find_and_load_unlocked":
            return  # `importlib.util.find_spec` asks whether it is there: it is not
        parts = fullname.split(".")
        folder = "/".join(parts) + "/"
        for file in project_paths.UNTRACKED:
            steps = file[: -len(".py")].replace("/__init__", "").split("/")
            if steps[-len(parts) :] == parts:
                raise NotTracked(file)
        for file in project_paths.UNTRACKED:
            if file.startswith((folder, "src/" + folder)):
                raise NotTracked(file)


def keep_in_copy(finder):
    """Let a finder that leads into the working tree lead into the copy that is judged."""
    find = finder.find_spec

    def find_spec(fullname, path=None, target=None):
        spec = find(fullname, path, target)
        if spec is None or not spec.has_location:
            return spec
        origin = os.path.realpath(spec.origin)
        copied = from_copy(origin)
        if copied == origin or copied is None:
            return spec if copied else None
        inside = [os.path.dirname(copied)] if spec.submodule_search_locations else None
        return importlib.util.spec_from_file_location(
            fullname, copied, submodule_search_locations=inside
        )

    finder.find_spec = find_spec


def exec_project(module, path):
    """`SourceFileLoader.exec_module` for files of the project: compiled from the source as it is
    now (pre-commit's stash makes edits of the same size and time, which bytecode would hide), and
    run in part where the whole file would work or has failed."""
    if path in BARRED:
        cause, words = BARRED[path]
        reason = "the process that imported {} {}".format(relative(path), words)
        raise BarredImport(cause, reason)
    with io.open(path, "rb") as file:
        source = file.read()
    RECORD.edges().add(path)
    file = RECORD.files.setdefault(path, File())
    file.source = digest(source)
    tree = ast.parse(source, path)
    RUNNING.append(path)
    announce()
    try:
        run_project(module, tree, path)
    finally:
        RECORD.note_changes(path)
        RECORD.hold(path, module)
        RUNNING.pop()
        announce()


def announce():
    for function in ANNOUNCE:
        function(RUNNING[-1] if RUNNING else None)


def run_project(module, tree, path):
    clean = dict(module.__dict__)
    if path not in SUSPECTS and not would_work(tree):
        try:
            exec(compile(tree, path, "exec", dont_inherit=True), module.__dict__)
            return
        except (Exception, SystemExit) as error:
            if may_be_elsewhere(error):
                raise
            failure = error
        module.__dict__.clear()
        module.__dict__.update(clean)
        part = Slice(tree, path, module.__dict__)
        part.failure = failure
    else:
        part = Slice(tree, path, module.__dict__)
        part.failure = None
    SLICED[path] = part
    part.run()


def install_loader():
    """Patch the one class that every finder (path, editable install, by file) loads source with."""
    loader = importlib.machinery.SourceFileLoader
    get_code, exec_module = loader.get_code, loader.exec_module

    def place_of(self, fullname):
        path = self.get_filename(fullname)
        real = os.path.realpath(path)
        copied = from_copy(real)
        if copied is None:
            raise NotTracked(os.path.relpath(real, project_paths.ORIGINAL).replace(os.sep, "/"))
        return (path, real) if copied == real else (copied, copied)

    def project_get_code(self, fullname):
        path, real = place_of(self, fullname)
        if is_project(real) or is_project(path):
            RECORD.reads().opened.setdefault(path, state_of(path))
            return compile(read_tree(path), path, "exec", dont_inherit=True)
        RECORD.note_outside(path)
        return get_code(self, fullname)

    def project_exec_module(self, module):
        path, real = place_of(self, module.__name__)
        if not FOREIGN:
            RECORD.begin()
        if is_project(real) or is_project(path):
            exec_project(module, path)
        elif FOREIGN:
            exec_module(self, module)
        else:
            FOREIGN.append(module.__name__)
            try:
                exec_module(self, module)
            finally:
                FOREIGN.clear()
                RECORD.note_outside(path)
                RECORD.refresh()

    loader.get_code, loader.exec_module = project_get_code, project_exec_module
    if project_paths.ORIGINAL:
        for finder in sys.meta_path:
            with contextlib.suppress(AttributeError, TypeError):  # it cannot be changed, or is old
                keep_in_copy(finder)
        sys.meta_path.append(Untracked)


def relax_argparse():
    """A script that parses its arguments when imported gets its defaults, not our command line."""
    import argparse

    def no_arguments(original):
        def parse(self, args=None, namespace=None, **kwargs):
            for action in self._actions:
                action.required = False
                if not action.option_strings and action.nargs is None:
                    action.nargs = "?"
            return original(self, [], namespace, **kwargs)

        return parse

    parser = argparse.ArgumentParser
    parser.parse_known_args = no_arguments(parser.parse_known_args)
