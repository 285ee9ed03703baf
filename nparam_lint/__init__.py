"""nparam-lint: checks the parameter counts that a repository claims for its PyTorch models.

nparam_lint.count(model)                          counts of a model in this process
nparam_lint.assert_nparams(model, "124M ± 1%")    for tests
nparam_lint.check("nets")                         the budgets of a project
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
__all__ = [
    "Counts",
    "Finding",
    "ModuleRow",
    "ParameterRow",
    "Report",
    "UsageError",
    "__version__",
    "assert_nparams",
    "check",
    "count",
]
# Where each is, for most runs of a hook need none of them.
_HOMES = {
    "Counts": "api.counts",
    "Finding": "records",
    "ModuleRow": "records",
    "ParameterRow": "records",
    "Report": "records",
    "assert_nparams": "api.checks",
    "check": "api.checks",
}


ISSUES = "https://github.com/nparam-lint/nparam-lint/issues"


class UsageError(Exception):
    """The request cannot be carried out; the message says why, and what to do next."""


def defect(error: Exception) -> str:
    """One line about an exception that nobody expected: what it is, where, and who wants to know.
    `python -X dev` shows the rest."""
    import traceback

    if sys.flags.dev_mode:
        traceback.print_exception(error)
    home = __file__.removesuffix("__init__.py")
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if frame.filename.startswith(home)]
    at = f" in {os.path.relpath(inside[-1].filename, home)}:{inside[-1].lineno}" if inside else ""
    said = " ".join(traceback.format_exception_only(error)[-1].split())
    said = said if said.isprintable() else ascii(said)
    return f"a defect of nparam-lint: {said}{at}; next: report it at {ISSUES}"


class Aside:
    """Around what is said beside a verdict, such as what broke a budget. Where it fails, it is left
    out, and standard error says so: the verdict stands."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, Exception) or isinstance(error, UsageError):
            return False
        print(f"nparam-lint: {self.what} is left out: {defect(error)}", file=sys.stderr)
        return True


def cores() -> int:
    """How many processes may work at a time here: a container may have fewer than its machine."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


if TYPE_CHECKING:
    from nparam_lint.api.checks import assert_nparams, check
    from nparam_lint.api.counts import Counts, count
    from nparam_lint.records import Finding, ModuleRow, ParameterRow, Report

    __version__: str
else:

    def __getattr__(name: str) -> object:
        """What is public, on first use: a run that finds nothing changed needs none of it."""
        if name == "__version__":
            value = _built_version()
        elif name in __all__:
            from importlib import import_module

            home = import_module(f"nparam_lint.{_HOMES.get(name, name)}")
            value = getattr(home, name) if name in _HOMES else home
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value


def _built_version() -> str:
    """From the file that the build writes out of git's tags."""
    try:
        from nparam_lint._version import version
    except ImportError:  # a copy of the source that was never built or installed
        version = "0+unknown"
    return version
