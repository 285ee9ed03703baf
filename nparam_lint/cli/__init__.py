"""The command line, one file for each command. It starts here: print the last answer if it is still
valid, else run the command."""

from __future__ import annotations

import os
import sys
import threading

from nparam_lint.cache import replay
from nparam_lint.cli import main as command_line
from nparam_lint.count import worker_process


def main() -> int:
    """Run the command line; returns the exit code."""
    code = replay(
        sys.argv[1:],
        os.environ,
        lambda python, environ: worker_process.start_early(python, environ),
    )
    if code is not None:
        os._exit(code)  # nothing is open; to take Python down takes a tenth of the whole
    code = command_line.main()
    if threading.active_count() == 1:  # and of what others do nothing is cut off
        os._exit(code)
    return code
