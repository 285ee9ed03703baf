"""Where in the project, in the environment or in a copy something lies.

What is set late (`set_places`, `set_libraries`) is read as `places.ROOT`, never bound by its name.
"""

from __future__ import annotations

import os
import sys
import tempfile

ROOT = ""  # the project's directory, absolute, real path
NAMES = frozenset()  # names of all files and directories of the project that can be imported
TEMPORARY = ""  # the one place where writing is allowed
VIRTUAL = ()  # environments below ROOT or ORIGINAL, and ourselves: not the project's code
# Where ROOT lies in a copy of what git has: the top of the copy, that of the working tree that it
# is a copy of, what in the copy is a link into it, and the files that git has nothing of.
COPY, ORIGINAL, LINKED, UNTRACKED = "", "", (), ()
OWN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")  # ourselves
LAUNCHER = OWN + "launch.py"
OUTSIDE = ()  # where packages are installed
LIBRARY, TORCH = "", ""  # where the standard library and torch are: their versions tell enough


def set_places(settings):
    global NAMES, ROOT, TEMPORARY, VIRTUAL, COPY, ORIGINAL, LINKED, UNTRACKED
    NAMES = frozenset(settings["names"])
    ROOT = os.path.realpath(settings["root"])
    TEMPORARY = os.path.realpath(settings["temporary"])
    tempfile.tempdir = TEMPORARY
    prefixes = {os.path.realpath(sys.prefix), os.path.realpath(sys.base_prefix)}
    if settings["snapshot"]:
        snapshot = settings["snapshot"]
        COPY, ORIGINAL = os.path.realpath(snapshot["copy"]), os.path.realpath(snapshot["original"])
        links = [os.path.join(ORIGINAL, path) for path in snapshot["linked"]]
        LINKED = tuple(path + os.sep if os.path.isdir(path) else path for path in links)
        UNTRACKED = tuple(snapshot["untracked"])
    below = (ROOT + os.sep, ORIGINAL + os.sep) if ORIGINAL else (ROOT + os.sep,)
    virtual = (*(prefix + os.sep for prefix in prefixes), OWN)
    VIRTUAL = tuple(path for path in virtual if path.startswith(below))


def set_libraries(torch):
    global OUTSIDE, LIBRARY, TORCH
    LIBRARY = os.path.dirname(os.__file__) + os.sep
    TORCH = os.path.dirname(torch.__file__) + os.sep
    roots = {sys.prefix, sys.base_prefix, *map(os.path.realpath, (sys.prefix, sys.base_prefix))}
    sites = [p for p in sys.path if "-packages" in p]
    OUTSIDE = tuple({os.path.join(p, "") for p in (*roots, *sites)})


def is_project(path):
    """Whether the file at `path` is the project's own code."""
    known = _IS_PROJECT.get(path)
    if known is None:
        known = path.startswith((ROOT + os.sep, *LINKED)) and "site-packages" not in path
        known = _IS_PROJECT[path] = known and not path.startswith(VIRTUAL)
    return known


_IS_PROJECT = {}  # asked for every frame above every module that is made


def is_within(path):
    """Whether a directory of the import path lies in the project, whose files are looked at."""
    return is_project(os.path.join(os.path.realpath(path), ""))


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


def from_copy(path):
    """Where the copy has what an editable install, or a path that is written out, finds in the
    working tree; `path` itself where it leads elsewhere; None for what only the tree has."""
    if not ORIGINAL or not path.startswith(ORIGINAL + os.sep) or path.startswith(COPY + os.sep):
        return path
    if is_project(path) or "site-packages" in path or path.startswith(VIRTUAL):
        return path
    copied = COPY + path[len(ORIGINAL) :]
    return copied if os.path.exists(copied) else None


def is_told(path):
    """Whether a file changes with the version of Python or torch alone. (That of a layer may have
    been edited in place.)"""
    if path.startswith(TORCH):
        return not path.startswith(TORCH + "nn" + os.sep)
    return path.startswith(LIBRARY) and "-packages" not in path[len(LIBRARY) :]


def line_of(frame):
    """The nearest line of the project at or above `frame`, else of a package that is not torch."""
    fallback = None
    while frame is not None:
        name = frame.f_code.co_filename
        kind = KINDS.get(name)
        if kind is None:
            kind = KINDS[name] = _kind(name)
        if kind == "project":
            return _line(name, frame.f_lineno)
        if kind == "call":
            return None
        if kind == "package" and fallback is None:
            fallback = _line(name, frame.f_lineno)
        frame = frame.f_back
    return fallback


KINDS = {}  # file -> what it belongs to; asked for every frame above every module that is made
_LINES = {}


def _kind(name):
    if name.startswith("<nparam"):
        return "call"
    if is_project(name):
        return "project"
    if name.startswith(OWN):
        return "other"
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
