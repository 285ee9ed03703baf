"""The command line, one file for each command. It starts here: print the last answer if it is still
valid, else run the command."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def _begin(python: str, environ: Mapping[str, str]) -> None:
    from nparam_lint.count.worker_process import start_early

    start_early(python, environ)


def main() -> int:
    """Run the command line; returns the exit code."""
    from nparam_lint.cache import replay

    code = replay(sys.argv[1:], os.environ, _begin)
    if code is not None:
        os._exit(code)  # nothing is open; to take Python down takes a tenth of the whole
    from nparam_lint.cli.main import main

    return main()
