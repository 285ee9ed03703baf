"""A project of one file, and what commands say in it."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys

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


def steady(text, cwd):
    """What a command says, without what is another in each run or on each machine."""
    for pattern, shown in (
        (re.escape(str(cwd)), "HERE"),
        (rf"{re.escape(str(cwd.parent))}(?=\W)", "ABOVE"),
        (re.escape(sys.executable), "PYTHON"),
        (r"(?ms)^PYTHON \(.*?\)\s(· )?torch [^\n]*$", "INTERPRETER"),
        (r" \([0-9]+ from the cache\)| · [0-9]+ from the cache|, from the cache", ""),
        (r"(?m)\s·\s+[0-9.]+\s+s(?=$|<)|^[0-9.]+ s\n", ""),
        (r"\([0-9a-f]{7}\)", "(COMMIT)"),
        (r"(?m)(is not in a git repository): fatal.*$", r"\1"),
    ):
        text = re.sub(pattern, shown, text)
    return text


@pytest.fixture
def transcript(place, nparam_lint):
    """What commands say, a line each: by the command and its exit code, both streams."""

    def run(commands, columns=80, cwd=".", **more):
        said = {}
        for line in commands.strip().splitlines():
            words = {"COLUMNS": str(columns), **more}
            done = nparam_lint(*shlex.split(line), cwd=place / cwd, **words)
            assert "Traceback" not in done.stderr
            said[f"{line.strip()} [{done.returncode}]"] = steady(done.stdout + done.stderr, place)
        return said

    return run
