"""A project of one file, and the command run in it."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def place(tmp_path_factory, request):
    """A project with the `MODELS` of the file of tests."""
    top = tmp_path_factory.mktemp("project")
    (top / "nets.py").write_text(request.module.MODELS)
    (top / "nparam-lint.toml").write_text('device = "meta"\n')
    return top


@pytest.fixture
def answered(place, nparam_lint):
    """Runs a command there; `code`: the exit code that it must have."""

    def run(*arguments, code=0, cwd=".", **more):
        done = nparam_lint(*arguments, cwd=place / cwd, **more)
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done

    return run
