"""The version, from the file that the build writes out of git's tags."""

__all__ = ["__version__"]

try:
    from nparam_lint._version import version as __version__
except ImportError:  # a copy of the source that was never built or installed
    __version__ = "0+unknown"
