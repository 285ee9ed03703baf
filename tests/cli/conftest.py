"""A project of a page, and a command run in it."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from pages import pages, write_files_of


@pytest.fixture(scope="module")
def place(tmp_path_factory, request):
    """The project of the page that the file of tests names."""
    page = pages(__file__)[request.module.PAGE]
    return write_files_of(page, tmp_path_factory.mktemp("project"))


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
