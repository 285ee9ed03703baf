"""Which interpreter is chosen, among environments that are really there."""

import json
import os
import subprocess
import sys
import venv
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

import nparam_lint
from nparam_lint.config.interpreter import (
    Interpreter,
    NoInterpreter,
    environments_in,
    find_interpreter,
)

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


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def find(root: Path, environ: Mapping[str, str] | None = None) -> Interpreter:
    return find_interpreter(root, environ or {})


# --- asked for ---------------------------------------------------------------------------------


def named(root: Path, value: str) -> Interpreter:
    return find_interpreter(root, {}, None, value, "asked for by the test")


def test_an_absolute_path(root: Path, tmp_path: Path) -> None:
    python = environment(tmp_path / "env")
    found = named(root, str(python))
    assert (found.python, found.reason) == (str(python), "asked for by the test")


def test_what_is_asked_for_comes_before_all_else(root: Path, tmp_path: Path) -> None:
    environment(root / ".venv")
    python = environment(tmp_path / "env", torch=False)
    assert named(root, str(python)).python == str(python)


def test_a_path_relative_to_the_root(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = environment(root / "envs" / "one")
    monkeypatch.chdir(tmp_path)
    assert named(root, "envs/one/bin/python").python == str(python)


def test_a_path_that_leaves_the_root(root: Path, tmp_path: Path) -> None:
    python = environment(tmp_path / "env")
    assert Path(named(root, "../env/bin/python").python).samefile(python)


def test_a_path_below_home(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    python = environment(tmp_path / "home" / "env")
    assert named(root, "~/env/bin/python").python == str(python)


@pytest.mark.parametrize("value", ["env", "env/", "./env"])
def test_a_directory(root: Path, value: str) -> None:
    python = environment(root / "env")
    assert named(root, value).python == str(python)


def test_a_directory_with_python3_alone(root: Path) -> None:
    python = environment(root / "env", name="python3")
    assert named(root, "env").python == str(python)


def test_a_name_on_path(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = environment(tmp_path / "env", name="python3.99")
    monkeypatch.setenv("PATH", str(python.parent))
    assert named(root, "python3.99").python == str(python)


@pytest.mark.parametrize("value", ["absent/bin/python", "absent", "/absent/python", "empty"])
def test_what_is_not_there(root: Path, value: str) -> None:
    (root / "empty").mkdir()
    with pytest.raises(NoInterpreter) as caught:
        named(root, value)
    assert value in str(caught.value)
    assert "asked for by the test" in str(caught.value)
    assert ".venv/bin/python" in str(caught.value)


# --- found -------------------------------------------------------------------------------------


def test_dot_venv_comes_first(root: Path, tmp_path: Path) -> None:
    python = environment(root / ".venv")
    environment(root / "venv")
    environment(tmp_path / "active")
    found = find(root, {"VIRTUAL_ENV": str(tmp_path / "active")})
    assert (found.python, found.reason) == (str(python), ".venv in the project")
    assert (found.has_torch, found.passed_over) == (True, [])


def test_venv(root: Path, tmp_path: Path) -> None:
    python = environment(root / "venv")
    environment(tmp_path / "active")
    found = find(root, {"VIRTUAL_ENV": str(tmp_path / "active")})
    assert (found.python, found.reason) == (str(python), "venv in the project")


def test_an_environment_without_torch_is_passed_over(root: Path) -> None:
    without = environment(root / ".venv", torch=False)
    python = environment(root / "venv")
    found = find(root)
    assert (found.python, found.has_torch) == (str(python), True)
    assert found.passed_over == [f"{without} (.venv in the project) has no torch"]


def test_a_broken_environment_is_passed_over(root: Path) -> None:
    broken = environment(root / ".venv", torch=False)
    broken.unlink()
    broken.symlink_to(root / "gone")
    python = environment(root / "venv")
    assert find(root).python == str(python)


def git(directory: Path, *arguments: str) -> None:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run(
        ["git", *who, *arguments], cwd=directory, env=clean, check=True, capture_output=True
    )


@pytest.mark.parametrize("below", ["main", "worktrees/main"])
@pytest.mark.parametrize("inside", ["", "sub/deeper"])
def test_a_linked_worktree_uses_the_main_one(tmp_path: Path, below: str, inside: str) -> None:
    main, linked = tmp_path / below, tmp_path / "worktrees" / "linked"
    main.mkdir(parents=True)
    git(main, "init", "-q")
    git(main, "commit", "-q", "--allow-empty", "-m", "first")
    git(main, "worktree", "add", "-q", str(linked))
    (linked / inside).mkdir(parents=True, exist_ok=True)
    python = environment(main / ".venv")
    found = find(linked / inside)
    assert Path(found.python) == python
    assert found.reason == ".venv in the main worktree"


def test_a_worktree_prefers_its_own(tmp_path: Path) -> None:
    main, linked = tmp_path / "main", tmp_path / "linked"
    main.mkdir()
    git(main, "init", "-q")
    git(main, "commit", "-q", "--allow-empty", "-m", "first")
    git(main, "worktree", "add", "-q", str(linked))
    environment(main / ".venv")
    python = environment(linked / "venv")
    assert find(linked).python == str(python)


@pytest.mark.parametrize("place", ["a", "a/deep", "b", ""])
def test_the_nearest_environment_up_to_the_top_of_the_repository(
    tmp_path: Path, place: str
) -> None:
    main, linked = tmp_path / "main", tmp_path / "linked"
    main.mkdir()
    git(main, "init", "-q")
    git(main, "commit", "-q", "--allow-empty", "-m", "first")
    git(main, "worktree", "add", "-q", str(linked))
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


def test_virtual_env(root: Path, tmp_path: Path) -> None:
    python = environment(tmp_path / "active")
    found = find(root, {"VIRTUAL_ENV": str(tmp_path / "active")})
    assert (found.python, found.reason) == (str(python), "VIRTUAL_ENV")


def test_a_virtual_env_that_is_gone(root: Path, tmp_path: Path) -> None:
    assert find(root, {"VIRTUAL_ENV": str(tmp_path / "gone")}).reason != "VIRTUAL_ENV"


@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="needs to run in a virtual environment")
def test_our_own_virtual_env_is_not_the_projects(root: Path) -> None:
    assert find(root, {"VIRTUAL_ENV": sys.prefix}).reason != "VIRTUAL_ENV"


def test_links_are_not_followed(root: Path, tmp_path: Path) -> None:
    """`.venv` is a link to an environment, whose executable is a link to its base's."""
    environment(tmp_path / "real")
    (root / ".venv").symlink_to(tmp_path / "real")
    found = find(root)
    assert found.python == str(root / ".venv" / "bin" / "python")
    assert Path(found.python).resolve() == Path(BASE).resolve()


# --- found by a front end whose own environment has no torch -------------------------------------

ASK = """
import json, os, sys
from pathlib import Path
from msgspec import structs
from nparam_lint.config.interpreter import find_interpreter
found = find_interpreter(Path(sys.argv[1]), os.environ)
print(json.dumps(structs.asdict(found)))
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment without torch, as a hook's is."""
    place = tmp_path_factory.mktemp("own") / "env"
    venv.create(place, symlinks=True)
    return place


def ask(own: Path, root: Path, environ: Mapping[str, str]) -> Interpreter:
    libraries = root.parent / "libraries"  # what is imported there, and no torch
    libraries.mkdir()
    for module in (msgspec, nparam_lint):
        (libraries / module.__name__).symlink_to(Path(module.__file__ or "").parent)
    done = subprocess.run(
        [str(own / "bin" / "python"), "-c", ASK, str(root)],
        env={"PYTHONPATH": str(libraries), "PYTHONDONTWRITEBYTECODE": "1", **environ},
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    return Interpreter(**{**found, "without": tuple(map(tuple, found["without"]))})


def test_next_on_path(own: Path, root: Path, tmp_path: Path) -> None:
    python = environment(tmp_path / "env", name="python3")
    path = os.pathsep.join([str(own / "bin"), str(tmp_path / "none"), str(python.parent)])
    found = ask(own, root, {"PATH": path, "VIRTUAL_ENV": str(own)})
    assert (found.python, found.reason) == (str(python), "next on PATH")
    assert found.has_torch
    assert found.passed_over == []


def test_path_passes_over_what_has_no_torch(own: Path, root: Path, tmp_path: Path) -> None:
    without = environment(tmp_path / "without", torch=False)
    python = environment(tmp_path / "env")
    found = ask(own, root, {"PATH": f"{without.parent}{os.pathsep}{python.parent}"})
    assert found.python == str(python)
    assert found.passed_over == [f"{without} (next on PATH) has no torch"]


def test_links_to_one_base_stay_apart(own: Path, root: Path, tmp_path: Path) -> None:
    """All three executables are the same file in the end."""
    one, two = environment(tmp_path / "one", torch=False), environment(tmp_path / "two")
    assert one.resolve() == two.resolve() == (own / "bin" / "python").resolve()
    found = ask(own, root, {"PATH": os.pathsep.join(map(str, (one.parent, two.parent)))})
    assert found.python == str(two)


def test_conda(own: Path, root: Path, tmp_path: Path) -> None:
    python = environment(tmp_path / "conda")
    found = ask(own, root, {"CONDA_PREFIX": str(tmp_path / "conda"), "PATH": ""})
    assert (found.python, found.reason) == (str(python), "CONDA_PREFIX")


def test_path_before_conda(own: Path, root: Path, tmp_path: Path) -> None:
    python = environment(tmp_path / "env")
    environment(tmp_path / "conda")
    environ = {"CONDA_PREFIX": str(tmp_path / "conda"), "PATH": str(python.parent)}
    assert ask(own, root, environ).reason == "next on PATH"


def test_virtual_env_before_path(own: Path, root: Path, tmp_path: Path) -> None:
    environment(tmp_path / "env")
    environment(tmp_path / "active")
    environ = {"VIRTUAL_ENV": str(tmp_path / "active"), "PATH": str(tmp_path / "env" / "bin")}
    assert ask(own, root, environ).reason == "VIRTUAL_ENV"


def test_no_torch_anywhere_names_the_best_place(own: Path, root: Path, tmp_path: Path) -> None:
    first = environment(root / ".venv", torch=False)
    second = environment(tmp_path / "env", torch=False)
    found = ask(own, root, {"PATH": str(second.parent)})
    assert (found.python, found.has_torch) == (str(first), False)
    assert found.passed_over == [
        f"{first} (.venv in the project) has no torch",
        f"{second} (next on PATH) has no torch",
    ]


def test_nothing_anywhere(own: Path, root: Path) -> None:
    found = ask(own, root, {"PATH": str(own / "bin")})
    assert found.python == str(own / "bin" / "python")
    assert (found.reason, found.has_torch) == ("no other environment was found", False)


def test_our_own_in_the_project_is_found(root: Path) -> None:
    """The project's `.venv` may be the environment that we are installed in."""
    place = root / ".venv"
    venv.create(place, symlinks=True)
    packages = place / "lib" / f"python3.{sys.version_info[1]}" / "site-packages"
    (packages / "torch").mkdir()
    (packages / "torch" / "__init__.py").touch()
    found = ask(place, root, {"VIRTUAL_ENV": str(place), "PATH": str(place / "bin")})
    assert (found.python, found.reason) == (str(place / "bin" / "python"), ".venv in the project")
