"""A project of one file, and a command run in it."""

from __future__ import annotations

import shutil
import subprocess

import pytest


@pytest.fixture(scope="module")
def place(tmp_path_factory, request):
    """A project with the `MODELS` of the file of tests."""
    top = tmp_path_factory.mktemp("project")
    (top / "nets.py").write_text(request.module.MODELS)
    (top / "nparam-lint.toml").write_text('device = "meta"\n')
    return top


@pytest.fixture(scope="session")
def contents():
    """The text of each file below a directory."""

    def read(root):
        files = (path for path in root.rglob("*") if path.is_file())
        return {path.relative_to(root).as_posix(): path.read_bytes().decode() for path in files}

    return read


@pytest.fixture
def applied(tmp_path, environ, contents):
    """The files of a copy of a project to which git has applied a diff."""

    def apply(root, diff, *options):
        copy = shutil.copytree(root, tmp_path / "copy")
        command = ["git", "apply", *options, "-"]
        subprocess.run(command, cwd=copy, input=diff.encode(), env=environ, check=True)
        return contents(copy)

    return apply


@pytest.fixture
def answered(place, nparam_lint):
    """Runs a command there; `code`: the exit code that it must have."""

    def run(*arguments, code=0, cwd=".", **more):
        done = nparam_lint(*arguments, cwd=place / cwd, **more)
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done

    return run
