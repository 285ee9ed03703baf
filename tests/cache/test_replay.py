"""The last answer is given again where nothing that it rests on has changed, and only there."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import pytest
from cache_project import edit, net, new_repository, without_cache, write

from nparam_lint.cache import replay
from nparam_lint.cache.store import PARTIAL, TAG

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Command

# What any run imports that reads the project, checks a measurement or lints a file.
HEAVY = {
    "argparse",
    "libcst",
    "msgspec",
    "subprocess",
    "dataclasses",
    "pathlib",
    "nparam_lint.cli.common",  # which `main` imports when it is read
}
# Takes longer than a fiftieth of a second to read.
SLOW = "import torch\n" + "x = [1, 2, 3, f(4)]\n" * 4_000
READING = "import os\nW = len(open(os.path.join(os.path.dirname(__file__), 'w.txt')).read())"
FILES = {"a.py": net("", 16), "b.py": net(READING, "W"), "w.txt": "x" * 8, "data/x": ""}
PAST = (1_600_000_000, 1_600_000_000)


@dataclass(frozen=True)
class Project:
    """Two models, one of which reads a file, in a repository, and a cache of its own."""

    root: Path
    environ: dict[str, str]
    nparam_lint: Command

    def begin(self) -> None:
        """All files as they were at first, long ago."""
        for path in self.root.iterdir():
            if path.name != ".git":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        (self.root / ".git/info/exclude").unlink(missing_ok=True)
        write(self.root, FILES)
        for path in [*self.root.rglob("*"), self.root]:
            os.utime(path, PAST)

    def replayed(self, *options: str, **more: str) -> str | None:
        """The last answer to a command, if it is given again."""
        output, before = io.TextIOWrapper(io.BytesIO(), "utf-8", newline=""), Path.cwd()
        environ = mock.patch.dict(os.environ, self.environ | more, clear=True)
        with environ, redirect_stdout(output):
            os.chdir(self.root)
            try:
                code = replay(options, os.environ, lambda *_: None)
            finally:
                os.chdir(before)
        return None if code is None else output.buffer.getvalue().decode()

    def ask(self, *options: str, **more: str) -> str:
        done = self.nparam_lint(*options, cwd=self.root, **self.environ | more)
        assert "Traceback" not in done.stderr, done.stderr
        return done.stdout

    def keep(self, *options: str) -> str:
        """Ask until the answer is kept: what was changed less than 50 ms before a run began is not
        relied upon."""
        for _ in range(50):
            text = self.ask(*options)
            if (again := self.replayed(*options)) is not None:
                assert without_cache(again) == without_cache(text)
                return again
        raise AssertionError("no answer was kept")


@pytest.fixture(scope="module")
def project(
    tmp_path_factory: pytest.TempPathFactory, environ: dict[str, str], nparam_lint: Command
) -> Project:
    top = tmp_path_factory.mktemp("replay")
    new_repository(top / "project")
    more = {"NPARAM_LINT_CACHE": str(top / "cache")}
    return Project(top / "project", environ | more, nparam_lint)


def imported(project: Project, *options: str, **more: str) -> tuple[set[str], int, str]:
    """The modules that a run in a process of its own imports; its exit code, and what it prints."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "nparam_lint", *options],
        cwd=project.root,
        env=project.environ | more,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    lines = done.stderr.splitlines()
    modules = {line.rpartition("|")[2].strip() for line in lines if "|" in line}
    return modules, done.returncode, done.stdout


def test_nothing_heavy_is_imported_where_nothing_changed(project: Project) -> None:
    """The exit code and the text are those of the run; another environment is another question. Of
    models that are declared, of which there is none: nothing is built."""
    project.begin()
    write(project.root, {"nparam-lint.toml": '[budgets]\n"a.py::Gone" = 1\n'})
    os.utime(project.root / "nparam-lint.toml", PAST)
    options = ("--declared", "--format", "concise")
    modules, *first = imported(project, *options)
    assert modules >= HEAVY - {"libcst"}
    assert first[0] == 1
    assert "NPL008" in first[1]
    for _ in range(50):  # until the answer is kept
        modules, *again = imported(project, *options)
        assert again == first
        if not HEAVY & modules:
            break
    else:
        raise AssertionError("no answer was kept")
    for more, is_kept in (
        ({"SOMETHING": "else"}, True),
        ({"HF_HOME": "/elsewhere"}, False),
        ({"SHLVL": "7"}, True),
    ):
        assert (not HEAVY & imported(project, *options, **more)[0]) == is_kept, more
    assert imported(project, *options, "--no-c")[0] >= HEAVY - {"libcst"}


def totals(text: str) -> dict[str, int | None]:
    models = json.loads(text)["models"]
    return {model["target"]: (model["counts"] or {}).get("total") for model in models}


SAME: dict[str, Callable[[Path], object]] = {
    "touched": lambda root: os.utime(root / "a.py"),
    "written as it was": lambda root: (root / "a.py").write_bytes((root / "a.py").read_bytes()),
    "a directory touched": lambda root: os.utime(root / "data"),
    "made and removed": lambda root: [(root / "new.py").touch(), (root / "new.py").unlink()],
}
A, B, NEW = {"a.py::Net": 68}, {"b.py::Net": 36}, net("", 3)
# What is changed, and the totals then.
OTHER: dict[str, tuple[Callable[[Path], object], dict[str, int | None]]] = {
    "edited, same size and times": (
        lambda root: edit(root / "a.py", "16", "32"),
        {"a.py::Net": 132} | B,
    ),
    "a file that was read": (lambda root: write(root, {"w.txt": "x" * 9}), A | {"b.py::Net": 40}),
    "a new file": (lambda root: write(root, {"c.py": NEW}), A | B | {"c.py::Net": 16}),
    "a new file in a directory without one": (
        lambda root: write(root, {"data/c.py": NEW}),
        A | B | {"data/c.py::Net": 16},
    ),
    "a file less": (lambda root: (root / "a.py").unlink(), B),
    "a budget in the config": (
        lambda root: write(root, {"nparam-lint.toml": '[budgets]\n"a.py::Net" = 1\n'}),
        A | B,
    ),
    "a file that git ignores": (lambda root: write(root, {".gitignore": "a.py\n"}), B),
    "a file that git excludes": (lambda root: write(root, {".git/info/exclude": "a.py\n"}), B),
    "a module that shadows": (
        lambda root: write(root, {"torch.py": ""}),
        A | B,  # the worker takes its own
    ),
}


JSON = ("--format", "json")


def test_what_did_not_change_anything(project: Project) -> None:
    """One after the other."""
    project.begin()
    before = project.keep(*JSON)
    assert totals(before) == A | B
    for name, change in SAME.items():
        change(project.root)
        assert project.replayed(*JSON) == before, name


@pytest.mark.parametrize("name", OTHER)
def test_what_may_change_the_answer(project: Project, name: str) -> None:
    project.begin()
    project.keep(*JSON)
    change, expected = OTHER[name]
    change(project.root)
    assert project.replayed(*JSON) is None
    assert totals(project.ask(*JSON)) == expected


def test_answers_alone_do_not_fill_the_disk(project: Project, nparam_lint_process: Command) -> None:
    project.begin()
    project.keep(*JSON)
    (folder,) = {p.parent for p in Path(project.environ["NPARAM_LINT_CACHE"]).glob("v1/*/run-*")}
    partial = folder / f"run-0.0123456789abcdef{PARTIAL}"
    partial.touch()
    for path in (partial, *folder.parent.rglob(TAG)):
        os.utime(path, PAST)
    before = {path.name for path in folder.iterdir()}
    # Another question, and no build can see it.
    nparam_lint_process(*JSON, cwd=project.root, **project.environ | {"COLUMNS": "77"})
    now = {path.name for path in folder.iterdir()}
    assert before - now == {partial.name}
    assert [name.partition("-")[0] for name in now - before] == ["run"]


@pytest.mark.parametrize("ignored", ["NPL101", "NPL003"])
def test_what_was_not_read_in_time_is_read_again(
    project: Project, tmp_path: Path, ignored: str
) -> None:
    """No answer is kept that rests on less than all files, whether it tells so or must not."""
    project.begin()
    (project.root / "a.py").write_text(SLOW)
    for timeout, kept in (("0.01", 0), ("60", 1)):
        options = ("--static", "--timeout", timeout, "--ignore", ignored)
        text = project.ask(*options, NPARAM_LINT_CACHE=str(tmp_path))
        assert ("NPL003" in text) == (not kept and ignored != "NPL003")
        assert len([*tmp_path.rglob("run-*")]) == kept
