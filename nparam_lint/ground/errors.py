"""What a person is told when a request cannot be carried out, or when we are wrong ourselves."""

from __future__ import annotations

import os
import sys
import traceback
from typing import ClassVar

from nparam_lint.ground import PACKAGE

ISSUES = "https://github.com/nparam-lint/nparam-lint/issues"


class UsageError(Exception):
    """The request cannot be carried out; the message says why, and what to do next."""


def defect(error: Exception) -> str:
    """One line about an exception that nobody expected: what it is, where, and who wants to know.
    `python -X dev` shows the rest."""

    if sys.flags.dev_mode:
        traceback.print_exception(error)
    home = os.path.join(PACKAGE, "")
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if frame.filename.startswith(home)]
    at = f" in {os.path.relpath(inside[-1].filename, home)}:{inside[-1].lineno}" if inside else ""
    text = " ".join(traceback.format_exception_only(error)[-1].split())
    text = text if text.isprintable() else ascii(text)
    return f"a defect of nparam-lint: {text}{at}; next: report it at {ISSUES}"


class Aside:
    """Around what is said beside a verdict, such as what broke a budget. Where it fails, it is left
    out, and standard error says so: the verdict stands. An answer that lacks something is not one
    to give again: `left_out` counts these."""

    left_out: ClassVar[int] = 0

    def __init__(self, what: str) -> None:
        self.what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, Exception) or isinstance(error, UsageError):
            return False
        Aside.left_out += 1
        print(f"nparam-lint: {self.what} is left out: {defect(error)}", file=sys.stderr)
        return True
