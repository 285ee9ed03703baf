"""Imports the module of a job."""

from __future__ import annotations

import contextlib
import importlib
import importlib.machinery
import os
import sys

from ..state import STATE
from ..tracing.dependency_record import state_of
from ..tracing.failures import (
    BarredImport,
    Failure,
    NotTracked,
    describe,
    install,
    missing_package,
)
from ..tracing.project_modules import is_ours
from ..tracing.project_paths import is_project, line_of_error, relative
from .side_effect_guard import is_refusal


def shadows(root):
    """A name at the top of `root` that would hide an installed package or the standard library."""
    clean = [p for p in sys.path if p and not os.path.realpath(p).startswith(STATE.root + os.sep)]
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
        path = os.path.normpath(os.path.join(STATE.root, root))
        trusted = root in ("", "src") or shadows(path) is None
        if root not in ("", "src"):
            STATE.record.shared.listed.setdefault(path, state_of(path))
        (front if trusted else back).append(path)
    taken = set(front + back)
    sys.path[:] = front + [p for p in sys.path if p not in taken and p != ""] + back


def set_arguments(job):
    """The command line that a script would see, whichever was imported first."""
    sys.argv = [os.path.join(STATE.root, job["file"] or "python")]


def import_target(job):
    """The module of a job, or a Failure that says which line stands in the way."""
    name = job["module"]
    if job["file"]:
        expected = os.path.join(STATE.root, job["file"])
        top = name.split(".")[0]
        if top in sys.modules and not is_ours(sys.modules[top]):
            raise Failure(
                "NPL003",
                "import_failed",
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
                "import_failed",
                "importing {!r} gave {} instead of {}".format(name, relative(found), job["file"]),
                next_attempt=True,
            )
    return module


def load_lazily(module, qualname):
    """Packages such as transformers import what defines a class when it is asked for, and with the
    first one most of what all others share: once, here. What goes wrong is told by the job, which
    asks again."""
    with contextlib.suppress(Exception, SystemExit):
        found = module
        for part in qualname.split("."):
            found = getattr(found, part)


def _raise_import_failure(job, error):
    if isinstance(error, KeyboardInterrupt):
        raise error
    package = missing_package(error)
    if package and not job["file"] and package == job["module"].split(".")[0]:
        raise Failure(
            "NPL003",
            "package_missing",
            "there is no module {!r} in {}".format(error.name, sys.prefix),
            package=package,
            hint=install(package),
        )
    raise Failure(
        "NPL003",
        "package_missing" if package else cause_of_import(error),
        "cannot import {}: {}".format(job["file"] or job["module"], describe(error)),
        package=package,
        hint=install(package),
        source=line_of_error(error),
        next_attempt=isinstance(error, ImportError),
        not_tracked=isinstance(error, NotTracked),
    )


def cause_of_import(error):
    """The cause of a failure, from the exception that an import raised."""
    if isinstance(error, BarredImport):
        return error.cause
    if is_refusal(error):
        return "refused"
    return "not_tracked" if isinstance(error, NotTracked) else "import_failed"
