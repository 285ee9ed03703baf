"""What the tests that really build models share: sample projects, and a neutral environment."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Callable

# A check of a commit must not fail by chance, or by how busy its machine is.
settings.register_profile("commit", derandomize=True, deadline=None)
settings.load_profile("commit")

PROJECTS = Path(__file__).with_name("projects")
# Whatever would choose another interpreter, another repository or another look.
_PERSONAL = re.compile(
    r"(NPARAM_LINT|GIT|GITHUB|COV|PYTEST)_.*|VIRTUAL_ENV|CONDA_PREFIX|COLUMNS|LINES|NO_COLOR|FORCE_COLOR"
    r"|PYTHON(DONTWRITEBYTECODE|UNBUFFERED|WARNINGS|UTF8|IOENCODING)"
)


@pytest.fixture(scope="session")
def environ(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """This machine's environment, without anybody's preferences, and without what is remembered of
    other runs."""
    kept = {key: value for key, value in os.environ.items() if not _PERSONAL.fullmatch(key)}
    return kept | {"NPARAM_LINT_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A fresh copy of a sample project, outside of this repository."""

    def copy(name: str) -> Path:
        ignore = shutil.ignore_patterns("__pycache__")
        return Path(
            shutil.copytree(PROJECTS / name, tmp_path_factory.mktemp(name) / name, ignore=ignore)
        )

    return copy


@pytest.fixture(scope="session")
def nparam_lint(environ: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the command line as a user does; `more` is added to the environment."""

    def run(
        *arguments: object, cwd: Path, python: str = sys.executable, **more: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [python, "-m", "nparam_lint", *map(str, arguments)],
            cwd=cwd,
            env=environ | more,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )

    return run
