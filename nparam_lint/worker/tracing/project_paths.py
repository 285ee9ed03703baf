"""Which files and modules belong to the project, and where a path is in it, or in a copy of it."""

from __future__ import annotations

import itertools
import os
import sys
from os import lstat  # as it is before questions are recorded: this one is our own
from stat import S_ISLNK
from traceback import walk_tb

from ..state import STATE

_WORKER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LAUNCHER = os.path.join(_WORKER, "launch.py")
OWN = os.path.join(os.path.dirname(_WORKER), "")  # ourselves
PACKAGES = "site-packages", "dist-packages"  # directories of packages; the second are Debian's


def find_libraries(torch):
    """Note where packages, the standard library and torch are, before any of the project runs."""
    STATE.library = os.path.dirname(os.__file__) + os.sep
    STATE.torch_directory = os.path.dirname(torch.__file__) + os.sep
    roots = {sys.prefix, sys.base_prefix, *map(os.path.realpath, (sys.prefix, sys.base_prefix))}
    sites = [p for p in sys.path if "-packages" in p]
    STATE.packages = tuple({os.path.join(p, "") for p in (*roots, *sites)})
    # What is above where things are found: to be a directory is certain of it.
    STATE.above = set()
    for path in (STATE.root, STATE.original, OWN, *STATE.packages):
        path = path.rstrip(os.sep)
        while path and os.path.dirname(path) != path:
            STATE.above.add(path)
            path = os.path.dirname(path)


def in_packages(path):
    return any(name in path for name in PACKAGES)


def is_foreign(path):
    """Whether a path lies in a directory of packages, or in an environment inside the project."""
    return in_packages(path) or path.startswith(STATE.environments)


def is_project(path):
    """Whether the file at `path` is the project's own code."""
    return path.startswith((STATE.root + os.sep, *STATE.linked)) and not is_foreign(path)


def real_path(path):
    """`os.path.realpath` of a file. That asks the disk for each part of a path, and the directories
    are the same for many files."""
    folder, name = os.path.split(path)
    real = STATE.real_folders.get(folder)
    if real is None:
        real = os.path.realpath(folder)
        if os.path.isabs(folder):
            STATE.real_folders[folder] = real
    path = os.path.join(real, name)
    try:
        is_link = S_ISLNK(lstat(path).st_mode)
    except (OSError, ValueError):  # nothing is there
        is_link = False
    return os.path.realpath(path) if is_link else path


def is_within(path):
    """Whether a directory of the import path lies in the project, whose files are looked at; of a
    copy of what git has, also in the working tree, in whose place the copy is read."""
    folder = os.path.join(os.path.realpath(path), "")
    is_original = bool(STATE.original) and folder.startswith(os.path.join(STATE.original, ""))
    return is_project(folder) or (is_original and not is_foreign(folder))


def file_of(name):
    """The file of the module that currently has a name, according to the module; None if it has
    none."""
    return getattr(sys.modules.get(name), "__file__", None)


def project_file(name):
    """The same, where it is one of the project's files; else None."""
    path = file_of(name)
    return path if path and is_project(path) else None


def is_installed(name):
    """Whether the module that currently has a name is one of an installed package."""
    path = file_of(name)
    return isinstance(path, str) and path.startswith(STATE.packages) and not is_project(path)


def is_ours(module):
    if module is sys.modules["__main__"]:
        return False
    path = getattr(module, "__file__", None)
    if path:
        # Following links asks the disk for each part of the path, a thousand times for torch alone.
        if not (is_known_by_version(path) or path.startswith(STATE.torch_directory)):
            path = real_path(path) if os.path.isabs(path) else ""  # torch.ops: "_ops.py"
        return is_project(path)
    try:  # a namespace package
        return any(map(is_within, list(module.__path__)))
    except Exception:
        return False


def may_be_ours(name):
    """Whether a module at the top is, or could be found to be, the project's."""
    module = sys.modules.get(name)
    return name in STATE.names or (module is not None and is_ours(module))


def modules_after(last):
    """The names of the modules that came after that of the name `last`, newest first. (To look at
    each of thousands would copy the memory that they lie in, in a process that was forked.)"""
    return [*itertools.takewhile(lambda name: name != last, reversed(sys.modules))]


def relative(path):
    """`path` as the user knows it: below the project, or below the environment's packages."""
    path = path.replace("\\", "/")
    inside = STATE.root[len(STATE.copy) :] if STATE.copy else ""
    for root in (STATE.root, STATE.original + inside) if STATE.original else (STATE.root,):
        root = root.replace("\\", "/") + "/"
        if path.startswith(root):
            return path[len(root) :]
    for name in PACKAGES:
        if f"/{name}/" in path:
            return path.rsplit(f"/{name}/", 1)[1]
    return without_copy(path)


def without_copy(text):
    """`text` with the paths of the working tree: users do not know the copy."""
    if not STATE.copy:
        return text
    name, original = os.path.basename(STATE.copy), os.path.basename(STATE.original)
    # The path may be cut, or spelled anew.
    return text.replace(STATE.copy, STATE.original).replace(name, original)


def from_copy(path):
    """Where the copy has what an editable install, or a path that is written out, finds in the
    working tree; `path` itself where it leads elsewhere; None for what only the tree has."""
    if not STATE.original or not path.startswith(STATE.original + os.sep):
        return path
    if path.startswith(STATE.copy + os.sep):
        return path
    if is_project(path) or is_foreign(path):
        return path
    copied = STATE.copy + path[len(STATE.original) :]
    return copied if os.path.exists(copied) else None


def is_known_by_version(path):
    """Whether a file changes with the version of Python or torch alone. (That of a layer may have
    been edited in place.)"""
    if path.startswith(STATE.torch_directory):
        return not path.startswith(STATE.torch_directory + "nn" + os.sep)
    return path.startswith(STATE.library) and "-packages" not in path[len(STATE.library) :]


def line_of(frame):
    """The nearest line of the project at or above `frame`, else of a package that is not torch."""
    fallback = None
    while frame is not None:
        kind = place_of_frame(frame)
        if kind == "project":
            return line_text(*line_of_frame(frame))
        if kind == "call":
            return None
        if kind == "package" and fallback is None:
            fallback = line_text(*line_of_frame(frame))
        frame = frame.f_back
    return fallback


def place_of_frame(frame):
    """What the code of a frame belongs to: the `project`, a `package` other than torch, the `call`
    that was asked for, or anything `other`."""
    name = frame.f_code.co_filename
    if name not in STATE.file_kinds:
        if name.startswith("<nparam"):
            kind = "call"
        elif is_project(name):
            kind = "project"
        elif name.startswith(OWN) or not in_packages(name) or "/torch/" in name:
            kind = "other"
        else:
            kind = "package"
        STATE.file_kinds[name] = kind
    return STATE.file_kinds[name]


def line_of_frame(frame):
    """Its file, and the line that it is at."""
    return frame.f_code.co_filename, frame.f_lineno or frame.f_code.co_firstlineno


def line_text(name, number):
    """A line of a file as `path:line`."""
    return "{}:{}".format(relative(name), number)


def line_of_error(error):
    """The innermost line of the project in the traceback of `error`."""
    if isinstance(error, SyntaxError) and error.filename and is_project(error.filename):
        return line_text(error.filename, error.lineno or 1)
    mark = getattr(error, "problem_mark", None)  # where PyYAML stopped to understand a file
    if is_project(os.path.abspath(str(getattr(mark, "name", "")))):
        return line_text(os.path.abspath(mark.name), mark.line + 1)
    lines = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    return next((line_text(*line) for line in reversed(lines) if is_project(line[0])), None)


def upwards(path):
    """A dotted path and all those above it, up to the root ""."""
    while path:
        yield path
        path = path.rpartition(".")[0]
    yield ""


def is_below(path, ancestor):
    """Whether a dotted path is `ancestor` or lies below it; all lie below the root ""."""
    return not ancestor or path == ancestor or path.startswith(ancestor + ".")
