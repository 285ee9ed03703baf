"""Why something was not measured, in words."""

from __future__ import annotations

import linecache
import os
import re
import shlex
import sys
from traceback import walk_tb
from typing import NamedTuple, Optional

from ...ground.metrics import INSTALLED_AS
from .project_paths import OWN, is_installed, is_project, line_text, relative, without_copy

MESSAGE = 500  # characters of an exception's text that are passed on
# What faulthandler prints of a crash, or of a model that takes too long; and the lines in it that
# tell nothing of the model.
STACK = re.compile(r"^(Fatal Python error|Windows fatal exception|Timeout \(\d+:)", re.MULTILINE)
NOISE = (
    f'  File "{OWN}',
    '  File "<nparam ',
    "Extension modules:",
    "Current thread's C",
    "  Binary",
)
LINES, OUTPUT = 6, 4000  # lines of an output that are passed on, and characters of them
# What to do where a process ended.
TOO_SLOW = "if it only needs more time: --timeout SECONDS, or `timeout` in the config"
TOO_MUCH = "if it needs that much: --memory SIZE, or `memory` in the config"
TOO_MANY = "the system ends what takes too much memory; one model at a time: --jobs 1"
NOT_PYTHON = (
    "compiled code crashed, and tensors have no values here that it could read: call it where the "
    "model runs, not in its constructor"
)
NO_MORE = (
    "the machine has no more memory; tensors take none here: make arrays and lists of that size "
    "where the model is trained, not in its constructor"
)


def describe(error):
    """One line of text for any exception, however hostile its `__str__`."""
    try:
        text = without_copy(" ".join(str(error).split()))
    except BaseException:
        text = "(its message cannot be printed)"
    if len(text) > MESSAGE:
        text = text[:MESSAGE] + " …"
    name = type(error).__name__
    if isinstance(error, (NotTracked, LostName, BarredImport)):
        return text
    if isinstance(error, SystemExit):
        return "called sys.exit({})".format(text)
    if not text and isinstance(error, AssertionError):
        text = asserted(error)
    described = "{}: {}".format(name, text) if text else name
    described += obstacle(error)
    cause = root_cause(error)
    why = "" if cause is error else describe(cause)
    return described if why.partition(": ")[2] in text else "{} ({})".format(described, why)


def asserted(error):
    """The statement of an `assert` that says nothing, and where it stands."""
    lines = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    statement = without_copy(linecache.getline(*lines[-1]).strip()) if lines else ""
    return "{} ({})".format(statement[:MESSAGE], line_text(*lines[-1])) if statement else ""


def obstacle(error):
    """What stands in the way of an import: a package of another version; or an empty directory,
    which Python takes for a package, where a clone was made without its submodules."""
    package, inner, _ = (getattr(error, "name", None) or "").partition(".")
    if not isinstance(error, ImportError) or not package:
        return ""
    if inner and is_installed(package) and isinstance(error, ModuleNotFoundError):
        return "; another version of {} is installed".format(package)
    for root in sys.path:
        folder = os.path.join(root, package)
        if is_project(folder) and os.path.isdir(folder) and not os.listdir(folder):
            words = "; {}/ is empty; for a submodule, git submodule update --init"
            return words.format(relative(folder))
    return ""


def root_cause(error):
    """The exception that an exception was made of, as a library does that adds where it happened;
    itself where it was made of none."""
    chain = []
    while error is not None and error.__cause__ is not None and error not in chain:
        chain.append(error)
        error = error.__cause__
    return error


class NotTracked(ModuleNotFoundError):
    """An import of a file that git does not have: the commit would fail in the same way, so the
    import is never skipped."""

    def __init__(self, file):
        # Without a name: the import system passes over a missing submodule of that name.
        text = "{} is not tracked by git; next: git add {}"
        super().__init__(text.format(file, shlex.quote(":/" + file)))


class Loss(NamedTuple):
    """Why a name is missing in a file that was read in part, and the missing package that caused
    it. `first`: the same of the name that was lost first, in words; `line`: where that was."""

    why: str
    line: Optional[str] = None
    package: Optional[str] = None
    first: str = ""


class LostName(ModuleNotFoundError):
    """A name that another file needs from a file that was read in part, and that was lost there."""

    def __init__(self, text, loss):
        super().__init__(text, name=loss.package)
        self.loss = loss


class Failure(Exception):
    """Why a job was not measured. `code`: of the finding; `cause`: one of `measured.Cause`; `more`:
    other fields of `measured.NotMeasured`."""

    def __init__(self, code, cause, reason, **more):
        super().__init__(reason)
        self.result = dict(more, ok=False, code=code, cause=cause, reason=reason)


class NextRung(Exception):
    """The model cannot be built on this rung; `failures` says why, for it and those before."""

    def __init__(self, failures):
        super().__init__()
        self.failures = failures


def install(package):
    if not package:
        return None
    return "install {!r} into {}, or choose another interpreter with --python".format(
        INSTALLED_AS.get(package, package), sys.executable
    )


class BarredImport(ImportError):
    """An import of a file that ended the process that imported it before; `cause`: how."""

    def __init__(self, cause, reason):
        super().__init__(reason)
        self.cause = cause


class Ending(NamedTuple):
    """How a process ended that should not have: a cause of `measured.Cause`, and the same in
    words that follow the name of what it did; `hint`: what to do."""

    cause: str
    words: str
    hint: Optional[str] = None


def missing_package(error):
    """The name of the missing package that an exception is about; None for any other exception, and
    where a part is missing of a package that is there."""
    error = root_cause(error)
    name = error.name if isinstance(error, ModuleNotFoundError) else None
    package = name.partition(".")[0] if name else None
    return None if package != name and package in sys.modules else package


def died(what, ending, tail):
    """The result of a job whose process ended without one. `what`: the model or file that it had to
    do with, and what was done to that."""
    name, verb = what
    lines = re.findall(r'File "([^"]+)", line (\d+)(?: in (\S+))?', tail)
    file, line, function = next((line for line in lines if is_project(line[0])), ("", "", ""))
    return {
        "ok": False,
        "code": "NPL005",
        "cause": ending.cause,
        "reason": f"{name} {ending.words} while it was {verb}",
        "hint": ending.hint,
        "source": line_text(file, line) if file else None,
        "function": function,
        "output": last_words(tail),
    }


def last_words(tail):
    """The last lines of an output; of a stack, the first ones that are not of our own code."""
    stack = STACK.search(tail)
    if stack is None:
        return "\n".join(without_copy(tail).strip().splitlines()[-LINES:])[-OUTPUT:]
    lines = without_copy(tail[stack.start() :]).strip().splitlines()
    lines = [line for line in lines if not line.startswith(NOISE)]
    return "\n".join(lines[:LINES])[:OUTPUT]
