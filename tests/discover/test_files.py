"""Which files are listed, and where the root of a project is."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from sample_files import write_files

from nparam_lint.discover import discover
from nparam_lint.discover.files import (
    find_root,
    inner_folders,
    list_below,
    list_files,
    list_importable,
    reader,
)
from nparam_lint.ground.errors import UsageError


def write(root: Path, *names: str) -> Path:
    return write_files(root, dict.fromkeys(names, "x = 1\n"))


def git(root: Path, *arguments: str) -> None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
        cwd=root,
        env=environment,
        check=True,
        capture_output=True,
    )


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With tracked and untracked files, ignored ones, a submodule, and what is never source."""
    root = tmp_path_factory.mktemp("repository")
    write(root, "a.py", "pkg/b.py", "third/e.py", "notes.txt", "gone.py", "libs/sub/b.py")
    write(root, "out/c.py", "out/deep/d.py", "myenv/lib/site.py", "myenv/pyvenv.cfg")
    write(root, "node_modules/x/y.py", ".ipynb_checkpoints/b-checkpoint.py")
    (root / ".gitignore").write_text("out/\n")
    (root / ".gitmodules").write_text('[submodule "sub"]\n\tpath = libs/sub\n')
    git(root / "libs/sub", "init", "-q")
    git(root / "libs/sub", "add", ".")
    git(root / "libs/sub", "commit", "-qm", "x")
    git(root, "init", "-q")
    git(root, "add", "a.py", "gone.py")
    (root / "gone.py").unlink()
    return root


@pytest.mark.parametrize(
    ("paths", "exclude", "expected"),
    [
        ([], [], ["a.py", "pkg/b.py", "third/e.py"]),
        (["pkg"], [], ["pkg/b.py"]),
        # What is named is included, though it is ignored or excluded.
        (["out"], [], ["out/c.py", "out/deep/d.py"]),
        (["out/c.py"], [], ["out/c.py"]),
        ([], ["third/**"], ["a.py", "pkg/b.py"]),
        (["third/e.py"], ["third/**"], ["third/e.py"]),
    ],
)
def test_git_decides_and_untracked_files_count(
    repository: Path, paths: list[str], exclude: list[str], expected: list[str]
) -> None:
    assert list_files(repository, [repository / path for path in paths], exclude) == expected


def test_a_folder_in_a_folder_that_git_does_not_track_is_listed(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    inner = tmp_path / "a/b"
    inner.mkdir(parents=True)
    (inner / "net.py").write_text("")
    (inner / "OTHER.PY").write_text("")
    assert list_files(tmp_path, [inner]) == ["a/b/net.py"]
    assert {*list_below(inner)} == {"net.py", "OTHER.PY"}


def test_imports_may_reach_submodules(repository: Path) -> None:
    assert list_importable(repository) == ["a.py", "libs/sub/b.py", "pkg/b.py", "third/e.py"]


def test_hook_variables_do_not_redirect_git(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(write(tmp_path, "b.py"), "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path))
    assert list_files(repository, [repository / "pkg"]) == ["pkg/b.py"]


def test_both_lists_at_once_ask_git_once_for_each_directory(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A `git` on the path notes what it is asked, and asks the real one."""
    trace, noting = tmp_path / "trace", tmp_path / "git"
    noting.write_text(f'#!/bin/sh\necho " $* " >> "{trace}"\nexec "{shutil.which("git")}" "$@"\n')
    noting.chmod(0o755)
    for names, times in (([], 2), (["."], 2), (["third", "a.py"], 3)):  # one for the submodule
        paths = [repository / name for name in names]
        trace.write_text("")
        with monkeypatch.context() as patch:
            patch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
            below = cache(list_below)
            inner_folders(repository, below(repository))
            both = (
                list_files(repository, paths, ["third/**"], below=below),
                list_importable(repository, below),
            )
        assert both == (
            list_files(repository, paths, ["third/**"]),
            list_importable(repository),
        )
        asked = trace.read_text().splitlines()
        assert len(asked) == times
        assert all(" ls-files " in line for line in asked)


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


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_what_is_no_regular_file_is_not_read(tmp_path: Path) -> None:
    """It may never end, or never begin."""
    (tmp_path / "zero.py").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe.py")
    for name in ("zero.py", "pipe.py"):
        with pytest.raises(OSError, match="no regular file"):
            reader(tmp_path)(name)


def test_root(tmp_path: Path) -> None:
    write(tmp_path, "repo/a/b/c.py", "repo/a/pyproject.toml", "p/setup.py", "p/q/a.py", "r/b.py")
    assert find_root(tmp_path / "p/q") == tmp_path / "p"
    assert find_root(tmp_path / "r/b.py") == tmp_path / "r"
    (tmp_path / "repo/.git").mkdir()
    (tmp_path / "nparam-lint.toml").write_text("")
    assert find_root(tmp_path / "repo/a/b/c.py") == tmp_path / "repo"  # never beyond git


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
    write_files(tmp_path, files)
    if kind == "git":
        git(tmp_path, "init", "-q")
    found = inner_folders(tmp_path, files if kind == "copy" else list_below(tmp_path))
    expected = {"a": "a/nparam-lint.toml", "a/b": "a/b/pyproject.toml", "c": "", "c/d": ""}
    assert {name: config for name, config in found.items() if name not in ("e", "f")} == expected
    assert list(found) == sorted(found)
