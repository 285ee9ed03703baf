"""The command line: where it starts, its options, and one file for each command."""

from nparam_lint.cli.start import main

__all__ = ["main"]
