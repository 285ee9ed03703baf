"""Repositories whose commits are really judged."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from sample_repository import AWKWARD, Sample

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def repository(tmp_path: Path, environ: dict[str, str]) -> Callable[..., Sample]:
    """Makes a repository with these files committed, and no hook. Models are built with the
    interpreter of the tests; copies are made in a directory of their own."""
    return _maker(tmp_path, environ)


@pytest.fixture(scope="module")
def shared_repository(
    tmp_path_factory: pytest.TempPathFactory, environ: dict[str, str]
) -> Callable[..., Sample]:
    """The same, for what many tests ask and none changes."""
    return _maker(tmp_path_factory.mktemp("shared"), environ)


def _maker(place: Path, environ: dict[str, str]) -> Callable[..., Sample]:
    temporary = place / "temporary"
    temporary.mkdir()
    told = {"NPARAM_LINT_PYTHON": sys.executable, "TMPDIR": str(temporary), "NO_COLOR": "1"}

    def make(files: dict[str, str], name: str = AWKWARD) -> Sample:
        made = Sample.create(place / name, environ | told)
        made.committed(files)
        return made

    return make


@pytest.fixture
def hooked(
    repository: Callable[..., Sample], nparam_lint: Callable[..., object]
) -> Callable[..., Sample]:
    """Makes a repository in which `nparam-lint install-hook` was run after the first commit."""

    def make(files: dict[str, str], name: str = AWKWARD, *projects: str) -> Sample:
        made = repository(files, name)
        nparam_lint("install-hook", *projects, cwd=made.path, **made.environ)
        assert (made.path / ".git/hooks/pre-commit").exists()
        return made

    return make


@dataclass
class _Judged(Sample):
    """A repository whose commits are judged as the hook does it, without a process of its own."""

    check: Any = None

    def commit(self, *arguments: object, **more: str) -> subprocess.CompletedProcess[str]:
        done = self.check("--declared", "--staged", cwd=self.path, **self.environ)
        if not done.returncode:
            super().commit(*arguments, "--no-verify", **more)
        return done


@pytest.fixture
def judged(
    repository: Callable[..., Sample], nparam_lint: Callable[..., object]
) -> Callable[..., Sample]:
    """Makes a repository whose commits are judged in the process of the test."""

    def make(files: dict[str, str]) -> Sample:
        made = repository(files)
        return _Judged(made.path, made.environ, nparam_lint)

    return make
