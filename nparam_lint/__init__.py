"""nparam-lint: checks the parameter counts that a repository claims for its PyTorch models."""

TYPE_CHECKING = False


class UsageError(Exception):
    """What was asked for cannot be done; the message says why, and what to do."""


if TYPE_CHECKING:
    __version__: str
else:

    def __getattr__(name: str) -> str:
        """`__version__`, from the file that the build writes out of git's tags. It is read when
        asked for: a run that finds nothing changed does not need it."""
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            from nparam_lint._version import version
        except ImportError:  # a copy of the source that was never built or installed
            version = "0+unknown"
        globals()[name] = version
        return version
