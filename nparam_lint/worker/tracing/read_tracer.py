"""Records what is read: imports, files, directories, questions about paths."""

from __future__ import annotations

import builtins
import contextlib
import functools
import importlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import platform
import re
import socket
import sys

from ...ground.facts import answer, kind_of
from ..state import STATE
from .dependency_record import recordable_path
from .project_paths import (
    OWN,
    find_libraries,
    is_project,
    may_be_ours,
    place_of_frame,
    project_file,
    upwards,
)

# What looks for the metadata of packages, and for nothing else in a directory.
_METADATA = re.compile(r"[\\/](importlib[_/\\]metadata|pkg_resources)[\\/]")
# Files of the standard library that read source.
_INSPECTION = frozenset(("linecache.py", "inspect.py", "tokenize.py", "traceback.py"))
# Ours that stand in the place of functions of Python, for which others ask.
_IN_BETWEEN = frozenset(
    os.path.join(os.path.dirname(os.path.dirname(__file__)), "building", name)
    for name in ("absent_files.py", "script_effects.py", "script_run.py")
)
# os.path.exists and its like
_OF_PATHS = ("genericpath.py", "genericpath>", "posixpath.py", "posixpath>")
_DELETED = " (deleted)"  # the system's words, after the path
NO_FILES = ("/memfd:", "/SYSV", "/dev/zero")  # memory that has a name


def record_event(event, args):
    """Files that are opened and directories that are listed (an audit hook)."""
    if not STATE.record.on or not args:
        return
    frame = sys._getframe(2)
    while frame and frame.f_code.co_filename in _IN_BETWEEN:
        frame = frame.f_back
    caller = frame.f_code.co_filename if frame else OWN
    if caller.startswith(OWN):
        return
    question = "content"
    if event != "open":
        if caller.startswith("<frozen importlib"):
            return
        question = "distributions" if _METADATA.search(caller) else "names"
    place = "." if args[0] is None else args[0]
    if isinstance(place, int) and event != "open":  # a directory that is open; a file was noted
        place = path_of_open(place)
    path = recordable_path(place)
    if path is None:
        return
    if is_inspected(path, frame):  # as if the file that is being run imported it
        STATE.record.imports().add(path)
    else:
        STATE.record.inputs().note(question, path)


def is_inspected(path, frame):
    """Whether, in `frame`, Python looks at the source of a module that was run: to show a line, or
    to find a class among all modules."""
    if path not in STATE.record.files:
        return False
    while frame is not None and frame.f_code.co_filename.endswith(_OF_PATHS):
        frame = frame.f_back
    return frame is not None and os.path.basename(frame.f_code.co_filename) in _INSPECTION


def record_read(path):
    """A file that is about to be opened by C, which raises no event."""
    path = recordable_path(path)
    if path is not None and STATE.record.on:
        STATE.record.inputs().note("content", path)


def record_map(descriptor):
    """A file that is mapped, by whomever it was opened; of shared memory, the file that it is."""
    path = None if descriptor == -1 else path_of_open(descriptor)
    if path is not None and path.startswith("/"):
        record_read(path)


def record_library(name):
    """A library that ctypes loads; of one without a path, what is mapped will tell which it is."""
    if name is not None:
        STATE.record.looks_at_held = True
        if os.sep in os.fsdecode(name):
            record_read(name)


def record_c_function(frame):
    """A function of C that the project's code asks for by its name: it may read anything."""
    while frame is not None and frame.f_code.co_filename.startswith(STATE.library + "ctypes"):
        frame = frame.f_back
    name = OWN if frame is None else frame.f_code.co_filename
    if is_project(name) or not name.startswith((OWN, *STATE.packages)):
        record_unseen(frame)


def record_unseen(frame):
    """Something unknown was read, so the result is not kept. While modules are imported, this
    applies to the files that are being run."""
    if STATE.record.model_inputs is not None:
        STATE.record.model_inputs.is_complete = False
        return
    while frame is not None:
        file = STATE.record.files.get(frame.f_code.co_filename)
        if file is not None:
            file.source = None
        frame = frame.f_back


def record_held():
    """What is mapped or open now, and was not before: opened by whatever compiled code."""
    record = STATE.record
    record.record_modules()
    for path in held_files() - record.settled_files if record.looks_at_held else ():
        recordable = recordable_path(path)
        if recordable is None:
            record.settled_files.add(path)
            continue
        if recordable.endswith(_DELETED):
            record_unseen(sys._getframe(1))
        elif is_project(recordable):
            record.inputs().note("content", recordable)
        else:  # a library, as a rule
            record.record_outside(recordable)
            record.settled_files.add(path)


def held_files():
    """The files that this process has mapped or open, where the system tells."""
    paths = set()
    with contextlib.suppress(OSError):
        with io.open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            paths.update(re.findall(" (/.*)", maps.read()))
        for number in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):  # that of the list itself
                paths.add(os.readlink("/proc/self/fd/" + number))
    return {path for path in paths if path.startswith("/") and not path.startswith(NO_FILES)}


def record_query(question, path, result, kwargs):
    """A question about a path other than what it contains, and the answer."""
    if STATE.record.on:
        place, directory = path, kwargs.get("dir_fd")
        if directory is not None and not isinstance(path, int):  # the path starts from there
            directory = path_of_open(directory)
            place = directory and os.path.join(directory, os.fsdecode(path))
        if result == "directory" and isinstance(place, str):
            # It is there as long as the project is, or the packages with their files.
            if place in STATE.above:
                return
            if place.startswith(STATE.packages) and not is_project(place):
                return
        path, caller = recordable_path(place), sys._getframe(2)
        if path is None or is_inspected(path, caller):
            return
        inputs = STATE.record.inputs()
        # `os.path` looks for links in this way, and tells no size.
        is_kind = question == "lstat" and caller.f_code.co_filename.endswith(_OF_PATHS)
        # For its size, perhaps, or for code that reads it unseen.
        if result == "file" and question in ("stat", "lstat") and not is_kind:
            inputs.note("content", path)
            return
        if question == "lstat" and STATE.original and path.startswith(STATE.original + os.sep):
            question = "stat"  # what git ignores is a link in the copy that is asked later
        inputs.facts.setdefault((question, path), result)


def path_of_open(descriptor):
    """The path of what is open; None, and nothing is kept, where the system does not tell."""
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        record_unseen(sys._getframe(1))
        return None


def record_callers(frame):
    """The files of the project whose code is running: a factory may be reached through a registry,
    without an import."""
    while frame is not None and (place := place_of_frame(frame)) != "call":
        if place == "project":
            STATE.record.model_inputs.imports.add(frame.f_code.co_filename)
        frame = frame.f_back


def record_classes(classes):
    """The files of the project that define the classes of a model's modules."""
    bases = {base for kind in classes for base in kind.__mro__}
    files = (project_file(base.__module__) for base in bases)
    STATE.record.model_inputs.imports.update(filter(None, files))


def job_dependencies(job):
    """What a job depends on, as JSON; None where something of it was changed while it was read."""
    inputs = STATE.record.model_inputs
    inputs.imports.update(filter(None, map(project_file, upwards(job.module))))
    return inputs.report()


def record_import(name, namespace, level=0, names=()):
    """The files of the project that an import statement means, whoever imported them first: for
    the file that is being run, and for the one that the statement stands in."""
    if level:
        package = namespace.get("__package__") if namespace else None
        if not package or not may_be_ours(package.partition(".")[0]):
            return
        with contextlib.suppress(ImportError, ValueError):
            name = importlib.util.resolve_name("." * level + (name or ""), package)
    elif not may_be_ours(name.partition(".")[0]):
        return
    dotted = list(upwards(name))
    for item in names or ():
        if item == "*":
            exports = getattr(sys.modules.get(name), "__all__", None)
            dotted += ["{}.{}".format(name, inner) for inner in exports or ()]
        else:
            dotted.append("{}.{}".format(name, item))
    holder = STATE.record.files.get(namespace.get("__file__")) if namespace else None
    importers = [STATE.record.imports(), *([holder.imports] if holder else [])]
    for inner in dotted:
        path = project_file(inner)
        if path in STATE.record.files:
            for imports in importers:
                imports.add(path)
        elif path is not None:  # an archive, or an extension
            loader = getattr(sys.modules[inner], "__loader__", None)
            archive = getattr(loader, "archive", None) or path
            STATE.record.inputs().note("content", archive)


def installation():
    """The states of what changes when packages come or go, or another Python takes the place of
    this one, by path."""
    paths = {sys.executable, os.path.realpath(sys.executable)}
    paths.add(os.path.join(sys.prefix, "pyvenv.cfg"))
    for path in filter(None, sys.path):
        paths.add(path)
        with contextlib.suppress(OSError):
            names = os.listdir(path) if "-packages" in path else ()
            paths.update(os.path.join(path, name) for name in names if name.endswith(".pth"))
    return {path: answer("state", path) for path in paths}


def start_recording(torch):
    """Record from now on what is read. Recording changes none of it."""
    find_libraries(torch)
    watch_machine()
    watch_imports()
    watch_path_queries()
    STATE.record.settled_files = held_files()
    STATE.record.on = True


def watch_imports():
    imports, import_module = builtins.__import__, importlib.import_module
    find_spec = importlib.machinery.FileFinder.find_spec

    def recording_import(name, globals=None, locals=None, fromlist=(), level=0):
        module = imports(name, globals, locals, fromlist, level)
        record_import(name, globals, level, fromlist)
        return module

    def recording_import_module(name, package=None):
        module = import_module(name, package)
        with contextlib.suppress(AttributeError):
            record_import(module.__name__, sys._getframe(1).f_globals)
        return module

    def recording_find_spec(self, fullname, target=None):
        spec = find_spec(self, fullname, target)
        if is_project(os.path.join(self.path, "")) or not self.path.startswith(
            (STATE.library, *STATE.packages)
        ):
            tail = fullname.rpartition(".")[2]
            STATE.record.record_lookup(tail, self.path)
            if spec is None or spec.loader is None:  # a directory, perhaps, that may become more
                STATE.record.record_lookup("__init__", os.path.join(self.path, tail))
        return spec

    builtins.__import__, importlib.import_module = recording_import, recording_import_module
    importlib.machinery.FileFinder.find_spec = recording_find_spec


def watch_machine():
    """Note when the project asks how many cores there are, or what the machine is called."""

    def recording(original, question):
        @functools.wraps(original)
        def ask(*args, **kwargs):
            frame = sys._getframe(1)
            while frame and frame.f_code.co_filename.startswith((STATE.library, OWN, "<frozen")):
                frame = frame.f_back
            # Libraries ask how many threads to use, and on which system they run: that is no size.
            if STATE.record.on and frame and is_project(frame.f_code.co_filename):
                STATE.record.inputs().facts.setdefault(("machine", question), None)
            return original(*args, **kwargs)

        return ask

    for name in ("cpu_count", "process_cpu_count", "sched_getaffinity"):
        if hasattr(os, name):
            setattr(os, name, recording(getattr(os, name), "cores"))
    for module, name in ((platform, "node"), (platform, "uname"), (socket, "gethostname")):
        setattr(module, name, recording(getattr(module, name), "node"))
    if hasattr(os, "uname"):
        os.uname = recording(os.uname, "node")


def watch_path_queries():
    def recording(original, to_answer):
        def ask(path, *args, **kwargs):
            question = original.__name__
            if question == "access":
                question += str(args[0] if args else kwargs["mode"])
            elif not kwargs.get("follow_symlinks", True):
                question = "lstat"
            try:
                result = original(path, *args, **kwargs)
            except OSError:
                record_query(question, path, None, kwargs)
                raise
            record_query(question, path, to_answer(result), kwargs)
            return result

        return ask

    queries = {"stat": kind_of, "lstat": kind_of, "readlink": os.fsdecode, "access": str}
    for name, to_answer in queries.items():
        original = getattr(os, name)
        replacement = recording(original, to_answer)
        setattr(os, name, replacement)
        for supported in (os.supports_fd, os.supports_dir_fd, os.supports_follow_symlinks):
            if original in supported:
                supported.add(replacement)
    accessor = getattr(pathlib, "_NormalAccessor", None)  # Python 3.10 and before bound them early
    for name in ("stat", "lstat", "readlink"):
        if hasattr(accessor, name):
            setattr(accessor, name, staticmethod(getattr(os, name)))
