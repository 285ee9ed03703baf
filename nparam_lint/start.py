"""Where a command begins: with the last answer, where that still holds, else with the program."""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Run the command line; returns the exit code."""
    from nparam_lint.cache.replay import replay

    code = replay(sys.argv[1:], os.environ)
    if code is None:
        from nparam_lint.cli import main

        code = main()
        if "nparam_lint.count.process" in sys.modules:
            from nparam_lint.count.process import end_early

            end_early()
    return code
