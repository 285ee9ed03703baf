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

from ..path_facts import digest
from ..state import STATE
from ..tracing.dependency_record import FileRecord
from ..tracing.failures import BarredImport, NotTracked
from ..tracing.project_paths import from_copy, is_project, relative
from .partial_exec import PartialFile, may_be_elsewhere
from .script_analysis import would_work


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
        for file in STATE.untracked:
            steps = file[: -len(".py")].replace("/__init__", "").split("/")
            if steps[-len(parts) :] == parts:
                raise NotTracked(file)
        for file in STATE.untracked:
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
    if path in STATE.barred:
        cause, words = STATE.barred[path]
        reason = "the process that imported {} {}".format(relative(path), words)
        raise BarredImport(cause, reason)
    with io.open(path, "rb") as file:
        source = file.read()
    STATE.record.imports().add(path)
    file = STATE.record.files.setdefault(path, FileRecord())
    file.source = digest(source)
    tree = ast.parse(source, path)
    STATE.running.append(path)
    announce()
    try:
        run_project(module, tree, path)
    finally:
        STATE.record.record_changes(path)
        STATE.record.add_module(path, module)
        STATE.running.pop()
        announce()


def announce():
    """Say which file is being run: the innermost is at fault if the process dies."""
    if STATE.on_running:
        STATE.on_running(STATE.running[-1] if STATE.running else None)


def run_project(module, tree, path):
    clean = dict(module.__dict__)
    if path not in STATE.suspects and not would_work(tree):
        try:
            exec(compile(tree, path, "exec", dont_inherit=True), module.__dict__)
            return
        except (Exception, SystemExit) as error:
            if may_be_elsewhere(error):
                raise
            failure = error
        module.__dict__.clear()
        module.__dict__.update(clean)
        part = PartialFile(tree, path, module.__dict__)
        part.failure = failure
    else:
        part = PartialFile(tree, path, module.__dict__)
        part.failure = None
    STATE.partial_files[path] = part
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
            raise NotTracked(os.path.relpath(real, STATE.original).replace(os.sep, "/"))
        return (path, real) if copied == real else (copied, copied)

    def project_get_code(self, fullname):
        path, real = place_of(self, fullname)
        if is_project(real) or is_project(path):
            STATE.record.inputs().note("content", path)
            return compile(read_tree(path), path, "exec", dont_inherit=True)
        STATE.record.record_outside(path)
        return get_code(self, fullname)

    def project_exec_module(self, module):
        path, real = place_of(self, module.__name__)
        if not STATE.foreign:
            STATE.record.begin()
        if is_project(real) or is_project(path):
            exec_project(module, path)
        elif STATE.foreign:
            exec_module(self, module)
        else:
            STATE.foreign = module.__name__
            try:
                exec_module(self, module)
            finally:
                STATE.foreign = None
                STATE.record.record_outside(path)
                STATE.record.refresh()

    loader.get_code, loader.exec_module = project_get_code, project_exec_module
    if STATE.original:
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
