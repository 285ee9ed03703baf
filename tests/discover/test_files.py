from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from typing import TYPE_CHECKING

import pytest

from nparam_lint.discover import (
    discover,
    find_root,
    inner_folders,
    list_below,
    list_files,
    list_importable,
    list_project,
)
from nparam_lint.ground.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


def write(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x = 1\n")


def git(root: Path, *arguments: str) -> None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
        cwd=root,
        env=environment,
        check=True,
        capture_output=True,
    )


def test_git_decides_and_untracked_files_count(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "pkg/b.py", "out/c.py", "notes.txt", "gone.py")
    (tmp_path / ".gitignore").write_text("out/\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "a.py", "gone.py")
    (tmp_path / "gone.py").unlink()
    assert list_files(tmp_path) == ["a.py", "pkg/b.py"]
    assert list_files(tmp_path, [tmp_path / "pkg"]) == ["pkg/b.py"]


def test_what_the_user_names_is_included_though_ignored_or_excluded(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "out/c.py", "out/deep/d.py", "third/e.py")
    (tmp_path / ".gitignore").write_text("out/\n")
    git(tmp_path, "init", "-q")
    assert list_files(tmp_path, [tmp_path / "out"]) == ["out/c.py", "out/deep/d.py"]
    assert list_files(tmp_path, [tmp_path / "out/c.py"]) == ["out/c.py"]
    assert list_files(tmp_path, [], ["third/**"]) == ["a.py"]
    assert list_files(tmp_path, [tmp_path / "third/e.py"], ["third/**"]) == ["third/e.py"]


def test_an_environment_that_git_was_not_told_of_is_left_out(tmp_path: Path) -> None:
    write(
        tmp_path,
        "a.py",
        "myenv/lib/site.py",
        "myenv/pyvenv.cfg",
        "node_modules/x/y.py",
        ".ipynb_checkpoints/b-checkpoint.py",
    )
    git(tmp_path, "init", "-q")
    assert list_files(tmp_path) == ["a.py"]


def test_hook_variables_do_not_redirect_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, other = tmp_path / "here", tmp_path / "other"
    write(here, "a.py")
    write(other, "b.py")
    git(here, "init", "-q")
    git(other, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    assert list_files(here) == ["a.py"]


def test_without_git_the_usual_directories_are_skipped(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "pkg/b.py", ".hidden/c.py", "env/pyvenv.cfg", "env/d.py")
    write(tmp_path, "__pycache__/e.py", "build/lib/f.py", "x.egg-info/g.py")
    write(tmp_path, "pkg/build/__init__.py")
    assert list_files(tmp_path) == ["a.py", "pkg/b.py", "pkg/build/__init__.py"]


def test_broken_links_are_left_out_and_wrong_paths_raise(tmp_path: Path) -> None:
    write(tmp_path, "in/a.py", "b.py")
    (tmp_path / "in/dead.py").symlink_to(tmp_path / "nowhere.py")
    assert list_files(tmp_path / "in") == ["a.py"]
    with pytest.raises(FileNotFoundError, match="missing"):
        list_files(tmp_path, [tmp_path / "missing"])
    with pytest.raises(UsageError, match="outside"):
        list_files(tmp_path / "in", [tmp_path / "b.py"])


def test_imports_may_reach_submodules(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "libs/sub/b.py")
    (tmp_path / ".gitmodules").write_text('[submodule "sub"]\n\tpath = libs/sub\n')
    git(tmp_path / "libs/sub", "init", "-q")
    git(tmp_path / "libs/sub", "add", ".")
    git(tmp_path / "libs/sub", "commit", "-qm", "x")
    git(tmp_path, "init", "-q")
    assert list_files(tmp_path) == ["a.py"]
    assert list_importable(tmp_path) == ["a.py", "libs/sub/b.py"]


def test_both_lists_at_once_ask_git_once_for_each_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "project"
    write(root, "a.py", "out/c.py", "third/e.py")
    (root / ".gitignore").write_text("out/\n")
    git(root, "init", "-q")
    for paths, times in (([], 1), ([root], 1), ([root / "third", root / "a.py"], 2)):
        trace = tmp_path / f"trace{len(paths)}{times}"
        with monkeypatch.context() as patch:
            patch.setenv("PATH", f"{_traced(tmp_path, trace)}{os.pathsep}{os.environ['PATH']}")
            below = cache(list_below)
            inner_folders(root, below(root))
            both = list_project(root, paths, ["third/**"], below)
        assert both == (list_files(root, paths, ["third/**"]), list_importable(root))
        asked = trace.read_text().splitlines()
        assert len(asked) == times
        assert all(" ls-files " in line for line in asked)
    assert list_project(root, [root / "out"]) == (["out/c.py"], ["a.py", "third/e.py"])


def _traced(folder: Path, trace: Path) -> Path:
    """A directory with a `git` that notes what it is asked, and asks the real one."""
    place = folder / f"bin-{trace.name}"
    place.mkdir()
    real = shutil.which("git")
    (place / "git").write_text(f'#!/bin/sh\necho " $* " >> "{trace}"\nexec "{real}" "$@"\n')
    (place / "git").chmod(0o755)
    return place


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is closed to this user"
)
def test_what_may_not_be_looked_at_is_a_problem_and_not_left_out(tmp_path: Path) -> None:
    write(tmp_path, "closed/a.py")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    (tmp_path / "closed").chmod(0)
    try:
        files = list_files(tmp_path)
        (problem,) = discover(tmp_path, files).problems
    finally:
        (tmp_path / "closed").chmod(0o755)
    assert files == ["closed/a.py"]
    assert "cannot be read: Permission denied" in problem.message


def test_root(tmp_path: Path) -> None:
    write(tmp_path, "repo/a/b/c.py", "repo/a/pyproject.toml")
    (tmp_path / "repo/.git").mkdir()
    (tmp_path / "nparam-lint.toml").write_text("")
    assert find_root(tmp_path / "repo/a/b/c.py") == tmp_path / "repo"  # never beyond git
    (tmp_path / "repo/a/pyproject.toml").write_text("[tool.nparam-lint]\n")
    assert find_root(tmp_path / "repo/a/b/c.py") == tmp_path / "repo/a"


@pytest.mark.parametrize(
    ("text", "is_ours"),
    [
        ("[tool.nparam-lint]", True),
        ('[ tool . "nparam-lint" . budgets ]', True),
        ('[tool]\nnparam-lint = { device = "cpu" }', True),
        ("tool.nparam-lint.device = 'cpu'", True),
        ("tool = 'nparam-lint'", False),
        ("[project]\ndependencies = ['nparam-lint']", False),
        ("[project\nnparam-lint", False),
        ("nparam-lint = 1 # \udcff", False),
    ],
)
def test_a_table_of_ours_in_every_spelling_makes_a_root(
    tmp_path: Path, text: str, is_ours: bool
) -> None:
    write(tmp_path, "repo/a/b.py")
    (tmp_path / "repo/.git").mkdir()
    file = tmp_path / "repo/a/pyproject.toml"
    file.write_text(text, encoding="utf-8", errors="surrogateescape")
    assert (find_root(file) == file.parent) == is_ours


def test_root_without_git(tmp_path: Path) -> None:
    write(tmp_path, "p/setup.py", "p/q/a.py", "r/b.py")
    assert find_root(tmp_path / "p/q") == tmp_path / "p"
    assert find_root(tmp_path / "r/b.py") == tmp_path / "r"


@pytest.mark.parametrize("kind", ["git", "no git", "copy"])
def test_inner_folders_and_their_configs(tmp_path: Path, kind: str) -> None:
    files = {
        "nparam-lint.toml": "",
        "a/nparam-lint.toml": "",
        "a/pyproject.toml": "[tool.nparam-lint]\n",
        "a/b/pyproject.toml": '[tool."nparam-lint".budgets]\n',
        "c/d/net.py": "",
        "c/pyproject.toml": "[tool.ruff]\n",
        "e/notes.txt": "",
        "env/pyvenv.cfg": "",
        "env/x/nparam-lint.toml": "",
        "f/site-packages/x/nparam-lint.toml": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    if kind == "git":
        git(tmp_path, "init", "-q")
    found = inner_folders(tmp_path, files if kind == "copy" else list_below(tmp_path))
    expected = {"a": "a/nparam-lint.toml", "a/b": "a/b/pyproject.toml", "c": "", "c/d": ""}
    assert {name: config for name, config in found.items() if name not in ("e", "f")} == expected
    assert list(found) == sorted(found)
