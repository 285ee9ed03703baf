"""A run of pytest inside of a test, in the same process: torch and pytest are imported already."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

# What would be set up twice in one process, or takes long to start.
_LEFT_OUT = ("faulthandler", "asyncio", "hypothesispytest")


def run_pytest(
    environ: Mapping[str, str], *arguments: object, cwd: Path, **more: str
) -> subprocess.CompletedProcess[str]:
    """What pytest prints in a directory, at 80 columns, and its exit code. A CI server's variables
    are not there: on it pytest would not shorten its lines."""
    environ = {k: v for k, v in environ.items() if k not in ("CI", "BUILD_NUMBER")}
    command = [*(f"-pno:{name}" for name in _LEFT_OUT), *map(str, arguments)]
    before, modules, path = Path.cwd(), {*sys.modules}, [*sys.path]
    output = io.StringIO()
    with (
        mock.patch.dict(os.environ, {**environ, "COLUMNS": "80", **more}, clear=True),
        redirect_stdout(output),
        redirect_stderr(output),
    ):
        os.chdir(cwd)
        try:
            code = pytest.main(command)
        finally:
            os.chdir(before)
            sys.path[:] = path
            for name in {*sys.modules} - modules:  # those of the project
                file = getattr(sys.modules[name], "__file__", None)
                if file and Path(file).is_relative_to(cwd):
                    del sys.modules[name]
    return subprocess.CompletedProcess(command, int(code), output.getvalue())
