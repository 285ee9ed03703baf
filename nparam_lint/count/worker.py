"""Builds models and counts their parameters, in the project's own interpreter.

The contract. This one file needs the standard library and torch, nothing else, and keeps to
Python 3.9's syntax; the front end runs it by path and never imports it.

In:    one line of JSON on standard input (see `Request` below); standard input then stays open, and
       its end means that the front end is gone: everything is killed.
Out:   frames, one a line, `NONCE JSON`, on a private copy of standard output that is taken away
       from file descriptor 1 before any code of the project runs. What it prints goes elsewhere.
       {"event": "ready", "protocol": 2, "torch": …, "python": …}
       {"event": "alive"}                                        every few seconds
       {"event": "reads"} TAB READS                            what was read, as far as it is known
       {"event": "result", "id": …, "ok": true | false} TAB RESULT TAB READS    one for each job
                                  what follows a tab is passed on unread from process to process
       {"event": "end", "jobs": n}                               nothing after it
       A job without a result was not measured, and neither was a run without its end.

Three kinds of process, all supervised by the same loop (`supervise`):
    server   imports torch, once, and no code of the project;
    group    forked for the jobs that share an import path; imports the project's modules;
    builder  forked from a group, one for each core; builds and counts models one after the other,
             until one of them changes anything that the next would start from.
Where forking is impossible, a group is spawned afresh and builds its models itself.
A process that dies, hangs or grows too large costs the job at hand; the others are still counted.

The project's code is executed. What keeps accidents away from the user (a guard, not a sandbox): no
standard input; writes, programs and connections refused by an audit hook; limits on time and
memory.
"""

from __future__ import annotations

import ast
import builtins
import collections
import collections.abc
import contextlib
import difflib
import faulthandler
import fractions
import gc
import hashlib
import importlib
import importlib.machinery
import importlib.util
import inspect
import io
import json
import logging
import os
import pathlib
import random
import re
import shlex
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import types

PROTOCOL = 2
BODY = b"\t"  # between the two parts of a frame; JSON never has it as it is
# On macOS system libraries that torch loads do not survive a fork.
_FORKS = "1" if sys.platform.startswith("linux") else "0"
CAN_FORK = hasattr(os, "fork") and os.environ.get("NPARAM_LINT_FORK", _FORKS) != "0"
TAIL = 4096  # bytes of a child's output that are kept for the message about its death
HEARTBEAT = 5.0  # seconds between two signs of life of the server
START_LIMIT = 300.0  # seconds for importing torch
SPLITS = 4  # times that a group is split because importing a file changed torch for all others
GRACE = 10.0  # seconds that a supervising process gets beyond what it supervises
MESSAGE = 500  # characters of an exception's text that are passed on

ROOT = ""  # the project's directory, absolute, real path
NAMES = frozenset()  # names of all files and directories of the project that can be imported
TEMPORARY = ""  # the one place where writing is allowed
VIRTUAL = ()  # environments below ROOT or ORIGINAL: not the project's code
# Where ROOT lies in a copy of what git has: the top of the copy, that of the working tree that it
# is a copy of, what in the copy is a link into it, and the files that git has nothing of.
COPY, ORIGINAL, LINKED, UNTRACKED = "", "", (), ()


# ---------------------------------------------------------------------------------------------
# Where in the project


def is_project(path):
    """Whether the file at `path` is the project's own code."""
    known = _IS_PROJECT.get(path)
    if known is None:
        known = path.startswith((ROOT + os.sep, *LINKED)) and "site-packages" not in path
        known = _IS_PROJECT[path] = known and not path.startswith(VIRTUAL)
    return known


_IS_PROJECT = {}  # asked for every frame above every module that is made


def relative(path):
    """`path` as the user knows it: below the project, or below the environment's packages."""
    path = path.replace("\\", "/")
    inside = ROOT[len(COPY) :] if COPY else ""
    for root in (ROOT, ORIGINAL + inside) if ORIGINAL else (ROOT,):
        root = root.replace("\\", "/") + "/"
        if path.startswith(root):
            return path[len(root) :]
    for marker in ("/site-packages/", "/dist-packages/"):
        if marker in path:
            return path.rsplit(marker, 1)[1]
    return without_copy(path)


def without_copy(text):
    """`text` as it would be in the working tree: nobody knows the copy that was made of it."""
    if not COPY:
        return text
    name, own = os.path.basename(COPY), os.path.basename(ORIGINAL)
    return text.replace(COPY, ORIGINAL).replace(name, own)  # the path may be cut, or spelled anew


def line_of(frame):
    """The nearest line of the project at or above `frame`, else of a package that is not torch."""
    fallback = None
    while frame is not None:
        name = frame.f_code.co_filename
        kind = _KINDS.get(name)
        if kind is None:
            kind = _KINDS[name] = _kind(name)
        if kind == "project":
            return _line(name, frame.f_lineno)
        if kind == "call":
            return None
        if kind == "package" and fallback is None:
            fallback = _line(name, frame.f_lineno)
        frame = frame.f_back
    return fallback


_KINDS = {}  # file -> what it belongs to; asked for every frame above every module that is made
_LINES = {}


def _kind(name):
    if name.startswith("<nparam"):
        return "call"
    if is_project(name):
        return "project"
    return "package" if "site-packages" in name and "/torch/" not in name else "other"


def _line(name, number):
    text = _LINES.get((name, number))
    if text is None:
        text = _LINES[name, number] = "{}:{}".format(relative(name), number)
    return text


def line_of_error(error):
    """The innermost line of the project in the traceback of `error`."""
    found = None
    if isinstance(error, SyntaxError) and error.filename and is_project(error.filename):
        return "{}:{}".format(relative(error.filename), error.lineno or 1)
    trace = error.__traceback__
    while trace is not None:
        if is_project(trace.tb_frame.f_code.co_filename):
            found = "{}:{}".format(relative(trace.tb_frame.f_code.co_filename), trace.tb_lineno)
        trace = trace.tb_next
    return found


def describe(error):
    """One line of text for any exception, however hostile its `__str__`."""
    try:
        text = without_copy(" ".join(str(error).split()))
    except BaseException:
        text = "(its message cannot be printed)"
    if len(text) > MESSAGE:
        text = text[:MESSAGE] + " …"
    name = type(error).__name__
    if isinstance(error, NotTracked):
        return text
    if isinstance(error, SystemExit):
        return "called sys.exit({})".format(text)
    return "{}: {}".format(name, text) if text else name


# ---------------------------------------------------------------------------------------------
# The guard


class Refused(PermissionError):
    """What project code gets for writing, connecting or starting programs while it is counted."""


REFUSALS = []
GUARDED = []  # not empty: the guard is up
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_HARMLESS_PROGRAMS = {
    "uname",
    "ldconfig",
    "lscpu",
    "nvidia-smi",
    "rocminfo",
    "sysctl",
    "lsb_release",
}
_PATHS = {  # audit event -> which of its arguments are paths that it changes
    "os.mkdir": (0,),
    "os.remove": (0,),
    "os.rmdir": (0,),
    "os.rename": (0, 1),
    "os.link": (1,),
    "os.symlink": (1,),
    "os.truncate": (0,),
    "os.chmod": (0,),
    "os.chown": (0,),
    "os.utime": (0,),
    "os.setxattr": (0,),
    "sqlite3.connect": (0,),
}
_PROGRAMS = {
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "os.startfile",
}
_NETWORK = {
    "socket.connect",
    "socket.getaddrinfo",
    "socket.gethostbyname",
    "socket.sendto",
    "webbrowser.open",
}


_DIRECTORIES = {  # audit event -> which arguments are the directories that its paths start from
    "os.mkdir": (2,),
    "os.remove": (1,),
    "os.rmdir": (1,),
    "os.rename": (2, 3),
    "os.link": (3,),
    "os.symlink": (2,),
    "os.chmod": (2,),
    "os.chown": (3,),
    "os.utime": (3,),
}


def _may_write(path, directory=-1):
    if isinstance(path, int):
        return True  # a file that is open already
    path = os.fsdecode(path)
    if isinstance(directory, int) and directory >= 0:  # shutil.rmtree works this way
        try:
            path = os.path.join(os.readlink("/proc/self/fd/{}".format(directory)), path)
        except OSError:
            return False
    if path in (":memory:", ""):
        return True
    path = os.path.realpath(path)
    if path == TEMPORARY or path.startswith((TEMPORARY + os.sep, "/dev/")):
        return True
    # Bytecode of installed packages: importing them anywhere writes it; refusing slows every run.
    return path.rpartition(".")[2].startswith("pyc") and not is_project(path)


def _refuse(what):
    where = line_of(sys._getframe(2))
    text = "nparam-lint refused {} while it was counting{}".format(
        without_copy(what), " (asked for at {})".format(where) if where else ""
    )
    if len(REFUSALS) < 5 and text not in REFUSALS:
        REFUSALS.append(text)
    raise Refused(text)


def guard(event, args):
    """The audit hook. Called for everything that happens: the common events leave at once."""
    if event == "open":
        path, mode, flags = args
        writes = any(c in mode for c in "wxa+") if isinstance(mode, str) else flags & _WRITING
        if not writes:
            note_event(event, args)
        elif not _may_write(path):
            _refuse("to write {!r}".format(os.fsdecode(path)))
    elif event in ("os.listdir", "os.scandir"):
        note_event(event, args)
    elif event in _PATHS:
        directories = _DIRECTORIES.get(event, ())
        for place, index in enumerate(_PATHS[event]):
            at = directories[place] if place < len(directories) else len(args)
            if not _may_write(args[index], args[at] if at < len(args) else -1):
                _refuse("{} of {!r}".format(event, os.fsdecode(args[index])))
    elif event in _PROGRAMS:
        program = args[0] if not isinstance(args[0], (list, tuple)) else args[0][0]
        name = os.path.basename(os.fsdecode(program)).split(" ")[0] if program else ""
        if name not in _HARMLESS_PROGRAMS:
            _refuse("to start the program {!r}".format(name))
    elif event in _NETWORK:
        address = args[1] if event in ("socket.connect", "socket.sendto") else args[0]
        if isinstance(address, (str, bytes)) and event == "socket.connect":
            return  # a Unix socket
        _refuse("a network connection to {!r}".format(address))
    elif event in ("os.kill", "os.killpg") and args[0] in (os.getppid(), 0, -1, 1, -os.getppid()):
        _refuse("to kill process {}".format(args[0]))


# ---------------------------------------------------------------------------------------------
# What a count depends on, so that the front end can tell whether it would still be the same


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
        self.fresh = {}  # those that were not told yet
        self.known_modules = set()
        self.told = {"files": {}, "lookups": {}, "missing": set(), "shared": None}
        self.held = None  # Held of all files that were run
        self.process = None
        self.patience = 2.0  # seconds for finding out which file changes what

    def reads(self):
        return self.shared if self.job is None else self.job

    def edges(self):
        return self.files[RUNNING[-1]].edges if RUNNING else self.reads().edges

    def news(self):
        """What was noted since the last time, as JSON; None: something of it was changed while it
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
            path = getattr(sys.modules.get(name), "__file__", None)
            if not isinstance(path, str) or not os.path.isabs(path):
                continue
            if not is_told(path) and not is_project(path):
                self.note_outside(path)

    # Which file changes what others hold: a model that these are part of depends on it, although
    # nothing imports it for that.

    def begin(self):
        """Before another module is run: what was changed so far is the running file's doing."""
        if self.on and self.job is None and RUNNING:
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
        now = [os.getcwd(), list(sys.path), dict(os.environ)]
        if now != self.process:
            self.process = now
            file.changes.add("")
        self.patience -= time.monotonic() - start

    def refresh(self):
        """After a module of a package was run: what it changed is not the project's doing."""
        self.process = [os.getcwd(), list(sys.path), dict(os.environ)]

    def hold(self, path, module):
        if self.held is not None and self.job is None and self.patience > 0:
            start = time.monotonic()
            self.held.add(path, module)
            self.patience -= time.monotonic() - start
            if self.held.opaque:
                self.files[path].changes.add("")


RECORD = Record()
OUTSIDE = ()  # where packages are installed
LIBRARY, TORCH = "", ""  # where the standard library and torch are: their versions tell enough
LARGE = 1 << 26  # bytes of a file that is not read in order to see whether it is the same
PASSING = ("/proc/", "/sys/", "/dev/")


def place(path):
    """A path as the front end knows it: relative to the project's root where it lies in it (or in
    the copy around it), else absolute."""
    for top in (ROOT, COPY):
        if top and (path == top or path.startswith(top + os.sep)):
            return os.path.relpath(path, ROOT).replace(os.sep, "/")
    return path


def state_of(path):
    """What changes whenever a file or a directory does; None where there is none."""
    try:
        state = _STAT(path)
    except (OSError, ValueError):
        return None
    return "{} {} {} {}".format(state.st_mtime_ns, state.st_ctime_ns, state.st_size, state.st_ino)


def digest_of(path):
    """The digest of a file's content, None where it cannot be read; of a large one its state."""
    try:
        if _STAT(path).st_size > LARGE:
            return state_of(path)
        with io.open(path, "rb") as file:
            return hashlib.blake2b(file.read(), digest_size=16).hexdigest()
    except (OSError, ValueError):
        return None


def digest_of_names(path):
    """Of the names in a directory, and of which of them are directories."""
    try:
        with os.scandir(path) as found:
            names = "\n".join(sorted(e.name + "/" * e.is_dir() for e in found))
    except (OSError, ValueError):
        return None
    return hashlib.blake2b(names.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


_STAT, _LSTAT, _READLINK, _ACCESS = os.stat, os.lstat, getattr(os, "readlink", None), os.access


def is_told(path):
    """Whether a file changes with the version of Python or torch alone. (That of a layer may have
    been edited in place.)"""
    if path.startswith(TORCH):
        return not path.startswith(TORCH + "nn" + os.sep)
    return path.startswith(LIBRARY) and "-packages" not in path[len(LIBRARY) :]


def to_note(path):
    """The absolute path, if a change of what is there might change a count; else None."""
    if not isinstance(path, (str, bytes)) and not hasattr(path, "__fspath__"):
        return None
    path = os.fsdecode(path)
    # Behind a link `..` is not what it looks like.
    path = os.path.realpath(path) if ".." in path else os.path.abspath(path)
    if path.startswith(TEMPORARY) or "__pycache__" in path:
        return None
    if is_project(path):
        return path
    if path.startswith(OUTSIDE):
        if not is_told(path):
            RECORD.note_outside(path)
        return None
    return None if path.startswith(PASSING) else path


def note_event(event, args):
    """Files that are opened and directories that are listed (an audit hook)."""
    if not RECORD.on or not args:
        return
    caller = sys._getframe(2).f_code.co_filename
    if caller == note_event.__code__.co_filename:
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
        if _KINDS.get(name) == "call":
            return
        if name not in job.callers:
            job.callers.add(name)
            if is_project(name):
                job.edges.add(name)
        frame = frame.f_back


def note_classes(classes):
    """The files of the project that define the classes of a model's modules."""
    for kind in {base for one in classes for base in one.__mro__}:
        path = getattr(sys.modules.get(kind.__module__), "__file__", None)
        if path and is_project(path):
            RECORD.job.edges.add(path)


def job_reads(job):
    """What a job depends on, as JSON; None where something of it was changed while it was read."""
    report = RECORD.job.report()
    if report is not None:
        parts = job["module"].split(".")
        dotted = [".".join(parts[: end + 1]) for end in range(len(parts))]
        paths = [getattr(sys.modules.get(name), "__file__", None) for name in dotted]
        report["edges"] += [place(path) for path in paths if path and is_project(path)]
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
    parts = name.split(".")
    dotted = [".".join(parts[: end + 1]) for end in range(len(parts))]
    for item in names or ():
        if item == "*":
            found = getattr(sys.modules.get(name), "__all__", None)
            dotted += ["{}.{}".format(name, inner) for inner in found or ()]
        else:
            dotted.append("{}.{}".format(name, item))
    holder = RECORD.files.get(given.get("__file__")) if given else None
    all_edges = [RECORD.edges(), *([holder.edges] if holder else [])]
    for inner in dotted:
        module = sys.modules.get(inner)
        path = getattr(module, "__file__", None)
        if not path or not is_project(path):
            continue
        if path in RECORD.files:
            for edges in all_edges:
                edges.add(path)
        else:  # an archive, or an extension
            archive = getattr(getattr(module, "__loader__", None), "archive", None) or path
            RECORD.reads().opened.setdefault(archive, state_of(archive))


_OURS = {}  # name of a module at the top -> whether it is the project's


def may_be_ours(name):
    if name in NAMES:
        return True
    module = sys.modules.get(name)
    if module is None:
        return False
    known = _OURS.get(name)
    if known is None or known[0] is not module:
        known = _OURS[name] = module, _is_ours(module)
    return known[1]


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


def is_within(path):
    """Whether a directory of the import path lies in the project, whose files are looked at."""
    return is_project(os.path.join(os.path.realpath(path), ""))


def install_record(torch):
    """Note from now on what is read. Nothing that is noted is changed by it."""
    global LIBRARY, TORCH, OUTSIDE
    LIBRARY = os.path.dirname(os.__file__) + os.sep
    TORCH = os.path.dirname(torch.__file__) + os.sep
    roots = {sys.prefix, sys.base_prefix, *map(os.path.realpath, (sys.prefix, sys.base_prefix))}
    sites = [p for p in sys.path if "-packages" in p]
    OUTSIDE = tuple({os.path.join(p, "") for p in (*roots, *sites)})
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
        if is_project(os.path.join(self.path, "")) or not self.path.startswith((LIBRARY, *OUTSIDE)):
            tail = fullname.rpartition(".")[2]
            RECORD.lookups[self.path].add(tail)
            if spec is None or spec.loader is None:  # a directory, perhaps, that may become more
                RECORD.lookups[os.path.join(self.path, tail)].add("__init__")
        return spec

    def noted_stat(path, *args, **kwargs):
        try:
            found = _STAT(path, *args, **kwargs)
        except OSError:
            note_probe("stat", path, "nothing", kwargs)
            raise
        note_probe("stat", path, kind_of(found.st_mode), kwargs)
        return found

    def noted_lstat(path, *args, **kwargs):
        try:
            found = _LSTAT(path, *args, **kwargs)
        except OSError:
            note_probe("lstat", path, "nothing", kwargs)
            raise
        note_probe("lstat", path, kind_of(found.st_mode), kwargs)
        return found

    def noted_readlink(path, *args, **kwargs):
        found = _READLINK(path, *args, **kwargs)
        note_probe("readlink", path, os.fsdecode(found), kwargs)
        return found

    def noted_access(path, mode, *args, **kwargs):
        found = _ACCESS(path, mode, *args, **kwargs)
        note_probe("access{}".format(mode), path, str(found), kwargs)
        return found

    builtins.__import__, importlib.import_module = noted_import, noted_import_module
    importlib.machinery.FileFinder.find_spec = noted_find_spec
    for original, noted in (
        (_STAT, noted_stat),
        (_LSTAT, noted_lstat),
        (_READLINK, noted_readlink),
        (_ACCESS, noted_access),
    ):
        if original is not None:
            setattr(os, original.__name__, noted)
            for known in (os.supports_fd, os.supports_dir_fd, os.supports_follow_symlinks):
                if original in known:
                    known.add(noted)
    accessor = getattr(pathlib, "_NormalAccessor", None)  # Python 3.10 and before bound them early
    for name in ("stat", "lstat", "readlink"):
        if hasattr(accessor, name):
            setattr(accessor, name, staticmethod(getattr(os, name)))
    RECORD.held = Held(torch, lenient=True)
    RECORD.refresh()
    RECORD.on = True


def kind_of(mode):
    kinds = ((stat.S_ISREG, "file"), (stat.S_ISDIR, "directory"), (stat.S_ISLNK, "link"))
    return next((kind for is_kind, kind in kinds if is_kind(mode)), "other")


# ---------------------------------------------------------------------------------------------
# Reading the project's source: never from stale bytecode, and in part where the whole would work

WORK_CALLS = re.compile(
    r"^_*(main|run|train|test|eval|evaluate|demo|cli|app|start|launch|fit|bench|benchmark|profile|"
    r"export|convert|plot|show|process|experiment|generate|sample|predict|infer|inference)($|_)"
)
WORK_METHODS = frozenset(
    (
        "backward step zero_grad fit train eval item init_process_group show savefig imshow sleep "
        "Fire serve launch mainloop run"
    ).split()
)
WORK_NAMES = {"input", "exec", "exit", "quit", "tqdm", "trange", "DataLoader", "load_dataset"}
HARMLESS_NAMES = frozenset(
    (
        "int float str bool len range dict list set tuple frozenset min max sum sorted zip "
        "enumerate abs round isinstance issubclass hasattr getattr repr reversed map filter any "
        "all type open print Path PosixPath partial namedtuple defaultdict OrderedDict Counter "
        "deque TypeVar NewType ParamSpec field device dtype getLogger"
    ).split()
)
HARMLESS_ROOTS = frozenset(
    (
        "math os sys re logging warnings argparse collections functools itertools operator typing "
        "t dataclasses copy json yaml toml tomllib enum string pathlib np numpy torch th platform "
        "OmegaConf omegaconf easydict"
    ).split()
)
READING_METHODS = set(
    "get keys values items format join split strip lower upper replace copy index startswith "
    "endswith exists read read_text is_available device_count resolve parse_args "
    "parse_known_args".split()
)
UNSAFE_METHODS = set(
    "_exit abort fork forkpty killpg load save memmap fromfile system execv chdir exit kill".split()
)
HARMLESS_METHODS = frozenset(
    (
        "append extend add update insert setdefault get keys values items format join split strip "
        "lower upper replace copy add_argument add_argument_group add_mutually_exclusive_group "
        "set_defaults parse_args parse_known_args is_available device_count setLevel addHandler "
        "exists resolve index startswith endswith read read_text pop"
    ).split()
)


def dotted(node):
    """`a.b.c` for an attribute chain, else the empty string."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
        return ".".join(reversed(parts))
    return ""


def calls_in(node):
    """The calls that running `node` makes; bodies of functions and lambdas only run when called."""
    todo = [node]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Call):
            yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            todo.extend(ast.iter_child_nodes(node))


def is_main_guard(node):
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Compare)
        and any(isinstance(n, ast.Name) and n.id == "__name__" for n in ast.walk(node.test))
    )


def would_work(tree):
    """Whether running the whole file would do a script's work (train, parse, plot) rather than
    define things. Wrong either way is survivable: what runs is guarded and limited, and a file
    that fails is read in part all the same."""
    local = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)) or is_main_guard(node):
            continue
        if isinstance(node, ast.While):
            return True
        for call in calls_in(node):
            name = dotted(call.func)
            last = name.rsplit(".", 1)[-1]
            if name in WORK_NAMES or last in ("DataLoader", "load_dataset"):
                return True
            if name in local and WORK_CALLS.match(name):
                return True
            if isinstance(call.func, ast.Attribute) and call.func.attr in WORK_METHODS:
                return True
            if name in ("sys.exit", "torch.save", "wandb.init", "torch.load", "unittest.main"):
                return True
            if any(k.arg == "download" for k in call.keywords):
                return True
    return False


def bound_names(node):
    """The names that a statement would bind or change."""
    names = set()
    for child in ast.walk(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, (ast.Store, ast.Del)):
            names.add(child.id)
        elif isinstance(child, (ast.Attribute, ast.Subscript)) and isinstance(
            child.ctx, (ast.Store, ast.Del)
        ):
            base = child
            while isinstance(base, (ast.Attribute, ast.Subscript)):
                base = base.value
            if isinstance(base, ast.Name):
                names.add(base.id)
        elif isinstance(child, (ast.FunctionDef, ast.ClassDef)):
            names.add(child.name)
        elif isinstance(child, ast.alias):
            names.add((child.asname or child.name).split(".")[0])
    return names


def missing_name(error):
    return getattr(error, "name", None) or (re.findall(r"'(\w+)'", str(error)) or [""])[0]


def root_name(node):
    """`a` for `a`, `a.b` or `a[0]`: what a call that is given it may change."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def is_stored_name(node):
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


class Slice:
    """Runs a file in part: its imports, definitions and harmless assignments, one by one.

    A statement that is left out, or fails, takes the names that it would have set with it, so that
    a count never rests on a value that the whole file would have replaced. `lost` says why a name
    is not there.
    """

    def __init__(self, tree, path, namespace):
        self.tree, self.path, self.namespace = tree, path, namespace
        self.lost = {}
        self.lines = {}  # name -> the line at which it was lost
        self.needs = {}  # name -> the package whose absence cost it
        self.functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
        self.flags = 0
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                for alias in node.names:
                    feature = getattr(importlib.import_module("__future__"), alias.name, None)
                    self.flags |= getattr(feature, "compiler_flag", 0)

    def run(self):
        self.block(self.tree.body)
        return self.lost

    def block(self, body):
        for node in body:
            if is_main_guard(node):
                continue
            if isinstance(node, ast.If):
                self.condition(node)
            elif self.is_kept(node):
                self.execute(node)
            else:
                self.lose(node, "set by work at line {} that nparam-lint does not run")

    def condition(self, node):
        if not self.harmless(node.test):
            self.lose(node, "set under a condition at line {} that nparam-lint does not evaluate")
            return
        code = compile(ast.Expression(node.test), self.path, "eval", self.flags, True)
        try:
            chosen = node.body if eval(code, self.namespace) else node.orelse
        except Exception as error:
            self.lose(
                node, "set under a condition at line {} that failed (" + describe(error) + ")"
            )
            return
        self.block(chosen)

    def is_kept(self, node):
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef)):
            return True
        if isinstance(node, (ast.ClassDef, ast.Pass, ast.Assert, ast.Global)):
            return True
        if isinstance(node, ast.Try):
            inner = node.body + node.orelse + node.finalbody
            return all(self.is_kept(n) for n in inner) and all(
                self.is_kept(n) for h in node.handlers for n in h.body
            )
        if isinstance(node, ast.If):
            return self.harmless(node.test) and all(map(self.is_kept, node.body + node.orelse))
        if isinstance(node, ast.For):
            return self.harmless(node.iter) and all(map(self.is_kept, node.body + node.orelse))
        if isinstance(node, ast.With):
            return all(self.harmless(i.context_expr) for i in node.items) and all(
                map(self.is_kept, node.body)
            )
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            return node.value is None or self.harmless(node.value)
        if isinstance(node, ast.Expr):
            return self.harmless(node.value)
        return type(node).__name__ == "TypeAlias" or isinstance(node, (ast.Raise, ast.Delete))

    def harmless(self, node):
        if any(isinstance(n, (ast.Await, ast.Yield, ast.YieldFrom)) for n in ast.walk(node)):
            return False
        return all(self.harmless_call(call) for call in calls_in(node))

    def harmless_call(self, call):
        name = dotted(call.func)
        root, last = name.split(".")[0], name.rsplit(".", 1)[-1]
        if isinstance(call.func, ast.Attribute):
            if call.func.attr in HARMLESS_METHODS:
                return True
            return root in HARMLESS_ROOTS and last not in UNSAFE_METHODS and ".hub." not in name
        found = self.namespace.get(name)
        if (
            isinstance(found, type)
            and getattr(found, "__module__", "") == self.namespace["__name__"]
        ):
            # A class of this file: a config object is fine, a model is built only when asked for.
            return not any(base.__module__.startswith("torch.") for base in found.__mro__)
        return name in HARMLESS_NAMES

    def execute(self, node):
        code = compile(
            ast.Module(body=[node], type_ignores=[]), self.path, "exec", self.flags, True
        )
        try:
            exec(code, self.namespace)
        except (Exception, SystemExit) as error:
            refused = isinstance(node, ast.Raise) or isinstance(error, AssertionError)
            if may_be_elsewhere(error) or refused:
                raise
            why, needs = "lost at line {}: " + describe(error), None
            if isinstance(error, ModuleNotFoundError):
                needs = (error.name or "").split(".")[0]
            elif isinstance(error, NameError):
                name = missing_name(error)
                needs = self.needs.get(name)
                if name in self.lost:
                    why += " ({!r} was {})".format(name, self.lost[name])
            self.lose(node, why, needs)
        else:
            for name in bound_names(node):
                self.lost.pop(name, None)

    def lose(self, node, why, needs=None):
        names = bound_names(node)
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            for call in calls_in(node):
                names |= self.changed_by(call, set())
        for name in names:
            if name in self.namespace and name.startswith("__"):
                continue
            self.namespace.pop(name, None)
            self.lost[name] = why.replace("{}", str(node.lineno), 1)
            self.lines[name] = "{}:{}".format(relative(self.path), node.lineno)
            self.needs[name] = needs

    def changed_by(self, call, seen):
        """The names whose values a call that was not made would have changed: `cfg.merge(…)`,
        `setattr(cfg, …)`, a function of this file that assigns to globals or to what it is given.
        A value that was only half made must not be counted with."""
        names = set()
        if isinstance(call.func, ast.Attribute):
            base = dotted(call.func).split(".")[0]
            value = self.namespace.get(base)
            kinds = (types.ModuleType, type, types.FunctionType)
            if base and call.func.attr not in READING_METHODS and not isinstance(value, kinds):
                names.add(base)
            return names
        name = dotted(call.func)
        given = [root_name(argument) for argument in call.args]
        if name in ("setattr", "delattr"):
            names.update(given[:1])
        function = self.functions.get(name)
        if function is not None and name not in seen:
            seen.add(name)
            changed = set()
            for child in ast.walk(function):
                if isinstance(child, ast.Call):
                    changed |= self.changed_by(child, seen)
            stored = bound_names(ast.Module(function.body, []))
            arguments = function.args.posonlyargs + function.args.args
            own = {a.arg for a in arguments + function.args.kwonlyargs}
            declared = {n for g in ast.walk(function) if isinstance(g, ast.Global) for n in g.names}
            plain = {n.id for n in ast.walk(function) if is_stored_name(n)} - declared
            names |= stored & declared
            names |= ((stored | changed) - own - plain) & set(self.namespace)
            by_name = {k.arg: root_name(k.value) for k in call.keywords}
            by_name.update(zip([a.arg for a in arguments], given))
            names.update(by_name.get(n) for n in (stored | changed) & own - plain)
        return names - {None, ""}


SLICED = {}  # path -> Slice of every file that was read in part
SUSPECTS = set()  # files that hung or killed their process when run whole: read in part
BARRED = {}  # path -> what it did, for files that do so even when read in part
ANNOUNCE = []  # [function that says which file is being run]; the innermost is at fault for a death
RUNNING = []
TOLERANT = False  # once every way to import a file has failed: do without the imports that fail


def read_tree(path):
    with io.open(path, "rb") as file:
        return ast.parse(file.read(), path)


class NotTracked(ModuleNotFoundError):
    """An import of a file that git has nothing of: the commit would fail as it does, so that it is
    never done without."""

    def __init__(self, file):
        # Without a name: the import system passes over a missing submodule of that name.
        text = "{} is not tracked by git; next: git add {}"
        super().__init__(text.format(file, shlex.quote(file)))


class Untracked:
    """The last of the finders: knows a module that nobody found as a file that was not added."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        if sys._getframe(2).f_code.co_name != "_find_and_load_unlocked":
            return  # `importlib.util.find_spec` asks whether it is there: it is not
        parts = fullname.split(".")
        folder = "/".join(parts) + "/"
        for file in UNTRACKED:
            steps = file[: -len(".py")].replace("/__init__", "").split("/")
            if steps[-len(parts) :] == parts:
                raise NotTracked(file)
        for file in UNTRACKED:
            if file.startswith((folder, "src/" + folder)):
                raise NotTracked(file)


def from_copy(path):
    """Where the copy has what an editable install, or a path that is written out, finds in the
    working tree; `path` itself where it leads elsewhere; None for what only the tree has."""
    if not ORIGINAL or not path.startswith(ORIGINAL + os.sep) or path.startswith(COPY + os.sep):
        return path
    if is_project(path) or "site-packages" in path or path.startswith(VIRTUAL):
        return path
    copied = COPY + path[len(ORIGINAL) :]
    return copied if os.path.exists(copied) else None


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


def may_be_elsewhere(error):
    """Whether an import failed that another import path might mend. A package that is not installed
    and that no file of the project could be is missing on every path: it is done without."""
    if isinstance(error, NotTracked):
        return True
    if not isinstance(error, ImportError) or TOLERANT:
        return False
    if not isinstance(error, ModuleNotFoundError):  # a name that a file lost by being read in part
        return error.path not in SLICED
    missing = (error.name or "").split(".")[0]
    RECORD.missing[missing] = missing in NAMES
    return missing in NAMES or missing in sys.modules


def exec_project(module, path):
    """`SourceFileLoader.exec_module` for files of the project: compiled from the source as it is
    now (pre-commit's stash makes edits of the same size and time, which bytecode would hide), and
    run in part where the whole file would work or has failed."""
    if path in BARRED:
        raise ImportError("the process that imported {} {}".format(relative(path), BARRED[path]))
    with io.open(path, "rb") as file:
        source = file.read()
    RECORD.edges().add(path)
    file = RECORD.files.setdefault(path, File())
    file.source = hashlib.blake2b(source, digest_size=16).hexdigest()
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


FOREIGN = []  # the module of a package that is being run, if any: what it changes is its own affair


def install_loader():
    """Patch the one class that every finder (path, editable install, by file) loads source with."""
    loader = importlib.machinery.SourceFileLoader
    get_code, exec_module = loader.get_code, loader.exec_module

    def place_of(self, fullname):
        path = self.get_filename(fullname)
        real = os.path.realpath(path)
        copied = from_copy(real)
        if copied is None:
            raise NotTracked(os.path.relpath(real, ORIGINAL).replace(os.sep, "/"))
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
    if ORIGINAL:
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


# ---------------------------------------------------------------------------------------------
# Importing the module of a job


class Failure(Exception):
    """Why a job was not measured. `code`: the finding; the rest goes into the result."""

    def __init__(self, code, reason, **more):
        super().__init__(reason)
        self.result = dict(more, ok=False, code=code, reason=reason)


def shadows(root):
    """A name at the top of `root` that would hide an installed package or the standard library."""
    clean = [p for p in sys.path if p and not os.path.realpath(p).startswith(ROOT + os.sep)]
    try:
        entries = os.listdir(root)
    except OSError:
        return None
    for entry in sorted(entries):
        path = os.path.join(root, entry)
        name = entry[:-3] if entry.endswith(".py") else entry
        if not name.isidentifier() or name == "__init__":
            continue
        if not entry.endswith(".py") and not os.path.exists(os.path.join(path, "__init__.py")):
            continue  # a plain directory loses against any installed package
        if name in getattr(sys, "stdlib_module_names", ()) or name in sys.builtin_module_names:
            return name
        spec = importlib.machinery.PathFinder.find_spec(name, clean)
        if spec is not None and spec.origin and not is_project(os.path.realpath(spec.origin)):
            return name
    return None


def set_import_path(roots):
    """Put the project's `roots` on the import path: the repository root and `src`, from which the
    project itself is imported, and any directory that shadows nothing, in front; a directory that
    would shadow an installed package last."""
    front, back = [], []
    for root in roots:
        path = os.path.normpath(os.path.join(ROOT, root))
        trusted = root in ("", "src") or shadows(path) is None
        if root not in ("", "src"):
            RECORD.shared.listed.setdefault(path, state_of(path))
        (front if trusted else back).append(path)
    taken = set(front + back)
    sys.path[:] = front + [p for p in sys.path if p not in taken and p != ""] + back


def set_arguments(job):
    """The command line that a script would see, whichever was imported first."""
    sys.argv = [os.path.join(ROOT, job["file"] or "python")]


def import_target(job):
    """The module of a job, or a Failure that says which line stands in the way."""
    name = job["module"]
    if job["file"]:
        expected = os.path.join(ROOT, job["file"])
        top = name.split(".")[0]
        if top in sys.modules and not _is_ours(sys.modules[top]):
            raise Failure(
                "NPL003",
                "{} cannot be imported as {!r}: an installed package has the name {!r}".format(
                    job["file"], name, top
                ),
                next_attempt=True,
            )
    try:
        module = importlib.import_module(name)
    except BaseException as error:
        _raise_import_failure(job, error)
    if job["file"]:
        found = os.path.realpath(getattr(module, "__file__", None) or "")
        if found != os.path.realpath(expected):
            raise Failure(
                "NPL003",
                "importing {!r} gave {} instead of {}".format(name, relative(found), job["file"]),
                next_attempt=True,
            )
    return module


def _is_ours(module):
    if module is sys.modules["__main__"]:
        return False
    path = getattr(module, "__file__", None)
    if path:  # torch.ops calls itself "_ops.py"
        return os.path.isabs(path) and is_project(os.path.realpath(path))
    try:  # a namespace package
        return any(is_project(os.path.realpath(p) + os.sep) for p in list(module.__path__))
    except Exception:
        return False


def load_lazily(module, qualname):
    """Packages such as transformers import what defines a class when it is asked for, and with the
    first one most of what all others share: once, here. What goes wrong is told by the job, which
    asks again."""
    with contextlib.suppress(Exception, SystemExit):
        found = module
        for part in qualname.split("."):
            found = getattr(found, part)


def project_modules():
    return [module for module in list(sys.modules.values()) if _is_ours(module)]


def install(package):
    if not package:
        return None
    return "install {!r} into {}, or choose another interpreter with --python".format(
        package, sys.executable
    )


def _raise_import_failure(job, error):
    if isinstance(error, KeyboardInterrupt):
        raise error
    what = job["file"] or job["module"]
    hint = None
    if isinstance(error, ModuleNotFoundError) and error.name:
        missing = error.name.split(".")[0]
        hint = install(missing)
        if not job["file"] and missing == job["module"].split(".")[0]:
            raise Failure(
                "NPL003", "there is no module {!r} in {}".format(error.name, sys.prefix), hint=hint
            )
    raise Failure(
        "NPL003",
        "cannot import {}: {}".format(what, describe(error)),
        hint=hint,
        source=line_of_error(error),
        next_attempt=isinstance(error, ImportError),
        not_tracked=isinstance(error, NotTracked),
    )


def why_missing(module, name):
    """The reason why a name that the source defines is not in the module, from its slice."""
    part = SLICED.get(os.path.realpath(getattr(module, "__file__", None) or ""))
    if part is None:
        return None
    reason = part.lost.get(name)
    if reason is None and part.failure is not None:
        reason = describe(part.failure)
    return reason


def explain_name_error(error, module):
    """What a NameError at build time owes to a file that was only read in part."""
    if not isinstance(error, NameError):
        return ""
    name = missing_name(error)
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    here = SLICED.get(os.path.realpath(trace.tb_frame.f_code.co_filename))
    for part in [here] if here is not None else SLICED.values():
        if name in part.lost:
            return " ({!r} in {}: {})".format(name, relative(part.path), part.lost[name])
    return ""


# ---------------------------------------------------------------------------------------------
# Building: the ladder of devices

NEVER_THE_DEVICE = (NameError, ImportError, SystemExit, KeyboardInterrupt, MemoryError, Refused)
RUNGS = ("meta", "cpu without initialisation", "cpu")
SMALL = 1 << 20  # elements of a tensor whose values are worth having
SMALL_RANDOM = 1 << 16
SKIP = {"init": False}
_RANDOM_IN_PLACE = frozenset(
    ("normal_ uniform_ log_normal_ exponential_ cauchy_ geometric_ random_ bernoulli_").split()
)
# In-place functions keep shape and dtype, so that on meta there is nothing for them to do; doing it
# would import 800 modules the first time.
_IN_PLACE = frozenset(
    (
        "add_ sub_ mul_ div_ pow_ clamp_ clip_ fill_ zero_ copy_ erfinv_ exp_ log_ sqrt_ neg_ "
        "sign_ masked_fill_ tril_ triu_ abs_ floor_ ceil_ round_ lerp_ addmm_ renorm_ "
        "fill_diagonal_"
    ).split()
)


# Ways for a value to become a width: Python reads it, or a shape follows from it.
_READERS = frozenset(
    (
        "item tolist numpy __array__ __bool__ __int__ __float__ __index__ __complex__ __contains__ "
        "equal allclose is_nonzero nonzero argwhere unique unique_consecutive masked_select "
        "bincount repeat_interleave"
    ).split()
)
READ = {"values": False}  # whether the build has used one of them


def patch_initialisers(torch):
    """Make `torch.nn.init.*_` do nothing while SKIP["init"] is set. They never change a count, and
    the first normal_ on meta imports 900 modules. Before the project is imported, so that
    `from torch.nn.init import xavier_uniform_` gets them too."""
    init = torch.nn.init

    def quiet(original, fan):
        def initialise(*args, **kwargs):
            if not SKIP["init"]:
                return original(*args, **kwargs)
            tensor = args[0] if args else kwargs["tensor"]
            if fan and tensor.dim() < 2:  # the one check that tells a wrong model from a right one
                init._calculate_fan_in_and_fan_out(tensor)
            return tensor

        initialise.__name__ = original.__name__
        initialise.__doc__ = original.__doc__
        initialise.__wrapped__ = original
        return initialise

    for name, function in list(vars(init).items()):
        if name.endswith("_") and not name.startswith("_") and callable(function):
            setattr(init, name, quiet(function, name.startswith(("xavier", "kaiming"))))


def make_mode(torch):
    """The function mode under which models are built (a class, since torch comes late).

    Everything goes to one device, whatever the constructor asks for, and moves only change dtypes.
    On meta, weights (`torch.empty`) hold nothing, but what a constructor may read back or compute
    with (`torch.linspace(0, 0.1, depth).tolist()`, masks, rotary tables) is really made, on the
    CPU, as long as it is small. That builds what plain meta cannot, and it is faster: arithmetic
    on meta imports 800 modules the first time.
    """
    from torch.overrides import TorchFunctionMode
    from torch.utils._device import _device_constructors

    tensor = torch.Tensor
    # How many elements they make stands in their arguments; the others make what they are given.
    sized = {torch.zeros, torch.ones, torch.full, torch.randn, torch.rand}
    empty = {torch.empty, torch.empty_strided, torch.empty_permuted}
    random_makers = {torch.randn, torch.rand}

    def holds_tensor(values):
        for value in values:
            kind = type(value)
            if kind is int:
                continue
            if isinstance(value, tensor) or (kind in (tuple, list) and holds_tensor(value)):
                return True
        return False

    def elements(args, kwargs):
        size = kwargs.get("size", args)
        if len(size) and isinstance(size[0], (tuple, list)):
            size = size[0]
        number = 1
        for n in size:
            number *= int(n) if isinstance(n, int) else 1
        return number

    def to_meta(value):
        return value.to("meta") if isinstance(value, tensor) else value

    def read(mode, func, args, kwargs):
        READ["values"] = True
        return mode.call(func, args, kwargs)

    def index(mode, func, args, kwargs):
        if holds_tensor(args[1:]):
            READ["values"] = True
        return mode.call(func, args, kwargs)

    def draw(mode, func, args, kwargs):
        return args[0] if mode.skip_init else mode.call(func, args, kwargs)

    def change(mode, func, args, kwargs):
        return args[0] if args[0].is_meta else mode.call(func, args, kwargs)

    def move(mode, func, args, kwargs):
        for value in (*args[1:], *kwargs.values()):
            if isinstance(value, (torch.dtype, tensor)):
                return args[0].to(value if isinstance(value, torch.dtype) else value.dtype)
        return args[0]

    def make(mode, func, args, kwargs):
        if holds_tensor(args):  # a size, perhaps
            READ["values"] = True
        kwargs = dict(kwargs, device="cpu")
        kwargs.pop("pin_memory", None)
        if mode.device == "meta":
            limit = SMALL_RANDOM if func in random_makers else SMALL
            if func in empty or (func in sized and elements(args, kwargs) > limit):
                kwargs["device"] = "meta"
                if func in random_makers:
                    func = torch.empty
                    kwargs.pop("generator", None)
            elif func is torch.tensor and len(args) == 1 and type(args[0]) is list and not args[0]:
                kwargs["device"] = "meta"  # transformers asks so where it is
        return func(*args, **kwargs)

    methods = {}  # function of torch -> what is done in its place; asked for every one of them
    for names, method in (
        (_READERS, read),
        (("__getitem__",), index),
        (_IN_PLACE, change),
        (_RANDOM_IN_PLACE, draw),
        (("to", "cuda", "cpu"), move),
    ):
        spaces = (tensor, torch) if method is read else (tensor,)
        found = (getattr(space, name, None) for space in spaces for name in names)
        methods.update((function, method) for function in found if function is not None)
    methods.update(dict.fromkeys(_device_constructors(), make))

    class Build(TorchFunctionMode):
        def __init__(self, device, skip_init):
            super().__init__()
            self.device, self.skip_init = device, skip_init

        def __torch_function__(self, func, types, args=(), kwargs=None):
            method = methods.get(func)
            if method is not None:
                return method(self, func, args, kwargs or {})
            return self.call(func, args, kwargs or {})

        def call(self, func, args, kwargs):
            if kwargs and kwargs.get("device") is not None:
                kwargs = dict(kwargs, device=None)
            try:
                return func(*args, **kwargs)
            except RuntimeError as error:
                if self.device != "meta" or "device" not in str(error):
                    raise
                moved = {k: to_meta(v) for k, v in kwargs.items()}
                return func(*map(to_meta, args), **moved)

    return Build


@contextlib.contextmanager
def rung(mode, name):
    """The context in which a model is built on one rung of the ladder."""
    SKIP["init"] = name != "cpu"
    try:
        with mode("meta" if name == "meta" else "cpu", skip_init=name != "cpu"):
            yield
    finally:
        SKIP["init"] = False


# ---------------------------------------------------------------------------------------------
# Calling the target


CONFIG_PARAMETER = re.compile("conf|cfg|args|hparam|params|settings|opt", re.IGNORECASE)
CONFIG_CLASS = re.compile("(Config|Cfg|Args|Arguments|Settings|HParams|Hparams|Options)$")


class Call:
    """A call of the target, as text, evaluated in its module's namespace; remembers the arguments
    with which the callable was really called, because formulas speak of them."""

    def __init__(self, job, module):
        self.module = module
        self.job = job
        self.function = self.find(job["callable"])
        self.arguments = {}
        self.text = job["callable"]

    def find(self, qualname):
        found = self.module
        done = []
        for part in qualname.split("."):
            try:
                found = getattr(found, part)
            except AttributeError:
                where = ".".join([self.module.__name__, *done])
                why = why_missing(self.module, part) if not done else None
                read = SLICED.get(os.path.realpath(getattr(self.module, "__file__", None) or ""))
                if why is None:
                    near = difflib.get_close_matches(part, dir(found), 1)
                    text = "{} has no {!r}".format(where, part)
                    text += "; did you mean {!r}?".format(near[0]) if near else ""
                    raise Failure("NPL008", text) from None
                raise Failure(
                    "NPL003",
                    "{} has no {!r}: {}".format(where, part, why),
                    source=read.lines.get(part),
                    hint=install(read.needs.get(part)),
                ) from None
            done.append(part)
        if not callable(found):
            raise Failure(
                "NPL004", "{} is {}, not a class or function".format(qualname, type(found))
            )
        return found

    def namespace(self):
        """A copy of the module's names, completed by what its `__getattr__` provides."""
        names = dict(vars(self.module))
        text = (self.job.get("setup") or "") + "\n" + (self.job.get("call") or "")
        text += "\n" + (self.job.get("arguments") or "")
        for word in set(re.findall(r"[A-Za-z_]\w*", text)) - set(names):
            if not hasattr(builtins, word):
                with contextlib.suppress(Exception):
                    names[word] = getattr(self.module, word)
        return names

    def __call__(self):
        if self.job.get("call"):
            self.text = self.job["call"]
            names = self.namespace()
            if self.job.get("setup"):
                exec(compile(self.job["setup"], "<nparam setup>", "exec"), names)
            return self.evaluate(self.text, names)
        arguments = self.job.get("arguments")
        if arguments is not None:
            self.text = "{}({})".format(self.job["callable"], arguments)
            return self.evaluate(self.text, self.namespace())
        return self.with_defaults()

    def evaluate(self, text, names):
        tree = ast.parse(text.strip(), "<nparam call>", "eval")
        if isinstance(tree.body, ast.Call):
            call = tree.body
            call.args.insert(0, call.func)
            call.func = ast.copy_location(ast.Name("__nparam_call__", ast.Load()), call)
            names["__nparam_call__"] = self.record
        return eval(compile(ast.fix_missing_locations(tree), "<nparam call>", "eval"), names)

    def record(self, function, *args, **kwargs):
        with contextlib.suppress(Exception):
            signature = inspect.signature(function)
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            self.arguments = dict(bound.arguments)
            for parameter in signature.parameters.values():
                if parameter.kind is parameter.VAR_KEYWORD:
                    self.arguments.update(self.arguments.pop(parameter.name, {}))
        return function(*args, **kwargs)

    def with_defaults(self):
        required = self.required()
        if not required:
            self.text = self.job["callable"] + "()"
            return self.record(self.function)
        config = self.default_config(required[0]) if len(required) == 1 else None
        if config is None:
            names = [p.name for p in required]
            raise Failure(
                "NPL004",
                "{} needs {}".format(self.job["callable"], ", ".join(names)),
                missing=names,
            )
        self.text = "{}({}())".format(self.job["callable"], config.__name__)
        return self.record(self.function, config())

    def required(self):
        try:
            signature = inspect.signature(self.function)
        except (TypeError, ValueError):
            return []
        return [
            p
            for p in signature.parameters.values()
            if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        ]

    def default_config(self, parameter):
        """The config class to build the one required parameter from, when it builds from its
        defaults: the class that annotates it; or, where nothing does and its name says `config`,
        the module's `<Class>Config`, or its only config class."""
        if parameter.annotation is not parameter.empty:
            candidates = [self.annotated(parameter.annotation)]
        elif CONFIG_PARAMETER.search(parameter.name):
            classes = {
                name: value
                for name, value in vars(self.module).items()
                if isinstance(value, type) and CONFIG_CLASS.search(name)
            }
            own = classes.get(self.job["callable"].split(".")[-1] + "Config")
            candidates = [own] if own else list(classes.values()) if len(classes) == 1 else []
        else:
            candidates = []
        for candidate in candidates:
            if isinstance(candidate, type) and not candidate.__module__.startswith(
                ("builtins", "typing", "torch.", "collections", "pathlib")
            ):
                with contextlib.suppress(Exception):
                    candidate()
                    return candidate
        return None

    def annotated(self, annotation):
        if isinstance(annotation, str):
            function = inspect.unwrap(self.function)
            function = function.__init__ if isinstance(function, type) else function
            names = dict(vars(self.module))
            names.update(getattr(function, "__globals__", {}))
            try:
                annotation = eval(annotation, names)
            except Exception:
                return None
        if not isinstance(annotation, type):  # Optional[Config], Config | None
            for part in getattr(annotation, "__args__", ()):
                if isinstance(part, type) and part is not type(None):
                    return part
        return annotation


def resolve_names(wanted, arguments, model):
    """Values for the names that formulas use: constructor arguments, then fields of arguments that
    are config objects, then integer attributes of the model. Returns (values, every known name)."""
    known = {}
    plain = (bool, int, float, str, type(None))
    holders = []
    for name, value in arguments.items():
        if isinstance(value, plain):
            known[name] = value
        elif not isinstance(value, (list, tuple, set)):
            holders.append(value)
    fields = {}
    for holder in holders:
        items = holder if isinstance(holder, collections.abc.Mapping) else None
        with contextlib.suppress(Exception):
            items = vars(holder) if items is None else items
            for name, value in items.items():
                if isinstance(name, str) and isinstance(value, plain):
                    fields.setdefault(name, value)
        for name in wanted:  # properties, aliases and class attributes
            with contextlib.suppress(Exception):
                value = getattr(holder, name)
                if isinstance(value, plain):
                    fields.setdefault(name, value)
    for name, value in fields.items():
        known.setdefault(name, value)
    for name in wanted:
        if name not in known:
            with contextlib.suppress(Exception):
                value = getattr(model, name)
                if isinstance(value, (bool, int)):
                    known[name] = value
                elif hasattr(value, "__index__") and not hasattr(value, "shape"):
                    known[name] = value.__index__()
    attributes = sorted(k for k, v in vars(model).items() if isinstance(v, int) and k[0] != "_")
    names = sorted(n for n, v in known.items() if isinstance(v, (int, float)))
    return {n: known[n] for n in wanted if n in known}, names + attributes


# ---------------------------------------------------------------------------------------------
# Counting


class Count:
    """Everything about one model. Identity is `id(parameter)`: on meta every data_ptr is 0."""

    def __init__(self, torch, model, sources):
        self.torch, self.model, self.sources = torch, model, sources
        self.parameters = {}  # id -> [tensor, first name, other names]
        self.buffers = {}  # id -> tensor
        self.rows = []
        self.first_path = {}  # id(module) -> path
        self.by_id = {}
        self.lines = {}  # path of a module -> the line that made it
        self.again = []  # (path, first path) of modules that stand in more than one place
        self.owners = collections.defaultdict(list)  # id(parameter) -> paths of owning modules
        self.buffer_owners = collections.defaultdict(list)
        self.lazy = []
        self.embedding = set()
        self.walk()
        self.embedding |= self.output_heads()
        self.no_routing = None  # why the active parameters cannot be told
        self.idle = self.find_idle()

    def walk(self):
        """Every module once, by its first path; a second path of the same module becomes a row that
        points to the first. (Not `named_modules(remove_duplicate=False)`: it never ends where a
        child holds its parent.)"""
        torch = self.torch
        lazy = torch.nn.parameter.UninitializedTensorMixin
        embedding = (torch.nn.Embedding, torch.nn.EmbeddingBag)
        stack = [("", self.model)]
        while stack:
            path, module = stack.pop()
            if "_parameters" not in vars(module):
                raise Failure(
                    "NPL004",
                    "the constructor of {} never calls super().__init__()".format(
                        type(module).__name__
                    ),
                    hint="call super().__init__() before anything is assigned",
                )
            row = {"path": path, "type": type(module).__name__, "own": 0, "tied": []}
            row["source"] = self.lines[path] = self.sources["modules"].get(id(module))
            self.rows.append(row)
            if id(module) in self.first_path:
                row["shared_with"] = self.first_path[id(module)]
                self.again.append((path, row["shared_with"]))
                continue
            self.first_path[id(module)] = path
            self.by_id[id(module)] = module
            prefix = path + "." if path else ""
            for name, parameter in list(module._parameters.items()):
                if parameter is None:
                    continue
                if isinstance(parameter, lazy):
                    self.lazy.append(prefix + name)
                    continue
                key = id(parameter)
                self.owners[key].append(path)
                if isinstance(module, embedding):
                    self.embedding.add(key)
                if key in self.parameters:
                    first = self.parameters[key]
                    first[2].append(prefix + name)
                    row["tied"].append("{} = {}".format(name, first[1]))
                else:
                    self.parameters[key] = [parameter, prefix + name, []]
                    row["own"] += parameter.numel()
            for name, buffer in list(module._buffers.items()):
                if buffer is None:
                    continue
                if isinstance(buffer, lazy):
                    self.lazy.append(prefix + name)
                    continue
                self.buffers[id(buffer)] = buffer
                self.buffer_owners[id(buffer)].append(path)
            children = [(prefix + n, m) for n, m in list(module._modules.items()) if m is not None]
            stack.extend(reversed(children))

    def totals(self):
        """Fill in, for each row, what lies at or below it; a shared parameter once in each."""
        kinds = ("total", "trainable", "buffers", "bytes", "embedding", "idle")
        held = {}  # the paths of the modules that hold them -> amounts of each kind
        for key, (parameter, _, _) in self.parameters.items():
            size = parameter.numel()
            sums = held.setdefault(tuple(self.owners[key]), [0] * len(kinds))
            sums[0] += size
            sums[1] += size if parameter.requires_grad else 0
            sums[3] += size * parameter.element_size()
            sums[4] += size if key in self.embedding else 0
            sums[5] += size * self.idle.get(key, 0)
        for key, buffer in self.buffers.items():
            size = buffer.numel()
            sums = held.setdefault(tuple(self.buffer_owners[key]), [0] * len(kinds))
            sums[2] += size
            sums[3] += size * buffer.element_size()
        below = {row["path"]: [0] * len(kinds) for row in self.rows}
        shared = {}  # what several modules hold counts once above all of them
        for owners, sums in held.items():
            if len(owners) == 1 and not self.again:
                add(below[owners[0]], sums)
                continue
            for path in {above for owner in self.all_paths(owners) for above in upwards(owner)}:
                add(shared.setdefault(path, [0] * len(kinds)), sums)
        for row in reversed(self.rows):  # each after all that lies below it
            if row["path"]:
                add(below[row["path"].rpartition(".")[0]], below[row["path"]])
        for path, sums in shared.items():
            add(below[path], sums)
        for row in self.rows:
            first = row.get("shared_with")
            # A module that holds its own ancestor would count it all again.
            inside = first is not None and is_below(row["path"], first)
            sums = [0] * len(kinds) if inside else below[row["path"] if first is None else first]
            row.update(zip(kinds, sums))
            idle = row.pop("idle")
            row["active"] = None if self.no_routing else row["total"] - int(idle)
        return self.rows

    def output_heads(self):
        """The ids of the weights that turn states back into tokens: published counts without
        embeddings leave them out, tied or not. The model says which (`get_output_embeddings`), or
        it is a module directly below the root whose weight has the shape of a token embedding."""
        children = list(self.model._modules.values())
        with contextlib.suppress(Exception):
            children.append(self.model.get_output_embeddings())
        shapes = {self.parameters[key][0].shape for key in self.embedding}
        weights = [m._parameters.get("weight") for m in children if m is not None]
        return {
            id(w) for w in weights if w is not None and not self.is_lazy(w) and w.shape in shapes
        }

    def find_idle(self):
        """id(parameter) -> the share of it that a token does not use, for the routed experts of a
        mixture: modules called `…experts` (not the shared ones) that hold like children, or
        parameters stacked along a first dimension. How many are used, the router's or the config's
        usual fields say."""
        idle = {}
        modules = {path: self.by_id[key] for key, path in self.first_path.items()}
        for path, module in modules.items():
            name = path.rpartition(".")[2]
            if not name.endswith("experts") or "shared" in name:
                continue
            children = [c for c in module._modules.values() if c is not None]
            sizes = {sum(p.numel() for p in self.torch.nn.Module.parameters(c)) for c in children}
            stacked = [p for p in module._parameters.values() if p is not None and p.dim() > 1]
            if len(children) > 1 and len(sizes) == 1 and 0 not in sizes:
                number = len(children)
                parameters = [p for c in children for p in self.torch.nn.Module.parameters(c)]
            elif any(p.dim() > 2 for p in stacked):
                number = next(p.shape[0] for p in stacked if p.dim() > 2)
                parameters = [p for p in stacked if p.shape[0] == number]
            else:
                continue
            used = self.routed(modules, path, module)
            if used is None or not 0 < used <= number:
                self.no_routing = (
                    "nothing says how many of the {} experts in {} a token uses".format(
                        number, path
                    )
                )
                continue
            for parameter in parameters:
                idle[id(parameter)] = 1 - fractions.Fraction(used, number)
        return idle

    def routed(self, modules, path, module):
        """How many experts a token uses: from the block around them and its router, then from the
        config object of the model."""
        block = modules[path.rpartition(".")[0]]
        routers = [m for m in block._modules.values() if m is not None and m is not module]
        config = getattr(self.model, "config", None)
        holders = [block, *routers, module, config, getattr(config, "text_config", None)]
        for holder in [*holders, getattr(block, "config", None)]:
            for name in ROUTED_FIELDS:
                value = getattr(holder, name, None)
                if isinstance(value, int) and not isinstance(value, bool):
                    return value
        return 1 if any("Top1" in type(r).__name__ for r in routers) else None

    def all_paths(self, paths):
        """The owners' paths, and the paths at which a shared module above them stands again."""
        found = list(paths)
        for path, first in self.again:  # in the order of the walk: inner ones before outer ones
            if not is_below(path, first) and any(is_below(p, first) for p in found):
                found.append(path)
        return found

    def parameter_rows(self):
        return [
            {
                "name": name,
                "shape": [int(n) for n in parameter.shape],
                "dtype": str(parameter.dtype).replace("torch.", ""),
                "trainable": bool(parameter.requires_grad),
                "source": self.source(parameter, name),
                "also": others,
                "note": self.remarks.get(name),
            }
            for parameter, name, others in self.parameters.values()
        ]

    def remark(self):
        """The names of parameters that hold less than what they count → why."""
        storages, remarks = {}, {}
        for parameter, name, _ in self.parameters.values():
            if not parameter.numel():
                continue
            with contextlib.suppress(Exception):
                first = storages.setdefault(parameter.untyped_storage()._cdata, name)
                if first != name:
                    text = "shares its storage with {} (counted twice)"
                    remarks[name] = text.format(first)
            if not parameter.is_contiguous():
                strides = zip(parameter.shape, parameter.stride())
                if any(n > 1 and stride == 0 for n, stride in strides):
                    remarks[name] = "expanded: fewer values are stored than counted"
        return remarks

    def signature(self):
        """What must be the same in two builds: each parameter's name, shape and dtype."""
        return [(n, list(p.shape), str(p.dtype)[6:]) for p, n, _ in self.parameters.values()]

    def source(self, parameter, name):
        """The line that made a parameter; for one that was copied, that of the nearest module
        around it whose line is known."""
        found = self.sources["parameters"].get(id(parameter))
        while found is None and name:
            name = name.rpartition(".")[0]
            found = self.lines.get(name)
        return found

    def hidden(self):
        """Parameters and modules in plain attributes, lists and dicts: unseen by parameters()."""
        torch = self.torch
        found, seen = [], set(self.parameters)
        registered = set(self.first_path)
        skip = set(vars(torch.nn.Module()))
        plain = {str, int, float, bool, type(None), types.FunctionType, torch.device, torch.dtype}
        for module_id, path in list(self.first_path.items()):
            module = self.by_id[module_id]
            for name, value in list(vars(module).items()):
                kind = type(value)
                if kind in plain or name in skip:
                    continue
                if kind is tuple and plain.issuperset(map(type, value)):  # a kernel's size
                    continue
                tensors = []
                self.search(value, tensors, registered, 0, set())
                if not tensors:
                    continue
                tensors = [t for t in tensors if id(t) not in seen and id(t) not in self.buffers]
                unique = {id(t): t for t in tensors}
                seen.update(unique)
                count = sum(t.numel() for t in unique.values())
                if count:
                    where = (path + "." if path else "") + name
                    source = next(
                        (
                            self.sources["parameters"][i]
                            for i in unique
                            if i in self.sources["parameters"]
                        ),
                        self.sources["modules"].get(module_id),
                    )
                    kind = type(value).__name__
                    found.append({"path": where, "count": count, "what": kind, "source": source})
        overridden = type(self.model).parameters is not torch.nn.Module.parameters
        if overridden:
            with contextlib.suppress(Exception):
                returned = {id(p) for p in self.model.parameters()}
                missing = [p for k, (p, _, _) in self.parameters.items() if k not in returned]
                if missing:
                    count = sum(p.numel() for p in missing)
                    found.append(
                        {
                            "path": "",
                            "count": count,
                            "what": "overridden parameters()",
                            "source": None,
                        }
                    )
        return found

    def search(self, value, found, registered, depth, seen):
        torch = self.torch
        if depth > 4 or id(value) in seen:
            return
        seen.add(id(value))
        if isinstance(value, torch.nn.Module):
            if id(value) not in registered:
                for module in torch.nn.Module.modules(value):
                    registered_here = [p for p in module._parameters.values() if p is not None]
                    found.extend(p for p in registered_here if not self.is_lazy(p))
        elif isinstance(value, torch.Tensor):
            parameter = isinstance(value, torch.nn.Parameter)
            if not self.is_lazy(value) and (parameter or (value.requires_grad and value.is_leaf)):
                found.append(value)
        elif isinstance(value, dict):
            for item in list(value.values())[:10000]:
                self.search(item, found, registered, depth + 1, seen)
        elif isinstance(value, (list, tuple, set, frozenset, collections.deque)):
            for item in list(value)[:10000]:
                self.search(item, found, registered, depth + 1, seen)

    def is_lazy(self, tensor):
        return isinstance(tensor, self.torch.nn.parameter.UninitializedTensorMixin)

    def result(self, with_parameters):
        rows = self.totals()
        root = rows[0]
        self.remarks = self.remark()
        return {
            "ok": True,
            "type": full_name(self.model),
            "types": sorted({full_name(m) for m in self.by_id.values() if m is not self.model}),
            "counts": {
                "total": root["total"],
                "trainable": root["trainable"],
                "frozen": root["total"] - root["trainable"],
                "buffers": root["buffers"],
                "bytes": root["bytes"],
                "non_embedding": root["total"] - root["embedding"],
                "active": root["active"],
            },
            "no_routing": self.no_routing,
            "modules": rows,
            "hidden": self.hidden(),
            "notes": ["{}: {}".format(name, text) for name, text in self.remarks.items()],
            "parameters": self.parameter_rows() if with_parameters else [],
        }


def add(sums, more):
    """Add to the sums in place."""
    for kind, amount in enumerate(more):
        sums[kind] += amount


def upwards(path):
    """A module's path and those of all modules above it, up to the root ""."""
    while path:
        yield path
        path = path.rpartition(".")[0]
    yield ""


def is_below(path, ancestor):
    """Whether a module path is `ancestor` or lies below it; all lie below the root ""."""
    return not ancestor or path == ancestor or path.startswith(ancestor + ".")


ROUTED_FIELDS = (
    "num_experts_per_tok",
    "num_experts_per_token",
    "experts_per_token",
    "n_expert_per_token",
    "n_activated_experts",
    "num_activated_experts",
    "num_selected_experts",
    "moe_top_k",
    "moe_topk",
    "moe_k",
    "router_top_k",
    "top_k",
    "topk",
)


def full_name(module):
    return "{}.{}".format(type(module).__module__, type(module).__qualname__)


# ---------------------------------------------------------------------------------------------
# One job


class NextRung(Exception):
    """The model cannot be built on this rung; `failures` says why, for it and those before."""

    def __init__(self, failures):
        super().__init__()
        self.failures = failures


class Job:
    """Builds the model of one job on one rung of the ladder, and counts it. `failures`: what was
    wrong on the rungs before. `traced`: the lines that make its parts are wanted."""

    def __init__(self, job, module, torch, mode, failures=(), traced=True):
        self.traced = traced
        self.job, self.module, self.torch, self.mode = job, module, torch, mode
        self.failures, self.rung = list(failures), len(failures)
        # id -> line, and the objects themselves: an id must not be given away while it counts.
        self.sources = {"parameters": {}, "modules": {}, "objects": []}

    def run(self):
        hooks = torch_hooks(self.torch, self.sources) if self.traced else []
        try:
            return self.climb()
        finally:
            for hook in hooks:
                hook.remove()

    def climb(self):
        """Build on this rung. What fails there may be carried by the next, unless it is certain to
        fail again: then the failure is the result."""
        name = RUNGS[self.rung]
        device = name.split()[0]
        try:
            result = self.once(name)
        except Failure:
            raise
        except BaseException as error:
            record = {"device": device, "reason": describe(error)}
            # Failed alike without initialisation: initialising it all would only take long.
            again = device == "cpu" and record["reason"] == self.failures[-1]["reason"]
            last = again or isinstance(error, NEVER_THE_DEVICE) or name == RUNGS[-1]
            if not last:
                raise NextRung([*self.failures, record]) from None
            raise self.failed(error, self.devices([*self.failures, record])) from None
        result["rung"] = name
        result["devices"] = self.devices(self.failures)
        result["devices"][device] = {"status": "measured", "total": result["counts"]["total"]}
        self.compare(result)
        result["notes"] = result["notes"] + REFUSALS + self.sliced_note()
        result.pop("signature")
        return result

    @staticmethod
    def devices(failures):
        first = {}
        for record in failures:
            first.setdefault(record["device"], {"status": "failed", "reason": record["reason"]})
        return first

    def sliced_note(self):
        part = SLICED.get(os.path.realpath(getattr(self.module, "__file__", None) or ""))
        if part is None:
            return []
        why = (
            "it failed as a whole: " + describe(part.failure) if part.failure else "it is a script"
        )
        return ["{} was read in part ({})".format(relative(part.path), why)]

    def failed(self, error, devices):
        call = self.text
        if isinstance(error, MemoryError):
            return Failure("NPL005", "{} ran out of memory".format(call), devices=devices)
        reason = "{} raised {}".format(call, describe(error))
        if isinstance(error, SystemExit):
            reason = "{} {}".format(call, describe(error))
        elif isinstance(error, NotTracked):
            reason = "{} needs what git does not have: {}".format(call, describe(error))
        hint = None
        if isinstance(error, AttributeError) and re.search(
            r"'_(modules|parameters)'|before Module\.__init__\(\) call", reason
        ):
            hint = "its constructor must call super().__init__() before it assigns anything"
        return Failure(
            "NPL004",
            reason + explain_name_error(error, self.module),
            hint=hint,
            source=line_of_error(error),
            devices=devices,
            notes=self.sliced_note(),
        )

    def build(self, context):
        """One build: (model, call). The call is made anew each time, because constructors change
        the config objects that they are given."""
        call = Call(self.job, self.module)
        self.text = call.text
        with context:
            try:
                model = call()
            finally:
                self.text = call.text
            model = only_module(self.torch, model, call.text)
            if self.job.get("input"):
                self.forward(model)
        return model, call

    def forward(self, model):
        """Run the declared input through the model, so that lazy parameters get their shapes."""
        names = Call(dict(self.job, call=self.job["input"]), self.module).namespace()
        names.setdefault("torch", self.torch)
        value = eval(compile(self.job["input"], "<nparam input>", "eval"), names)
        model.eval()
        with self.torch.no_grad():
            if isinstance(value, dict):
                model(**value)
            else:
                model(*(value if isinstance(value, tuple) else (value,)))

    def once(self, name):
        torch = self.torch
        for lines in self.sources.values():
            lines.clear()
        seed(torch, 0)
        READ["values"] = False
        before = random_state(torch)
        model, call = self.build(rung(self.mode, name))
        count = Count(torch, model, self.sources)
        if count.lazy:
            raise Failure(
                "NPL009",
                "{} has {} uninitialised lazy parameters: {}".format(
                    call.text, len(count.lazy), ", ".join(count.lazy[:4])
                ),
                hint='declare an input: {{ call = "{}", input = "torch.zeros(1, …)" }}'.format(
                    call.text
                ),
            )
        note_classes({type(module) for module in count.by_id.values()})
        result = count.result(self.job.get("parameters", False))
        for another in (1, 2, 3) if drew(before, random_state(torch)) else ():
            seed(torch, another)
            again, _ = self.build(rung(self.mode, name))
            other = Count(torch, again, self.sources).totals()[0]["total"]
            if other != result["counts"]["total"]:
                raise Failure(
                    "NPL004",
                    "{} has {:,} parameters in one build and {:,} in the next: its widths come "
                    "from random numbers".format(call.text, result["counts"]["total"], other),
                    hint="give the constructor fixed widths, or fix them in the call",
                )
        result["call"] = call.text
        result["signature"] = count.signature
        result["names"], result["known_names"] = resolve_names(
            self.job.get("names", ()), call.arguments, model
        )
        return result

    def compare(self, result):
        """Build again, for real, on each device that was asked for, and compare parameter by
        parameter with what was counted first."""
        wanted = self.job.get("device", "meta")
        if wanted == "cpu" and result["devices"].get("cpu", {}).get("status") != "measured":
            result["devices"]["cpu"] = self.on_device("cpu", result)
        elif wanted in ("auto", "cuda"):
            why = no_cuda(self.torch)
            if why is not None:
                result["devices"]["cuda"] = {"status": "skipped", "reason": why}
            else:
                result["devices"]["cuda:0"] = self.on_device("cuda:0", result)

    def on_device(self, device, result):
        torch = self.torch
        if device != "cpu":
            free, _ = torch.cuda.mem_get_info(0)
            need = result["counts"]["bytes"]
            if need > free * 0.95:
                reason = "needs {:,} bytes, {:,} are free".format(need, free)
                return {"status": "skipped", "reason": reason}
            torch.cuda.reset_peak_memory_stats(0)
            start = torch.cuda.memory_allocated(0)
        seed(torch, 0)
        try:
            model, _ = self.build(torch.device(device))
            if device != "cpu":
                with torch.device(device):
                    model = torch.nn.Module.to(model, device)
            count = Count(torch, model, {"parameters": {}, "modules": {}})
            other, signature = count.totals()[0]["total"], count.signature()
        except Exception as error:
            return {"status": "failed", "reason": describe(error)}
        answer = {"status": "measured", "total": other}
        if device != "cpu":
            answer["bytes"] = torch.cuda.memory_allocated(0) - start
        answer["differences"] = differences(result["signature"](), signature)
        return answer


def torch_hooks(torch, sources):
    """Remember the line that made each parameter and each module, with torch's own hooks."""
    from torch.nn.modules import module as registry

    def parameter_made(module, name, parameter):
        if parameter is not None and id(parameter) not in sources["parameters"]:
            sources["objects"].append(parameter)
            sources["parameters"][id(parameter)] = line_of(sys._getframe(1))

    def module_made(module, name, child):
        if child is not None and id(child) not in sources["modules"]:
            note_callers(sys._getframe(1))
            sources["objects"].append(child)
            sources["modules"][id(child)] = line_of(sys._getframe(1))

    return [
        registry.register_module_parameter_registration_hook(parameter_made),
        registry.register_module_module_registration_hook(module_made),
    ]


def only_module(torch, value, text):
    """The model that a call returned; factories often return it together with other things."""
    if isinstance(value, torch.nn.Module):
        return value
    items = list(value.values()) if isinstance(value, dict) else value
    if isinstance(items, (list, tuple)):
        modules = [v for v in items if isinstance(v, torch.nn.Module)]
        if len(modules) == 1:
            return modules[0]
    raise Failure("NPL004", "{} returned {}, not a model".format(text, type(value).__name__))


def seed(torch, value):
    random.seed(value)
    if "numpy.random" in sys.modules:  # to import it takes longer than many a build
        with contextlib.suppress(Exception):
            sys.modules["numpy.random"].seed(value)
    torch.default_generator.manual_seed(value)


def random_state(torch):
    """What changes when a constructor draws random numbers."""
    numpy = None
    if "numpy.random" in sys.modules:
        with contextlib.suppress(Exception):
            state = sys.modules["numpy.random"].get_state()
            numpy = (bytes(state[1].data), state[2])
    drawn = bytes(torch.default_generator.get_state().tolist())
    return random.getstate(), numpy, drawn


def drew(before, after):
    """Whether a build may have taken a width from a random number: one of Python's or numpy's, or
    one of torch's, if it read any value at all."""
    return before[:2] != after[:2] or (before[2] != after[2] and READ["values"])


def no_cuda(torch):
    if not torch.backends.cuda.is_built():
        return "this torch is built without CUDA"
    if not torch.cuda.is_available():
        return "no CUDA device"
    return None


def differences(first, second):
    """Texts for the parameters whose name, shape or dtype is not the same in both builds."""
    one, two = {p[0]: p[1:] for p in first}, {p[0]: p[1:] for p in second}
    texts = []
    for name in list(one) + [n for n in two if n not in one]:
        if one.get(name) != two.get(name):
            here, there = (
                "{} {}".format(list(p[name][0]), p[name][1]) if name in p else "absent"
                for p in (one, two)
            )
            texts.append("{}: {}, then {}".format(name, here, there))
    return texts[:20]


# ---------------------------------------------------------------------------------------------
# Processes


class Channel:
    """Frames to the process above; whole lines, so that frames of several children never mix."""

    def __init__(self, descriptor, nonce):
        self.descriptor, self.nonce, self.pid = descriptor, nonce, os.getpid()

    def send(self, body=None, **frame):
        """`body`: a result as JSON, in bytes."""
        if os.getpid() != self.pid:  # forked by a constructor, and come back from it
            os._exit(0)
        # The leading line break ends whatever a start-up file may have printed without one.
        data = "\n{} {}".format(self.nonce, json.dumps(frame)).encode()
        self.write(data + (b"\n" if body is None else BODY + body + b"\n"))

    def send_result(self, number, result, reads=None, **frame):
        """The result of a job: what the processes above have to know of it, then all of it, and
        what it depends on (None: nobody knows)."""
        result = dict(result)
        for name in ("next_attempt", "not_tracked"):
            if result.pop(name, False):
                frame[name] = True
        frame.update(event="result", id=number, ok=result["ok"], code=result.get("code"))
        parts = (json.dumps(result), json.dumps(reads))
        self.send(BODY.join(part.encode() for part in parts), **frame)

    def send_record(self, **frame):
        """What this process has read since it last said so, unless that is nothing."""
        news = RECORD.news()
        if news is None or any(news.values()):
            self.send(json.dumps(news).encode(), event="reads", **frame)

    def write(self, data):
        view = memoryview(data)
        while view:
            view = view[os.write(self.descriptor, view) :]


class Child:
    """A process that does one task, its frames, and the end of what it printed."""

    def __init__(self, task, pid, channel, output, process=None):
        self.task, self.pid, self.process = task, pid, process
        self.channel, self.output = channel, output
        self.buffer, self.tail = b"", b""
        self.open = {channel, output}
        self.finished = False
        self.killed = None
        self.status = None
        self.gone = False
        self.closed_at = None
        self.deadline = time.monotonic() + task.limit

    def frames(self, data, nonce):
        self.buffer += data
        *lines, self.buffer = self.buffer.split(b"\n")
        for line in lines:
            if line.startswith(nonce):
                head, mark, body = line[len(nonce) + 1 :].partition(BODY)
                yield json.loads(head), body if mark else None

    def kill(self, why):
        """End the process, unless it has ended, and whatever it forked; `why`: its obituary."""
        if not self.exited():
            self.killed = self.killed or why
        if self.process is not None and os.name != "posix":
            self.process.kill()
            return
        with contextlib.suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)
        if self.status is None:  # it may not have made its own process group yet
            with contextlib.suppress(OSError):
                os.kill(self.pid, signal.SIGKILL)

    def exited(self):
        """Whether the process is gone (something that it forked may still hold its pipes)."""
        if self.status is None and self.process is not None:
            self.status = self.process.poll()
        elif self.status is None:
            pid, raw = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = -os.WTERMSIG(raw) if os.WIFSIGNALED(raw) else os.WEXITSTATUS(raw)
        return self.status is not None

    def wait(self):
        """How the process ended, in words; None for an orderly end."""
        while not self.exited():
            time.sleep(0.001)
        status = self.status
        if self.killed:
            return self.killed
        if self.finished:
            return None
        if status < 0:
            try:
                name = signal.Signals(-status).name
            except ValueError:
                name = "signal {}".format(-status)
            return "was killed by {}".format(name)
        return "ended with exit status {} before it was counted".format(status)


class SelectPoller:
    """Reads from several pipes at once, without threads (a process with threads must not fork)."""

    def __init__(self):
        import selectors

        self.selector = selectors.DefaultSelector()
        self.read_event = selectors.EVENT_READ

    def add(self, descriptor, key):
        self.selector.register(descriptor, self.read_event, key)

    def remove(self, descriptor):
        self.selector.unregister(descriptor)
        os.close(descriptor)

    def poll(self, timeout):
        ready = [key for key, _ in self.selector.select(timeout)]
        # A frame that says what begins is heard before what is printed from then on.
        for key in sorted(ready, key=lambda key: key.data is not None and not key.data[2]):
            data = os.read(key.fd, 1 << 16)
            if not data and key.data is not None:
                self.remove(key.fd)
            yield key.data, data

    def close(self):
        self.selector.close()


class ThreadPoller:
    """The same with a thread for each pipe, for systems whose pipes cannot be selected on."""

    def __init__(self):
        import queue

        self.queue, self.empty = queue.Queue(), queue.Empty

    def add(self, descriptor, key):
        def read():
            while True:
                try:
                    data = os.read(descriptor, 1 << 16)
                except OSError:
                    data = b""
                self.queue.put((key, data))
                if not data:
                    return

        threading.Thread(target=read, daemon=True).start()

    def remove(self, descriptor):
        """Nothing: its thread ends with the pipe, whose last writer has been killed."""

    def poll(self, timeout):
        try:
            yield self.queue.get(timeout=timeout)
            while True:
                yield self.queue.get_nowait()
        except self.empty:
            return

    def close(self):
        pass


def supervise(tasks, settings, on_frame, on_death, alive=None, heartbeat=None):
    """Run `tasks`, at most `settings["jobs"]` at a time, each in a process of its own.

    A task has `limit` (seconds without a frame) and `start()` → Child. `on_frame(task, frame,
    body)` gets what it sends, and may return tasks to follow. `on_death(task, why, tail)` is told
    of one that ended otherwise than by its "done" frame, and returns tasks to run in its place.
    `alive`: a descriptor whose end means that nobody waits for the answers any more.
    `heartbeat()` is called every few seconds.
    """
    waiting = collections.deque(tasks)
    poller = SelectPoller() if CAN_FORK else ThreadPoller()
    nonce = settings["nonce"].encode()
    running = {}
    beat = time.monotonic()
    if alive is not None:
        poller.add(alive, None)
    try:
        while waiting or running:
            while waiting and len(running) < settings["jobs"]:
                child = waiting.popleft().start()
                running[id(child)] = child
                poller.add(child.channel, (child, child.channel, True))
                poller.add(child.output, (child, child.output, False))
            heard = set()
            if heartbeat and time.monotonic() > beat:
                beat = time.monotonic() + HEARTBEAT
                heartbeat()
            closing = any(child.closed_at for child in running.values())
            for key, data in poller.poll(0.005 if closing else 0.1):
                if key is None:
                    if not data:  # the front end is gone
                        for child in running.values():
                            child.kill("stopped")
                        reap_strays({})
                        os._exit(3)
                    continue
                child, descriptor, _ = key
                heard.add(child)
                if not data:
                    child.open.discard(descriptor)
                elif descriptor == child.output:
                    child.tail = (child.tail + data)[-TAIL:]
                else:
                    for frame, body in child.frames(data, nonce):
                        child.deadline = time.monotonic() + frame.get("limit", child.task.limit)
                        if frame["event"] == "done":
                            child.finished = True
                            continue
                        if frame["event"] == "building":
                            child.tail = b""  # what was printed before is not about this job
                        waiting.extendleft(on_frame(child.task, frame, body) or [])
            for child in list(running.values()):
                if time.monotonic() > child.deadline and not child.finished:
                    child.kill("did not finish within {:g} s".format(settings["timeout"]))
                elif resident(child.pid) > settings["memory"] > 0:
                    child.kill(
                        "used more than the {:,} MB of memory that it may".format(
                            settings["memory"] >> 20
                        )
                    )
                # Its own end of the channel counts; a grandchild may hold the output open for ever.
                if child.channel not in child.open and child.closed_at is None:
                    child.closed_at = time.monotonic()
                # A process that ends closes it too: its exit status says more.
                closed = child.closed_at is not None and time.monotonic() > child.closed_at + 1
                if child.finished or child.killed or closed or (child.gone and child not in heard):
                    del running[id(child)]
                    for descriptor in child.open:
                        poller.remove(descriptor)
                    child.kill("closed the channel that it answers on" if closed else None)
                    why = child.wait()
                    tail = child.tail.decode("utf-8", "replace")
                    reap_strays(running)
                    if why is not None and not child.finished:
                        waiting.extendleft(reversed(on_death(child.task, why, tail) or []))
                else:
                    child.gone = child.exited()  # what it still had to say is heard first
    finally:
        for child in running.values():
            child.kill("stopped")
        poller.close()


def reap_strays(running):
    """Kill what user code left behind: orphans come to us, because we asked to be their reaper."""
    if not sys.platform.startswith("linux"):
        return
    known = {child.pid for child in running.values()}
    for _ in range(100):
        try:
            with io.open("/proc/self/task/{}/children".format(os.getpid())) as file:
                strays = [int(p) for p in file.read().split() if int(p) not in known]
        except OSError:
            return
        if not strays:
            return
        for pid in strays:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


DIE_WITH_PARENT, ADOPT_ORPHANS = 1, 36  # PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER


def prctl(option, value):
    """Ask Linux for one of the above; other systems do without."""
    if sys.platform.startswith("linux"):
        with contextlib.suppress(Exception):
            import ctypes

            ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def fork_child(task, body, nonce):
    """Fork; in the child, `body(channel)` runs with its output caught, then the process ends
    without any clean-up that user code could have registered."""
    channel_read, channel_write = os.pipe()
    output_read, output_write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(channel_write)
        os.close(output_write)
        return Child(task, pid, channel_read, output_read)
    status = 1
    try:
        os.setsid()
        prctl(DIE_WITH_PARENT, 9)
        os.close(channel_read)
        os.close(output_read)
        os.dup2(output_write, 1)
        os.dup2(output_write, 2)
        os.close(output_write)
        channel = Channel(channel_write, nonce)
        body(channel)
        channel.send(event="done")
        status = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


COLD = 300  # modules that a build imports when it is the first to compute on meta
PLENTY = 4  # models that wait for each process, so that one may be given another ahead of time
GROWTH = 1 << 28  # bytes that a process may grow by until another one goes on in its place


def resident(pid="self"):
    """Bytes of memory that a process takes, where the system tells; 0 elsewhere."""
    try:
        with io.open("/proc/{}/statm".format(pid)) as file:
            return int(file.read().split()[1]) * 4096
    except (OSError, ValueError, IndexError):
        return 0


class Held:
    """What the modules of the project hold: their names, and all containers, classes and objects
    that these lead to, as they are now. A constructor that changes any of it (a counter, a shared
    config, a default argument) must not be followed by another model in the same process."""

    # Python itself writes these when somebody looks.
    LATE = frozenset(("__annotations__", "__annotations_cache__", "__doc__"))

    def __init__(self, torch, lenient=False):
        self.lenient = lenient
        self.names = set()
        plain = (type(None), bool, int, float, complex, str, bytes, range, types.CodeType)
        plain += (types.ModuleType, types.BuiltinFunctionType, re.Pattern, logging.Logger)
        self.plain = (*plain, torch.Tensor, torch.dtype, torch.device, threading.Thread)
        self.found = []  # (what holds something, how to read it, what it held, whose it is)
        # What compares by what it holds, what it held, whose it is: all compared at once.
        self.holders, self.helds, self.owners = [], [], []
        self.opaque = False  # whether something has a state that cannot be seen
        self.seen = set()

    def add(self, owner, module):
        """What a module holds, unless another one holds it too."""
        self.owner = owner
        self.names.add(module.__name__)
        self.note(vars(module))
        self.todo = [v for k, v in vars(module).items() if not k.startswith("__")]
        while self.todo:
            value = self.todo.pop()
            if not isinstance(value, self.plain) and id(value) not in self.seen:
                self.seen.add(id(value))
                try:
                    self.look(value)
                except Exception:  # its class has its own idea of an attribute, or of a copy
                    self.opaque = True

    def note(self, holder, held=None):
        self.holders.append(holder)
        self.helds.append(dict(holder) if held is None else held)
        self.owners.append(self.owner)

    def keep(self, holder, read):
        self.found.append((holder, read, read(holder), self.owner))

    def look(self, value):
        if isinstance(value, type):
            if value.__module__ in self.names:
                self.note(vars(value))
                self.todo += vars(value).values()
            else:  # perhaps that of a module that is still to be added
                self.seen.discard(id(value))
        elif isinstance(value, types.FunctionType):
            self.look_at_function(value)
        elif isinstance(value, (classmethod, staticmethod, types.MethodType)):
            self.todo.append(value.__func__)
        elif isinstance(value, property):
            self.todo += [value.fget, value.fset]
        elif isinstance(value, dict):  # what it really has: transformers has lazy ones
            self.note(value, dict.copy(value))
            self.todo += dict.values(value)
        elif isinstance(value, list):
            self.note(value, list.copy(value))
            self.todo += list.copy(value)
        elif isinstance(value, (collections.deque, bytearray, set)):
            self.keep(value, list)
            self.todo += value
        elif isinstance(value, (tuple, frozenset)):
            self.todo += value
        elif hasattr(type(value), "cache_info"):
            self.keep(value, lambda function: function.cache_info().currsize)
            self.todo.append(getattr(value, "__wrapped__", None))
        elif self.is_opaque(type(value)):
            self.opaque = True
        else:
            self.look_at_instance(value)

    @staticmethod
    def is_opaque(kind):
        """Iterators and generators of random numbers do not show where they are."""
        random_numbers = issubclass(kind, random.Random) or "numpy.random" in kind.__module__
        return hasattr(kind, "__next__") or random_numbers or kind.__name__ == "Generator"

    def look_at_function(self, function):
        if function.__module__ not in self.names:
            self.seen.discard(id(function))
            return
        for held in (function.__kwdefaults__, function.__dict__):
            if held is not None:
                self.note(held)
                self.todo += held.values()
        self.todo += function.__defaults__ or ()
        for cell in function.__closure__ or ():
            with contextlib.suppress(ValueError):  # it is empty
                self.keep(cell, lambda cell: [cell.cell_contents])
                self.todo.append(cell.cell_contents)

    def look_at_instance(self, value):
        held = getattr(value, "__dict__", None)
        if isinstance(held, dict):
            self.note(held)
            self.todo += held.values()
        kinds = [kind for kind in type(value).__mro__ if "__slots__" in vars(kind)]
        names = [n for kind in kinds for n in vars(kind)["__slots__"] if n not in ("__dict__",)]
        if names and type(value).__module__ in self.names:
            self.keep(value, lambda value: [getattr(value, name, None) for name in names])
            self.todo += [getattr(value, name, None) for name in names]

    def changed(self):
        if self.opaque:
            return True
        try:
            return any(read(holder) != held for holder, read, held, _ in self.found) or (
                self.holders != self.helds and any(map(self.differs, self.holders, self.helds))
            )
        except Exception:  # whatever cannot be compared
            return True

    def changed_by_others(self):
        """The owners of what is not as it was; from now on it is to be as it is."""
        owners = set()
        same = False
        with contextlib.suppress(Exception):
            same = self.holders == self.helds
        for number, holder in enumerate(() if same else self.holders):
            held, changed = self.helds[number], True
            with contextlib.suppress(Exception):
                if holder == held:
                    continue
                changed = self.differs(holder, held)
            if changed:
                owners.add(self.owners[number])
            self.helds[number] = type(held)(holder)
        for number, (holder, read, held, owner) in enumerate(self.found):
            with contextlib.suppress(Exception):
                now = read(holder)
                if now == held:
                    continue
                self.found[number] = holder, read, now, owner
            owners.add(owner)
        return owners

    def differs(self, now, held):
        if now == held:  # what is the very same is not looked into
            return False
        if isinstance(now, list):
            return True
        keys = (now.keys() | held.keys()) - self.LATE
        changed = [key for key in keys if now.get(key, held) is not held.get(key, now)]
        if self.lenient:  # a package gets its submodules as they are imported
            return any(k in held or not isinstance(now[k], types.ModuleType) for k in changed)
        return bool(changed)


class Surroundings:
    """What project code may change for all that comes after it in the same process: torch's
    functions and classes and its default dtype; and, where `modules` of the project are given, the
    interpreter's own state and all that these modules hold."""

    def __init__(self, torch, modules=None):
        self.torch, self.process = torch, modules is not None
        nn = torch.nn
        classes = [v for v in vars(nn).values() if isinstance(v, type)]
        self.namespaces = [torch, torch.Tensor, nn, nn.functional, nn.init, *classes]
        self.functions = [
            {k: v for k, v in vars(space).items() if callable(v)} for space in self.namespaces
        ]
        self.whole = [dict(vars(space)) for space in self.namespaces]
        self.modules = dict(sys.modules)
        self.held = None
        if self.process:
            self.held = Held(torch)
            for module in modules:
                self.held.add("", module)
        self.size = resident()
        self.state = self.look()

    def look(self):
        torch = self.torch
        state = [torch.get_default_dtype()]
        if hasattr(torch, "get_default_device"):
            state.append(torch.get_default_device())
        if self.process:
            state += [os.getcwd(), list(sys.path), list(sys.meta_path), dict(os.environ)]
            state.append(threading.active_count())
        return state

    @staticmethod
    def replaced(name, module):
        """Whether another module has the name; transformers replaces itself by itself."""
        now = sys.modules.get(name)
        if now is module:
            return False
        file = getattr(module, "__file__", None)
        return file is None or getattr(now, "__file__", None) != file

    def changed(self):
        for place, (space, before) in enumerate(zip(self.namespaces, self.functions)):
            now = vars(space)
            if now == self.whole[place]:  # what is the very same is not looked into
                continue
            self.whole[place] = dict(now)
            new = [now.get(name) for name, value in before.items() if now.get(name) is not value]
            # torch replaces some of its own when it imports dynamo.
            if any(not str(getattr(value, "__module__", "")).startswith("torch") for value in new):
                return True
        if self.look() != self.state:
            return True
        if not self.process:
            return False
        if not self.modules.items() <= sys.modules.items():
            if any(self.replaced(name, module) for name, module in self.modules.items()):
                return True
            self.modules = dict(sys.modules)
        return resident() > self.size + GROWTH or self.held.changed()


class BuilderTask:
    """A process forked from a group, which builds models one after the other: as long as none of
    them fails, or changes what the next one would start from."""

    def __init__(self, group):
        self.group = group
        self.limit = group.settings["timeout"]
        self.given = collections.deque()  # what it was told to build and has not answered for
        self.building = None  # the id of the job that it has begun

    def start(self):
        self.group.warm_up()
        orders, self.orders = os.pipe()
        child = fork_child(self, lambda channel: self.run(channel, orders), self.group.nonce)
        os.close(orders)
        self.feed()
        return child

    def run(self, channel, orders):
        os.close(self.orders)
        with io.open(orders, "rb") as lines:
            self.group.build(channel, map(json.loads, lines))

    def feed(self):
        """Tell it what to build next, ahead of time as long as others have enough to do."""
        waiting = self.group.waiting
        while waiting and len(self.given) < (2 if len(waiting) > PLENTY * self.group.width else 1):
            self.given.append(waiting.popleft())
            self.tell(self.given[-1])
        if not self.given:
            self.tell(None)

    def tell(self, order):
        with contextlib.suppress(OSError):  # it has died: its death is told elsewhere
            os.write(self.orders, json.dumps(order).encode() + b"\n")

    def ended(self):
        """Give back what it was told and did not do; a task to do it, where there is any."""
        os.close(self.orders)
        self.group.waiting.extendleft(reversed(self.given))
        self.given.clear()
        return [BuilderTask(self.group)] if self.group.waiting else []


class GroupTask:
    """The jobs that share an import path, in one process that imports their modules. `files`: how
    to treat those that have killed a process; `splits`: how often it was split already."""

    def __init__(self, jobs, settings, torch, files, splits=0, width=1):
        self.jobs, self.settings, self.torch = jobs, settings, torch
        self.files, self.splits = files, splits
        self.width = width  # models that it builds at a time
        self.nonce = settings["nonce"]
        self.jobs_by_id = {job["id"]: job for job in jobs}
        self.waiting = collections.deque()  # [job's id, failures], not yet given to a builder
        self.cold = False  # whether a build had to import what the next will need too
        self.limit = settings["timeout"] if CAN_FORK else START_LIMIT
        self.importing = None  # the job whose module is being imported, as its frames tell
        self.running = None  # the file that is being run for that
        self.building = {}  # id -> job, of those being built
        self.spoiler = None  # the job whose module changed torch itself
        self.spoiled = False
        self.answered = set()

    def start(self):
        if CAN_FORK:
            return fork_child(self, self.run, self.settings["nonce"])
        process = subprocess.Popen(
            [sys.executable, *_flags(), os.path.abspath(__file__), "--group"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=os.name == "posix",
        )
        request = {
            "jobs": self.jobs,
            "settings": self.settings,
            "files": self.files,
            "splits": self.splits,
        }
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.close()
        return Child(self, process.pid, process.stdout.fileno(), process.stderr.fileno(), process)

    def run(self, channel):
        global TOLERANT
        TOLERANT = self.jobs[0]["tolerant"]
        self.up = channel
        SUSPECTS.update(self.files["suspects"])
        BARRED.update(self.files["barred"])
        timeout = self.settings["timeout"]
        prctl(ADOPT_ORPHANS, 1)
        self.mode = make_mode(self.torch)
        self.modules = {}
        set_import_path(self.jobs[0]["roots"])
        os.chdir(ROOT)
        os.environ["PWD"] = ROOT
        install_record(self.torch)
        sys.addaudithook(guard)
        GUARDED.append(True)
        ANNOUNCE.append(lambda path: channel.send(event="running", path=path, limit=timeout))
        ready = self.import_all()
        channel.send_record(limit=timeout)
        limit = timeout + GRACE
        channel.send(event="imported", limit=limit)
        gc.disable()
        gc.freeze()
        orders = [[job["id"], job.get("failures", ())] for job in ready]
        if not CAN_FORK:
            if self.build(channel, orders):
                os._exit(0)
            return
        self.waiting = collections.deque(orders)
        supervise(
            [BuilderTask(self) for _ in range(min(self.width, len(ready)))],
            dict(self.settings, jobs=self.width),
            self.on_frame,
            self.on_death,
        )

    def import_all(self):
        """The jobs whose modules could be imported. A file that changes torch itself would change
        the counts of all others: the group ends and is split."""
        timeout = self.settings["timeout"]
        around = Surroundings(self.torch)
        several = len({job["module"] for job in self.jobs}) > 1
        ready = []
        for job in self.jobs:
            self.up.send(event="importing", id=job["id"], limit=timeout)
            set_arguments(job)
            try:
                if job["module"] not in self.modules:
                    self.modules[job["module"]] = import_target(job)
                    load_lazily(self.modules[job["module"]], job["callable"])
            except Failure as failure:
                self.up.send_result(job["id"], failure.result, limit=timeout)
            else:
                ready.append(job)
            if several and self.splits < SPLITS and around.changed():
                self.up.send_record(limit=timeout)
                self.up.send(event="spoils", id=job["id"])
                os._exit(0)
        ANNOUNCE.clear()
        return ready

    def build(self, channel, orders):
        """Build what `orders` tell, [job's id, failures on the rungs before], until None or until
        one changes the process for those that come after; returns whether one did."""
        own = project_modules()
        self.traced = bool(own)  # only lines of the project are told
        around = Surroundings(self.torch, own)
        timeout = self.settings["timeout"]
        for order in orders:
            if order is None:
                break
            number, failures = order
            # While it builds by itself its limit is that of the model; else others watch over it.
            channel.send(event="building", id=number, limit=timeout)
            if CAN_FORK:  # so that the obituary of one that never returns names a line
                faulthandler.dump_traceback_later(0.9 * timeout)
            before = len(sys.modules)
            ok = False
            RECORD.job = Reads()
            set_arguments(self.jobs_by_id[number])
            try:
                result = self.measure(self.jobs_by_id[number], failures)
            except NextRung as more:
                channel.send(event="next rung", id=number, limit=timeout, failures=more.failures)
            else:
                ok = result["ok"]
                warm = len(sys.modules) - before > COLD
                channel.send_record(limit=timeout)
                reads = job_reads(self.jobs_by_id[number])
                channel.send_result(number, result, reads, limit=timeout, warm=warm)
                del result
            # A constructor that failed half way may have changed anything.
            if not ok or around.changed():
                channel.send(event="spoiled")
                return True
        return False

    def on_frame(self, task, frame, body):
        """What a builder says. Where a build had to import what torch computes with on meta (some
        800 modules, a second or more), the group does so once, before it forks again."""
        limit = self.settings["timeout"] + GRACE
        event = frame["event"]
        if event == "building":
            task.building = frame["id"]
            self.up.send(event="building", id=frame["id"], limit=limit)
        elif event == "result":
            self.cold = self.cold or frame.pop("warm")
            self.up.send(body, **dict(frame, limit=limit))
            task.given.popleft()
            task.feed()
        elif event == "reads":
            self.up.send(body, event="reads", limit=limit)
        elif event == "next rung":
            self.up.send(event="alive", limit=limit)
            task.given.popleft()
            task.given.appendleft([frame["id"], frame["failures"]])
        elif event == "spoiled":
            return task.ended()
        return []

    def on_death(self, task, why, tail):
        """The job at hand is at fault; one that had not begun gets another chance, once."""
        if task.given:
            job = self.jobs_by_id[task.given[0][0]]
            if task.building == job["id"] or job.get("spared"):
                task.given.popleft()
                limit = self.settings["timeout"] + GRACE
                self.up.send_result(job["id"], died(job, why, tail), limit=limit)
            job["spared"] = True
        return task.ended()

    def warm_up(self):
        """Import what a build on meta had to import, for those that are still to be forked."""
        if self.cold:
            self.cold = False
            with contextlib.suppress(Exception):
                self.torch.ones(1, device="meta") + 1
            gc.freeze()

    def measure(self, job, failures):
        REFUSALS.clear()
        module = self.modules[job["module"]]
        try:
            return Job(job, module, self.torch, self.mode, failures, self.traced).run()
        except Failure as failure:
            return dict(failure.result, notes=failure.result.get("notes") or list(REFUSALS))


def last_words(tail):
    """The last lines of an output; of a crash, the first ones that faulthandler printed."""
    crash = re.search(r"^(Fatal Python error|Windows fatal exception)", tail, re.MULTILINE)
    lines = without_copy(tail[crash.start() :] if crash else tail).strip().splitlines()
    return "\n".join(lines[:6] if crash else lines[-6:])


def died(job, why, tail):
    """The result of a job whose process ended without one."""
    source = None
    for path, line in re.findall(r'File "([^"]+)", line (\d+)', tail):
        if is_project(path):
            source = "{}:{}".format(relative(path), line)
            break
    return {
        "ok": False,
        "code": "NPL005",
        "reason": "the process that built {} {}".format(job["label"], why),
        "source": source,
        "output": last_words(tail),
    }


def _flags():
    return [f for f in ("-I",) if sys.flags.isolated] + ["-X", "faulthandler"]


class Server:
    """Hands the jobs to groups, follows up on what becomes of them, and passes the results on."""

    def __init__(self, request, channel, torch):
        self.settings = request["settings"]
        self.jobs = {job["id"]: job for job in request["jobs"]}
        for job in request["jobs"]:
            job.update(attempt=0, tolerant=False)
        self.channel, self.torch = channel, torch
        self.files = {"suspects": [], "barred": {}}
        self.first_failure = {}
        self.answered = set()

    def tasks(self, jobs):
        groups = collections.OrderedDict()
        for job in jobs:
            attempt = job["attempts"][job["attempt"]]
            job["module"], job["roots"] = attempt["module"], attempt["roots"]
            alone = job["id"] if "failures" in job else None
            groups.setdefault((alone, job["tolerant"], *attempt["roots"]), []).append(job)
        width = max(1, self.settings["jobs"] // len(groups))
        return [self.group(g, width=width) for g in groups.values()]

    def group(self, jobs, splits=0, width=1):
        return GroupTask(jobs, self.settings, self.torch, self.files, splits, width)

    def run(self, alive):
        todo = list(self.jobs.values())
        while todo:
            self.retry = []
            supervise(
                self.tasks(todo),
                self.settings,
                self.on_frame,
                self.on_death,
                alive,
                lambda: self.channel.send(event="alive"),
            )
            todo = self.retry
        self.channel.send(event="end", jobs=len(self.answered))

    def on_frame(self, task, frame, body):
        job = self.jobs.get(frame.get("id"))
        if frame["event"] == "importing":
            task.importing = job
        elif frame["event"] == "running":
            task.running = frame["path"]
        elif frame["event"] == "spoils":
            task.spoiler = job
        elif frame["event"] == "spoiled":
            task.spoiled = True
        elif frame["event"] == "imported":
            task.importing = None
        elif frame["event"] == "building":
            task.building[job["id"]] = job
        elif frame["event"] == "reads":
            self.channel.send(body, event="reads")
        elif frame["event"] == "result":
            task.building.pop(job["id"], None)
            task.answered.add(job["id"])
            self.answer(job, frame, body)
        elif frame["event"] == "next rung":  # in a process of its own: see JobTask
            task.building.pop(job["id"], None)
            task.answered.add(job["id"])
            job["failures"] = frame["failures"]
            self.retry.append(job)

    def answer(self, job, frame, body):
        """Pass a result on; or, when the import failed, try the next way to import: every path
        strictly, then every path without the imports that fail, unless git lacks what they need."""
        if frame.get("not_tracked"):
            job["needed"] = True
            self.first_failure[job["id"]] = frame, body
        if frame.get("next_attempt"):
            self.first_failure.setdefault(job["id"], (frame, body))
            job["attempt"] += 1
            tolerable = not job["tolerant"] and not job.get("needed")
            if job["attempt"] == len(job["attempts"]) and tolerable:
                job["attempt"], job["tolerant"] = 0, True
            if job["attempt"] < len(job["attempts"]):
                self.retry.append(job)
                return
        if frame.get("code") == "NPL003":
            frame, body = self.first_failure.get(job["id"], (frame, body))
        if job["id"] not in self.answered:
            self.answered.add(job["id"])
            # A first attempt that failed read things too; a file that hung may hang no more.
            retried = job["attempt"] > 0 or job["tolerant"] or frame.get("code") == "NPL003"
            kept = not self.files["suspects"] and not self.files["barred"]
            frame = {"id": job["id"], "ok": frame["ok"], "retried": retried, "kept": kept}
            self.channel.send(body, event="result", **frame)

    def at_fault(self, job, why, tail, what=None):
        """Answer for a job whose process died; `what` it did, where it was not building."""
        result = died(job, why, tail)
        if what:
            result["reason"] = "the process that {} {}".format(what, why)
        frame = {"ok": False, "code": result["code"]}
        self.answer(job, frame, json.dumps(result).encode() + BODY + b"null")

    def on_death(self, task, why, tail):
        """A group died: because it was spoiled for what came next; while importing (the file is at
        fault: try again, reading it in part, then without it); or, where it builds by itself,
        while building."""
        left = [j for j in task.jobs if j["id"] not in task.answered]
        if not left:
            return []
        if task.spoiled:
            return [self.group(left, task.splits, task.width)]
        if task.spoiler:
            name = task.spoiler["module"]
            own = [j for j in left if j["module"] == name]
            rest = [j for j in left if j["module"] != name]
            return [self.group(part, task.splits + 1, task.width) for part in (own, rest) if part]
        path, suspects = task.running, self.files["suspects"]
        if task.importing and path and path not in suspects:
            suspects.append(path)
            return [self.group(left, task.splits, task.width)]
        if task.importing:
            name = task.importing["module"]
            guilty = [j for j in left if j["module"] == name]
            if path and path not in self.files["barred"]:
                self.files["barred"][path] = why
                guilty = [j for j in left if j["file"] and os.path.join(ROOT, j["file"]) == path]
            elif not guilty:  # it died between two imports
                guilty = left
            for job in guilty:
                self.at_fault(job, why, tail, "imported {}".format(job["file"] or job["module"]))
        elif len(task.building) > 1:  # one of them killed it: the next group builds one at a time
            return [self.group(left, task.splits)]
        else:
            guilty = list(task.building.values()) or left
            for job in guilty:
                self.at_fault(job, why, tail)
        rest = [j for j in left if j not in guilty]
        return [self.group(rest, task.splits, task.width)] if rest else []


def set_places(settings):
    global NAMES, ROOT, TEMPORARY, VIRTUAL, COPY, ORIGINAL, LINKED, UNTRACKED
    NAMES = frozenset(settings["names"])
    ROOT = os.path.realpath(settings["root"])
    TEMPORARY = os.path.realpath(settings["temporary"])
    tempfile.tempdir = TEMPORARY
    prefixes = {os.path.realpath(sys.prefix), os.path.realpath(sys.base_prefix)}
    if settings["snapshot"]:
        places = settings["snapshot"]
        COPY, ORIGINAL = os.path.realpath(places["copy"]), os.path.realpath(places["original"])
        links = [os.path.join(ORIGINAL, path) for path in places["linked"]]
        LINKED = tuple(path + os.sep if os.path.isdir(path) else path for path in links)
        UNTRACKED = tuple(places["untracked"])
    below = (ROOT + os.sep, ORIGINAL + os.sep) if ORIGINAL else (ROOT + os.sep,)
    VIRTUAL = tuple(p + os.sep for p in prefixes if (p + os.sep).startswith(below))


def take_standard_streams():
    """(descriptor of the orders, of the channel): the streams of this process are taken for
    ourselves; user code gets an empty input and an output that is not the channel."""
    orders, channel = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    return orders, channel


def read_request(orders):
    """What to do, as the front end writes it; None when it went away without a word."""
    line = b""
    while not line.endswith(b"\n"):
        data = os.read(orders, 1 << 16)
        if not data:
            return None
        line += data
    return json.loads(line)


def guard_writer(torch):
    """torch.save writes with C++, which the audit hook does not see."""
    writer = torch._C.PyTorchFileWriter

    def guarded(target, *args, **kwargs):
        if GUARDED and isinstance(target, (str, bytes)) and not _may_write(target):
            _refuse("to write {!r}".format(os.fsdecode(target)))
        return writer(target, *args, **kwargs)

    torch._C.PyTorchFileWriter = guarded


def import_torch():
    # transformers, timm and others print advice at import; warnings of theirs help nobody here.
    import warnings

    warnings.simplefilter("ignore")
    # Each process builds on one core, several at a time. Threads would also make forking unsafe.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    import torch

    patch_initialisers(torch)
    guard_writer(torch)
    return torch


def main():
    orders, descriptor = take_standard_streams()
    # The directory of this file is ours, not a place for the project to import from.
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in sys.path if os.path.abspath(p) != here]
    faulthandler.enable()
    failure = torch = None
    if "--group" in sys.argv:
        prctl(DIE_WITH_PARENT, 9)
    else:
        # Not DIE_WITH_PARENT: the end of our orders tells us, and then there is cleaning to do.
        prctl(ADOPT_ORPHANS, 1)
    sites = installation()
    try:  # before we know what to do: the front end may still be reading
        torch = import_torch()
    except BaseException as error:
        failure = error
    request = read_request(orders)
    if request is None:
        os._exit(0)
    settings = request["settings"]
    channel = Channel(descriptor, settings["nonce"])
    set_places(settings)
    install_loader()
    relax_argparse()
    if failure is not None:
        channel.send(event="no torch", reason=describe(failure), python=sys.executable)
        os._exit(0)
    if "--group" in sys.argv:
        task = GroupTask(request["jobs"], settings, torch, request["files"], request["splits"])
        task.run(channel)
        channel.send(event="done")
        os._exit(0)
    channel.send(
        event="ready",
        protocol=PROTOCOL,
        torch=str(torch.__version__),
        python=sys.executable,
        version=".".join(map(str, sys.version_info[:3])),
        cuda=no_cuda(torch) is None if request.get("probe") else None,
        sites={path: state for path, state in sites.items() if not is_within(path)},
    )
    gc.freeze()
    Server(request, channel, torch).run(orders)
    os._exit(0)  # nothing is left to clean up; to take torch down takes longer than many a build


if __name__ == "__main__":
    main()
