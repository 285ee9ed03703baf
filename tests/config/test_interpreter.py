"""Which interpreter is chosen, among environments that are really there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from case_books import cases_beside

import nparam_lint
from nparam_lint.config.interpreter import (
    Interpreter,
    environments_in,
    find_interpreter,
)
from nparam_lint.ground.errors import UsageError

if TYPE_CHECKING:
    from case_books import Case, ProjectBook

pytestmark = pytest.mark.skipif(
    os.name != "posix", reason="makes environments of links, as they are laid out on POSIX"
)

BASE = getattr(sys, "_base_executable", sys.executable)


def environment(place: Path, torch: bool = True, name: str = "python") -> Path:
    """An environment at `place` as `python -m venv` lays it out; returns its executable."""
    packages = place / "lib" / f"python3.{sys.version_info[1]}" / "site-packages"
    packages.mkdir(parents=True)
    (place / "bin").mkdir()
    (place / "bin" / name).symlink_to(BASE)
    home = Path(BASE).parent
    (place / "pyvenv.cfg").write_text(f"home = {home}\ninclude-system-site-packages = false\n")
    if torch:
        (packages / "torch").mkdir()
        (packages / "torch" / "__init__.py").touch()
    return place / "bin" / name


# --- asked for ---------------------------------------------------------------------------------


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that is not where the run is."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "bins" / "bin"))
    (tmp_path / "project" / "empty").mkdir(parents=True)
    return tmp_path / "project"


def named(root: Path, value: str) -> Interpreter:
    return find_interpreter(root, {}, None, value, "asked for by the test")


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("project/envs/one", "envs/one/bin/python"),
        ("env", "../env/bin/python"),
        ("home/env", "~/env/bin/python"),
        *(("project/env", value) for value in ("env", "env/", "./env")),
    ],
)
def test_a_path_of_an_interpreter_or_of_an_environment(root: Path, place: str, value: str) -> None:
    environment(root / ".venv")  # what is asked for comes before all else
    python = environment(root.parent / place, torch=False)
    found = named(root, value)
    assert Path(os.path.normpath(found.python)) == python
    assert named(root, str(python)).python == str(python)
    assert found.reason == "asked for by the test"


@pytest.mark.parametrize(
    ("place", "name", "value"),
    [("project/env", "python3", "env"), ("bins", "python3.99", "python3.99")],
)
def test_other_names(root: Path, place: str, name: str, value: str) -> None:
    python = environment(root.parent / place, name=name)
    assert named(root, value).python == str(python)


@pytest.mark.parametrize("value", ["absent/bin/python", "absent", "/absent/python", "empty"])
def test_what_is_not_there(root: Path, value: str) -> None:
    with pytest.raises(UsageError) as caught:
        named(root, value)
    for part in (value, "asked for by the test", ".venv/bin/python"):
        assert part in str(caught.value)


# --- found by a front end whose own environment has no torch, as a hook's ------------------------

CASES = cases_beside(__file__, "interpreters")
ASK = """
import json, sys
from pathlib import Path
from msgspec import structs
from nparam_lint.config.interpreter import find_interpreter
for root, environ in json.load(sys.stdin):
    print(json.dumps(structs.asdict(find_interpreter(Path(root), environ))))
"""


def ask(own: Path, questions: list[tuple[str, dict[str, str]]]) -> list[dict[str, object]]:
    """The answers of a process that has the standard library, and what is imported there."""
    libraries = own.parent / "libraries"
    libraries.mkdir(exist_ok=True)
    for module in (msgspec, nparam_lint):
        (libraries / module.__name__).symlink_to(Path(module.__file__ or "").parent)
    done = subprocess.run(
        [str(own / "bin" / "python"), "-c", ASK],
        env={"PYTHONPATH": str(libraries), "PYTHONDONTWRITEBYTECODE": "1"},
        input=json.dumps(questions),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What is found in each case."""
    own = tmp_path_factory.mktemp("own") / "env"
    venv.create(own, symlinks=True)
    questions = []
    for parameter in CASES:
        lines = (line.split(": ") for line in parameter.values[1].asked.split("\n"))
        named = {name: places.split() for name, places in lines}
        root = tmp_path_factory.mktemp("case") / "project"
        root.mkdir()
        for place in named.pop("there", []):
            python = environment(root / place.lstrip("-!"), place[0] != "-")
            if place[0] == "!":
                python.unlink()
                python.symlink_to(root / "gone")
        values = {key: [place_of(root, one, own) for one in ones] for key, ones in named.items()}
        values["PATH"] = [f"{place}/bin" for place in values.get("PATH", [])]
        told = {key: os.pathsep.join(places) for key, places in values.items()}
        questions.append((str(root), told))
    found = []
    for (root, _), answer in zip(questions, ask(own, questions), strict=True):
        passed = [f"passed over {python}: {why}" for python, why in answer["without"]]
        text = "\n".join([f"{answer['python']}: {answer['reason']}", *passed])
        text = text.replace(f"{own}/", "own/").replace("/bin/python", "")
        found.append(text.replace(f"{root}/../", "../").replace(f"{root}/", ""))
    return found


def place_of(root: Path, place: str, own: Path) -> str:
    return str(own if place == "own" else root / place)


@pytest.mark.parametrize(("book", "case"), CASES)
def test_what_is_found(
    answers: list[str], book: ProjectBook, case: Case, request: pytest.FixtureRequest
) -> None:
    book.check(case.number, answers[case.number], update=request.config.getoption("update"))


def test_our_own_in_the_project_is_found(root: Path) -> None:
    """The project's `.venv` may be the environment that we are installed in."""
    place = root / ".venv"
    venv.create(place, symlinks=True)
    packages = place / "lib" / f"python3.{sys.version_info[1]}" / "site-packages"
    (packages / "torch").mkdir()
    (packages / "torch" / "__init__.py").touch()
    environ = {"VIRTUAL_ENV": str(place), "PATH": str(place / "bin")}
    (found,) = ask(place, [(str(root), environ)])
    python = str(place / "bin" / "python")
    assert (found["python"], found["reason"]) == (python, ".venv in the project")


# --- found by one that has torch ------------------------------------------------------------------


def test_our_own_comes_before_path_and_is_not_the_projects(root: Path) -> None:
    environ = {"PATH": str(environment(root.parent / "env").parent), "VIRTUAL_ENV": sys.prefix}
    found = find_interpreter(root, environ)
    own = (sys.executable, "nparam-lint's own environment has torch")
    assert (found.python, found.reason) == own


def test_links_are_not_followed(root: Path) -> None:
    """`.venv` is a link to an environment, whose executable is a link to its base's."""
    without = environment(root / "venv", torch=False)
    environment(root.parent / "real")
    (root / ".venv").symlink_to(root.parent / "real")
    found = find_interpreter(root, {})
    assert found.python == str(root / ".venv" / "bin" / "python")
    assert Path(found.python).resolve() == Path(BASE).resolve() == without.resolve()
    (root / ".venv").unlink()
    said = f"{without} (venv in the project) has no torch"
    assert find_interpreter(root, {}).passed_over == [said]


# --- worktrees ------------------------------------------------------------------------------------


def worktrees(main: Path, linked: Path) -> None:
    main.mkdir(parents=True)
    clean = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    git = ["git", "-C", str(main), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for command in (
        ["init", "-q"],
        ["commit", "-q", "--allow-empty", "-m", "first"],
        ["worktree", "add", "-q", str(linked)],
    ):
        subprocess.run([*git, *command], env=clean, check=True, capture_output=True)


def test_a_linked_worktree_uses_the_main_one(tmp_path: Path) -> None:
    main, linked = tmp_path / "worktrees" / "main", tmp_path / "worktrees" / "linked"
    worktrees(main, linked)
    (linked / "sub/deeper").mkdir(parents=True)
    python = environment(main / ".venv")
    found = find_interpreter(linked / "sub/deeper", {})
    assert (Path(found.python), found.reason) == (python, ".venv in the main worktree")


@pytest.mark.parametrize("place", ["a", "a/deep", "b", ""])
def test_the_nearest_environment_up_to_the_top_of_the_repository(
    tmp_path: Path, place: str
) -> None:
    main, linked = tmp_path / "main", tmp_path / "linked"
    worktrees(main, linked)
    (linked / "a/deep").mkdir(parents=True)
    (linked / "b").mkdir()
    where = place.partition("/")[0]
    expected = {
        name: environment(main / name / folder)
        for name, folder in (("a", ".venv"), ("b", "venv"), ("", ".venv"))
    }[where]
    environment(tmp_path / ".venv")  # outside of the repository
    for top in (main, linked):
        for root in (top, top / place):
            found = find_interpreter(root, {}, top / place)
            assert Path(found.python) == expected
    assert environments_in(linked, ["a", "a/deep", "b"]) == {"a": "a/.venv", "b": "b/venv"}
    own = environment(linked / "venv")  # what is in the worktree itself comes first
    assert find_interpreter(linked, {}, linked / place).python == str(own)
