"""Notes what is read, where it happens: imports, files, directories, questions about paths."""

from __future__ import annotations

import builtins
import contextlib
import importlib
import importlib.machinery
import importlib.util
import os
import pathlib
import stat
import sys

from . import project_paths
from .dependency_record import RECORD, place, state_of, to_note
from .project_modules import may_be_ours, project_file, upwards
from .project_paths import KINDS, is_project
from .state_snapshot import Held


def note_event(event, args):
    """Files that are opened and directories that are listed (an audit hook)."""
    if not RECORD.on or not args:
        return
    caller = sys._getframe(2).f_code.co_filename
    if caller.startswith(project_paths.OWN):
        return
    importing = caller.startswith("<frozen importlib")
    if importing and (event != "open" or str(args[0]).endswith((".py", ".pyc"))):
        return
    path = to_note("." if args[0] is None else args[0])
    if path is not None:
        reads = RECORD.reads()
        (reads.opened if event == "open" else reads.listed).setdefault(path, state_of(path))


def note_probe(asked, path, answer, kwargs=()):
    """A question about a path other than what it contains."""
    if RECORD.on and "dir_fd" not in kwargs:
        path = to_note(path)
        if path is not None:
            reads = RECORD.reads()
            # For its size, perhaps, or for code that reads it unseen.
            if answer == "file" and asked == "stat":
                reads.opened.setdefault(path, state_of(path))
            else:
                reads.probes.setdefault((asked, path), answer)


def note_callers(frame):
    """The files of the project whose code is at work: a factory may be reached through a registry
    that nothing imported it for."""
    job = RECORD.job
    while frame is not None:
        name = frame.f_code.co_filename
        if KINDS.get(name) == "call":
            return
        if name not in job.callers:
            job.callers.add(name)
            if is_project(name):
                job.edges.add(name)
        frame = frame.f_back


def note_classes(classes):
    """The files of the project that define the classes of a model's modules."""
    for kind in {base for one in classes for base in one.__mro__}:
        path = project_file(kind.__module__)
        if path:
            RECORD.job.edges.add(path)


def job_reads(job):
    """What a job depends on, as JSON; None where something of it was changed while it was read."""
    report = RECORD.job.report()
    if report is not None:
        paths = map(project_file, upwards(job["module"]))
        report["edges"] += [place(path) for path in paths if path]
    return report


def note_import(name, given, level=0, names=()):
    """The files of the project that an import statement means, whoever imported them first: for
    the file that is being run, and for the one that the statement stands in."""
    if level:
        package = given.get("__package__") if given else None
        if not package:
            return
        with contextlib.suppress(ImportError, ValueError):
            name = importlib.util.resolve_name("." * level + (name or ""), package)
    if not may_be_ours(name.partition(".")[0]):
        return
    dotted = list(upwards(name))
    for item in names or ():
        if item == "*":
            found = getattr(sys.modules.get(name), "__all__", None)
            dotted += ["{}.{}".format(name, inner) for inner in found or ()]
        else:
            dotted.append("{}.{}".format(name, item))
    holder = RECORD.files.get(given.get("__file__")) if given else None
    all_edges = [RECORD.edges(), *([holder.edges] if holder else [])]
    for inner in dotted:
        path = project_file(inner)
        if path is None:
            continue
        if path in RECORD.files:
            for edges in all_edges:
                edges.add(path)
        else:  # an archive, or an extension
            loader = getattr(sys.modules[inner], "__loader__", None)
            archive = getattr(loader, "archive", None) or path
            RECORD.reads().opened.setdefault(archive, state_of(archive))


def installation():
    """Path → state, of what changes when packages come or go, or another Python takes the place of
    this one."""
    found = {sys.executable, os.path.realpath(sys.executable)}
    found.add(os.path.join(sys.prefix, "pyvenv.cfg"))
    for path in filter(None, sys.path):
        found.add(path)
        with contextlib.suppress(OSError):
            names = os.listdir(path) if "-packages" in path else ()
            found.update(os.path.join(path, name) for name in names if name.endswith(".pth"))
    return {path: state_of(path) for path in found}


def install_record(torch):
    """Note from now on what is read. Nothing that is noted is changed by it."""
    project_paths.set_libraries(torch)
    watch_imports()
    watch_questions()
    RECORD.held = Held(torch, lenient=True)
    RECORD.refresh()
    RECORD.on = True


def watch_imports():
    imports, import_module = builtins.__import__, importlib.import_module
    find_spec = importlib.machinery.FileFinder.find_spec

    def noted_import(name, globals=None, locals=None, fromlist=(), level=0):
        module = imports(name, globals, locals, fromlist, level)
        note_import(name, globals, level, fromlist)
        return module

    def noted_import_module(name, package=None):
        module = import_module(name, package)
        with contextlib.suppress(AttributeError):
            note_import(module.__name__, sys._getframe(1).f_globals)
        return module

    def noted_find_spec(self, fullname, target=None):
        spec = find_spec(self, fullname, target)
        if is_project(os.path.join(self.path, "")) or not self.path.startswith(
            (project_paths.LIBRARY, *project_paths.OUTSIDE)
        ):
            tail = fullname.rpartition(".")[2]
            RECORD.lookups[self.path].add(tail)
            if spec is None or spec.loader is None:  # a directory, perhaps, that may become more
                RECORD.lookups[os.path.join(self.path, tail)].add("__init__")
        return spec

    builtins.__import__, importlib.import_module = noted_import, noted_import_module
    importlib.machinery.FileFinder.find_spec = noted_find_spec


def watch_questions():
    stat_of, lstat_of, access = os.stat, os.lstat, os.access
    readlink = getattr(os, "readlink", None)

    def noted(original):
        def ask(path, *args, **kwargs):
            try:
                found = original(path, *args, **kwargs)
            except OSError:
                note_probe(original.__name__, path, "nothing", kwargs)
                raise
            note_probe(original.__name__, path, kind_of(found.st_mode), kwargs)
            return found

        return ask

    def noted_readlink(path, *args, **kwargs):
        found = readlink(path, *args, **kwargs)
        note_probe("readlink", path, os.fsdecode(found), kwargs)
        return found

    def noted_access(path, mode, *args, **kwargs):
        found = access(path, mode, *args, **kwargs)
        note_probe("access{}".format(mode), path, str(found), kwargs)
        return found

    for original, replacement in (
        (stat_of, noted(stat_of)),
        (lstat_of, noted(lstat_of)),
        (readlink, noted_readlink),
        (access, noted_access),
    ):
        if original is not None:
            setattr(os, original.__name__, replacement)
            for known in (os.supports_fd, os.supports_dir_fd, os.supports_follow_symlinks):
                if original in known:
                    known.add(replacement)
    accessor = getattr(pathlib, "_NormalAccessor", None)  # Python 3.10 and before bound them early
    for name in ("stat", "lstat", "readlink"):
        if hasattr(accessor, name):
            setattr(accessor, name, staticmethod(getattr(os, name)))


def kind_of(mode):
    kinds = ((stat.S_ISREG, "file"), (stat.S_ISDIR, "directory"), (stat.S_ISLNK, "link"))
    return next((kind for is_kind, kind in kinds if is_kind(mode)), "other")
