"""nparam-lint: checks the parameter counts that a repository claims for its PyTorch models."""

TYPE_CHECKING = False


class UsageError(Exception):
    """The request cannot be carried out; the message says why, and what to do next."""


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
