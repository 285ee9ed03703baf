"""The last answer is given again where nothing that it rests on has changed, and only there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cache_project import Checker, answer, edit, link, net, new_environment, replayed, without_cache
from sample_files import write_files

from nparam_lint.cache.store import PARTIAL, TAG

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Command

pytestmark = pytest.mark.skipif(os.name != "posix", reason="elsewhere no answer is kept")

# What any run imports that reads the project, checks a measurement or lints a file.
HEAVY = {
    "argparse",
    "msgspec",
    "subprocess",
    "dataclasses",
    "pathlib",
    "nparam_lint.cli.common",  # which `main` imports when it is read
}
READING = "import os\nW = len(open(os.path.join(os.path.dirname(__file__), 'w.txt')).read())"
FILES = {
    "a.py": net("", 16),
    "b.py": net(READING, "W"),
    "w.txt": "x" * 8,
    "data/x": "",
    "nparam-lint.toml": 'extend = "../base.toml"\n',
    "../base.toml": "",
    "../other.toml": "",
    ".gitignore": "/.venv/\n",
}
PAST = (1_600_000_000, 1_600_000_000)
JSON = ("check", "--format", "json")


class Project:
    """Two models, one of which reads a file, in a repository, and a cache of its own."""

    def __init__(self, place: Path, environ: dict[str, str], nparam_lint: Command) -> None:
        self.checker = Checker.of(FILES, nparam_lint, place)
        self.root, self.cache = self.checker.root, self.checker.cache
        self.environ = environ | {"NPARAM_LINT_CACHE": str(self.cache)}

    def replayed(self, *options: str) -> str | None:
        """The last answer to a command, if it is given again."""
        last = replayed(self.root, options, self.environ)
        return last and last[1]

    def keep(self, *options: str) -> str:
        """Ask until the answer is kept: what was changed less than 50 ms before a run began is not
        relied upon."""
        for _ in range(50):
            done = self.checker.run(*options, cwd=self.root, **self.environ)
            if (again := self.replayed(*options)) is not None:
                assert without_cache(again) == without_cache(done.stdout)
                return again
        raise AssertionError("no answer was kept")


@pytest.fixture
def project(tmp_path: Path, environ: dict[str, str], nparam_lint: Command) -> Project:
    return Project(tmp_path, environ, nparam_lint)


def test_nothing_heavy_is_imported_where_nothing_changed(project: Project) -> None:
    """The exit code and the text are those of the run; another environment is another question. Of
    models that are declared, of which there is none: nothing is built."""
    write_files(project.root, {"nparam-lint.toml": '[budgets]\n"a.py::Gone" = 1\n'})
    options = ("--declared", "--format", "concise")

    def run(*more: str, **environ: str) -> tuple[bool, int, str]:
        """Whether what is heavy is imported; the exit code, and what is printed."""
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "nparam_lint", *options, *more],
            cwd=project.root,
            env=project.environ | environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        lines = done.stderr.splitlines()
        modules = {line.rpartition("|")[2].strip() for line in lines if "|" in line}
        heavy = HEAVY & modules
        assert heavy in (HEAVY, set())
        return bool(heavy), done.returncode, done.stdout

    is_built, code, text = run()
    assert (is_built, code) == (True, 1)
    assert "NPL008" in text
    project.keep(*options)
    assert run() == run(SOMETHING="else") == run(SHLVL="7") == (False, code, text)
    assert run(HF_HOME="/elsewhere") == run("--no-c") == (True, code, text)


SAME: dict[str, Callable[[Path], object]] = {
    "touched": lambda root: os.utime(root / "a.py"),
    "written as it was": lambda root: (root / "a.py").write_bytes((root / "a.py").read_bytes()),
    "a directory touched": lambda root: os.utime(root / "data"),
    "made and removed": lambda root: [(root / "new.py").touch(), (root / "new.py").unlink()],
}
# What is changed, one thing after the other; the models that have another total then, or are gone;
# the exit code.
OTHER: dict[str, tuple[Callable[[Path], object], dict[str, int | None], int]] = {
    "edited, same size and times": (lambda root: edit(root / "a.py", "16", "32"), {"a": 132}, 0),
    "a file that was read": (lambda root: write_files(root, {"w.txt": "x" * 9}), {"b": 40}, 0),
    "a new file": (lambda root: write_files(root, {"c.py": net("", 3)}), {"c": 16}, 0),
    "a new file in a directory without one": (
        lambda root: write_files(root, {"data/d.py": net("", 3)}),
        {"data/d": 16},
        0,
    ),
    "a file less": (lambda root: (root / "c.py").unlink(), {"c": None}, 0),
    "a config that is extended": (
        lambda root: write_files(root, {"../base.toml": '[budgets]\n"a.py::Gone" = 1\n'}),
        {},
        1,
    ),
    "a file that git ignores": (
        lambda root: write_files(root, {".gitignore": "/.venv/\nb.py\n"}),
        {"b": None},
        1,
    ),
    "a link to another config": (lambda root: link(root / "../base.toml", "other.toml"), {}, 0),
    "a file that git excludes": (
        lambda root: write_files(root, {".git/info/exclude": "data\n"}),
        {"data/d": None},
        0,
    ),
    "another budget": (
        lambda root: write_files(root, {"nparam-lint.toml": '[budgets]\n"a.py::Net" = 132\n'}),
        {},
        0,
    ),
    "a module that shadows": (  # the worker takes its own
        lambda root: write_files(root, {"torch.py": ""}),
        {},
        0,
    ),
}


def test_what_may_change_the_answer_and_what_may_not(project: Project) -> None:
    totals: dict[str, int | None] = {"a": 68, "b": 36}
    before = project.keep(*JSON)
    for name, same in SAME.items():
        same(project.root)
        assert project.replayed(*JSON) == before, name
    for name, (change, changes, code) in OTHER.items():
        change(project.root)
        assert project.replayed(*JSON) is None, name
        totals |= changes
        found = answer(project.checker.run(*JSON, cwd=project.root, **project.environ))
        there = {f"{model}.py::Net": total for model, total in totals.items() if total}
        assert (found.totals, found.code) == (there, code), name
        project.keep(*JSON)


@pytest.mark.thorough
@pytest.mark.parametrize("variable", ["", "VIRTUAL_ENV"])
def test_an_environment_that_gets_torch(project: Project, tmp_path: Path, variable: str) -> None:
    place = tmp_path / "active" if variable else project.root / ".venv"
    ours = new_environment(place) / "ours.pth"
    paths = ours.read_text()
    ours.unlink()
    if variable:
        project.environ[variable] = str(place)
    project.keep(*JSON)
    ours.write_text(paths)
    assert project.replayed(*JSON) is None
    done = project.checker.run(*JSON, cwd=project.root, **project.environ)
    assert json.loads(done.stdout)["environment"]["python"] == str(place / "bin" / "python")


def test_what_a_linked_worktree_has_from_the_main_one(project: Project, tmp_path: Path) -> None:
    main, options = project.root, ("--static", "--ignore", "NPL003")
    for words in ("add .", "commit -qm all", f"worktree add -q {tmp_path / 'linked'}"):
        subprocess.run(["git", *words.split()], cwd=main, env=project.environ, check=True)
    project.root = tmp_path / "linked"
    project.keep(*options)
    write_files(main, {".git/info/exclude": "b.py\n"})
    assert project.replayed(*options) is None


def test_an_answer_that_lacks_something(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left out for a defect is told with each answer: none of these is kept."""
    project.keep()
    write_files(project.root, {"w.txt": "x" * 9})
    time.sleep(0.06)  # what was changed just before a run is not relied upon either
    with monkeypatch.context() as broken:
        broken.setattr("nparam_lint.evidence.containment.find_containment", lambda _: 1 / 0)
        done = project.checker.run(cwd=project.root, **project.environ)
    assert "which models are parts of others is left out: a defect" in done.stderr
    assert project.replayed() is None
    project.keep()


def test_answers_alone_do_not_fill_the_disk(project: Project) -> None:
    project.keep(*JSON)
    (folder,) = {path.parent for path in project.cache.glob("v1/*/run-*")}
    partial = folder / f"run-0.0123456789abcdef{PARTIAL}"
    partial.touch()
    for path in (partial, *folder.parent.rglob(TAG)):
        os.utime(path, PAST)
    before = {path.name for path in folder.iterdir()}
    # Another question, and no build can see it.
    project.checker.run(*JSON, cwd=project.root, **project.environ | {"COLUMNS": "77"})
    now = {path.name for path in folder.iterdir()}
    assert before - now == {partial.name}
    assert [name.partition("-")[0] for name in now - before] == ["run"]


def test_what_was_not_read_in_time_is_read_again(project: Project) -> None:
    """No answer is kept that rests on less than all files, also where that must not be told."""
    # Takes longer than a fiftieth of a second to read.
    (project.root / "a.py").write_text("import torch\n" + "x = [1, 2, 3, f(4)]\n" * 4_000)
    time.sleep(0.06)
    for timeout, kept in (("0.01", 0), ("60", 1)):
        options = ("--static", "--timeout", timeout, "--ignore", "NPL003")
        project.checker.run(*options, cwd=project.root, **project.environ)
        assert len([*project.cache.rglob("run-*")]) == kept


@pytest.mark.thorough
def test_what_is_staged_while_the_index_is_copied(
    tmp_path: Path, nparam_lint_process: Command
) -> None:
    """A run that looks at an index that is no more must not speak for the next one."""
    # To copy these takes longer than the 50 ms that are not relied upon.
    files = {f"data/{i}": str(i) * 1_000_000 for i in range(10, 60)}
    checker = Checker.of(files | {"a.py": net("", 4)}, nparam_lint_process, tmp_path)
    wrong = net("", 4).replace(":\n", ':\n    """nparam: about 20"""\n', 1)
    copies = tmp_path / "copies"
    copies.mkdir()
    more = {"NPARAM_LINT_CACHE": str(checker.cache), "TMPDIR": str(copies)}
    staged = ("check", "--staged", "--static", "--format", "json")

    def add() -> None:
        subprocess.run(["git", "add", "."], cwd=checker.root, check=True)

    add()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(checker.run, *staged, cwd=checker.root, **more)
        while not first.done() and not [*copies.glob("*/data")]:
            time.sleep(0.001)
        write_files(checker.root, {"a.py": wrong})
        add()
    assert first.result().returncode == 0  # it saw what was staged at first
    done = checker.run(*staged, cwd=checker.root, **more)
    assert done.returncode == 1, done.stdout
