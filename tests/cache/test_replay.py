"""The last answer is given again where nothing that it rests on has changed, and only there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cache_project import edit, net, new_repository, write

from nparam_lint.cache.store import PARTIAL, TAG

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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


def imported(root: Path, environ: Mapping[str, str], *options: str) -> tuple[set[str], str]:
    """(the modules that a run imports, what it prints)."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "nparam_lint", *options],
        cwd=root,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    lines = done.stderr.splitlines()
    return {line.rpartition("|")[2].strip() for line in lines if "|" in line}, done.stdout


# Takes longer than a fiftieth of a second to read.
SLOW = "import torch\n" + "x = [1, 2, 3, f(4)]\n" * 20_000
READING = "import os\nW = len(open(os.path.join(os.path.dirname(__file__), 'w.txt')).read())"
FILES = {"a.py": net("", 16), "b.py": net(READING, "W"), "w.txt": "x" * 8, "data/x": ""}


def begin(root: Path) -> None:
    """Two models, one of which reads a file, as they were at first."""
    for path in root.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    (root / ".git/info/exclude").unlink(missing_ok=True)
    write(root, FILES)
    # A change that shortly before a run leaves no trace in a file's times.
    past = 1_600_000_000
    for path in [*root.rglob("*"), root]:
        os.utime(path, (past, past))


@pytest.fixture
def project(tmp_path: Path, environ: dict[str, str]) -> tuple[Path, dict[str, str]]:
    """A repository, and an environment with a cache of its own."""
    root = tmp_path / "project"
    new_repository(root)
    begin(root)
    return root, environ | {"NPARAM_LINT_CACHE": str(tmp_path / "cache")}


@pytest.fixture(scope="module")
def built(
    tmp_path_factory: pytest.TempPathFactory, environ: dict[str, str]
) -> tuple[Path, dict[str, str]]:
    """The same, with both models built."""
    top = tmp_path_factory.mktemp("built")
    new_repository(top / "project")
    begin(top / "project")
    told = environ | {"NPARAM_LINT_CACHE": str(top / "cache")}
    answer(top / "project", told)
    return top / "project", told


@pytest.fixture
def answered(built: tuple[Path, dict[str, str]]) -> tuple[Path, dict[str, str]]:
    """The same, whatever another test changed, with an answer that is kept."""
    begin(built[0])
    wait_for_the_clock(*built)
    return built


def answer(root: Path, environ: Mapping[str, str], *options: str) -> Any:
    """(modules imported, totals by target) of a run; it has settled when it is repeated."""
    modules, text = imported(root, environ, "--format", "json", *options)
    models = json.loads(text)["models"]
    return modules, {model["target"]: (model["counts"] or {}).get("total") for model in models}


def wait_for_the_clock(root: Path, environ: Mapping[str, str], *options: str) -> None:
    """What was changed less than 50 ms before a run began is not relied upon."""
    for _ in range(50):
        if not HEAVY & answer(root, environ, *options)[0]:
            return
    raise AssertionError("no answer was kept")


def test_nothing_heavy_is_imported_where_nothing_changed(project: Any) -> None:
    root, environ = project
    first = answer(root, environ)
    assert first[0] | {"libcst"} >= HEAVY
    wait_for_the_clock(root, environ)
    modules, totals = answer(root, environ)
    assert not HEAVY & modules
    assert totals == first[1]


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
    "a file that was read": (
        lambda root: write(root, {"w.txt": "x" * 9}),
        A | {"b.py::Net": 40},
    ),
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


def test_what_did_not_change_anything(answered: Any) -> None:
    """One after the other."""
    root, environ = answered
    before = answer(root, environ)[1]
    for name, change in SAME.items():
        change(root)
        modules, totals = answer(root, environ)
        assert not HEAVY & modules, name
        assert totals == before, name


# The others are like one of these.
AT_NIGHT = (
    "a new file in a directory without one",
    "a file less",
    "a file that git excludes",
    "a budget in the config",
    "a new file",
)


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.thorough) if n in AT_NIGHT else n for n in OTHER],
)
def test_what_may_change_the_answer(answered: Any, name: str) -> None:
    root, environ = answered
    change, expected = OTHER[name]
    change(root)
    modules, totals = answer(root, environ)
    assert modules >= HEAVY - {"libcst"}
    assert totals == expected


def test_another_environment_is_another_question(project: Any) -> None:
    """Of models that are declared, of which there is none: nothing is built."""
    root, environ = project
    wait_for_the_clock(root, environ, "--declared")
    assert not HEAVY & answer(root, environ | {"SOMETHING": "else"}, "--declared")[0]
    other = answer(root, environ | {"HF_HOME": "/elsewhere"}, "--declared")
    assert other[0] >= HEAVY - {"libcst"}
    assert not HEAVY & answer(root, environ | {"SHLVL": "7"}, "--declared")[0]
    assert answer(root, environ, "--declared", "--no-c")[0] >= HEAVY - {"libcst"}


@pytest.mark.thorough
def test_the_exit_code_and_the_text_are_those_of_the_run(project: Any) -> None:
    root, environ = project
    write(root, {"nparam-lint.toml": '[budgets]\n"a.py::Gone" = 1\n'})
    os.utime(root / "nparam-lint.toml", (1_600_000_000, 1_600_000_000))
    command = [sys.executable, "-m", "nparam_lint", "--format", "concise"]

    def run() -> tuple[int, str]:
        done = subprocess.run(
            command, cwd=root, env=environ, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout

    first = run()
    assert first[0] == 1
    assert "NPL008" in first[1]
    for _ in range(20):  # until the answer is kept, and once more
        is_kept = not HEAVY & imported(root, environ, "--format", "concise")[0]
        assert run() == first
        if is_kept:
            return
    raise AssertionError("no answer was kept")


@pytest.mark.thorough
def test_answers_alone_do_not_fill_the_disk(project: Any) -> None:
    root, environ = project
    answer(root, environ)
    answer(root, environ)
    (folder,) = {path.parent for path in Path(environ["NPARAM_LINT_CACHE"]).glob("v1/*/run-*")}
    left_over = folder / f"run-0.0123456789abcdef{PARTIAL}"
    left_over.touch()
    long_ago = 1_600_000_000
    for path in (left_over, *folder.parent.rglob(TAG)):
        os.utime(path, (long_ago, long_ago))
    before = {path.name for path in folder.iterdir()}
    answer(root, environ | {"COLUMNS": "77"})  # another question, and no build can see it
    now = {path.name for path in folder.iterdir()}
    assert before - now == {left_over.name}
    assert [name.partition("-")[0] for name in now - before] == ["run"]


@pytest.mark.parametrize("ignored", ["NPL101", pytest.param("NPL003", marks=pytest.mark.thorough)])
def test_what_was_not_read_in_time_is_read_again(
    project: tuple[Path, dict[str, str]], nparam_lint: Callable[..., Any], ignored: str
) -> None:
    """No answer is kept that rests on less than all files, whether it tells so or must not."""
    root, environ = project
    (root / "a.py").write_text(SLOW)
    for path in [*root.rglob("*"), root]:
        os.utime(path, (1_600_000_000, 1_600_000_000))
    store = environ["NPARAM_LINT_CACHE"]
    for timeout, kept in (("0.01", 0), ("60", 1)):
        options = ("--static", "--timeout", timeout, "--ignore", ignored)
        done = nparam_lint(*options, cwd=root, NPARAM_LINT_CACHE=store)
        assert ("NPL003" in done.stdout) == (not kept and ignored != "NPL003")
        assert len([*Path(store).rglob("run-*")]) == kept
