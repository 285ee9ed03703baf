"""nparam-lint: checks the parameter counts that a repository claims for its PyTorch models."""

import os

TYPE_CHECKING = False


class UsageError(Exception):
    """The request cannot be carried out; the message says why, and what to do next."""


def cores() -> int:
    """How many processes may work at a time here: a container may have fewer than its machine."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


if TYPE_CHECKING:
    __version__: str
else:

    def __getattr__(name: str) -> str:
        """`__version__`, from the file that the build writes out of git's tags. It is read on first
        use: a run that finds nothing changed does not need it."""
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            from nparam_lint._version import version
        except ImportError:  # a copy of the source that was never built or installed
            version = "0+unknown"
        globals()[name] = version
        return version
