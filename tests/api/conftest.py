"""A run of pytest in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

import pytest


@pytest.fixture
def pytester_project(tmp_path, environ):
    def run(text):
        (tmp_path / "test_sizes.py").write_text(dedent(text))
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_sizes.py"],
            cwd=tmp_path,
            env=environ,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )

    return run
