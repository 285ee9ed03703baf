"""Which index of which repository is exported, and that nothing of the user's is touched. What an
export holds is on pages/exports.md, submodules.md and partial_clones.md."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from sample_repository import AWKWARD, GIT, Sample

from nparam_lint.repository.git import GitError, Repository, open_repository


@pytest.fixture
def sample(tmp_path, environ) -> Sample:
    made = Sample.create(tmp_path / AWKWARD, environ)
    made.committed({"a.py": "a = 1\n", "pkg/__init__.py": "", "pkg/b.py": "b = 1\n"})
    return made


def opened(sample: Sample, **more: str) -> Repository:
    return open_repository(sample.path, sample.environ | more)


def exported(sample: Sample, place: Path, **more: str) -> str:
    """What `a.py` is in an export of the index."""
    before = sample.state()
    copy = place / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    opened(sample, **more).export(copy)
    assert sample.state() == before
    return (copy / "a.py").read_text()


# --- the index ----------------------------------------------------------------------------------


def test_no_hook_of_the_user_hears_of_it(sample, tmp_path):
    hook = sample.path / ".git/hooks/post-index-change"
    heard = tmp_path / "heard"
    hook.write_text(f"#!/bin/sh\ntouch '{heard}'\n")
    hook.chmod(0o755)
    sample.add({"new.py": ""})
    assert heard.exists()  # it works
    heard.unlink()
    exported(sample, tmp_path)
    assert not heard.exists()


def test_a_file_with_new_times_is_not_refreshed_in_the_index(sample):
    os.utime(sample.path / "a.py", (1, 1))
    before = sample.state()
    repository = opened(sample)
    assert (repository.differing(), repository.untracked(), repository.ignored()) == ({}, [], [])
    assert sample.state() == before
    sample.git("status")
    assert sample.state() != before  # what is asked in another way does refresh it


# --- which repository, which index --------------------------------------------------------------


def in_hook(sample: Sample, tmp_path: Path, *commit: str, cwd: Path | None = None) -> str:
    """What `a.py` is in an export that a hook makes, while git commits."""
    report = tmp_path / "report"
    hooks = tmp_path / "hooks"
    hooks.mkdir(exist_ok=True)
    script = hooks / "pre-commit"
    script.write_text(
        f"""#!{shutil.which("python3")}
import os, sys, tempfile
sys.path.insert(0, {str(Path(__file__).parent.parent)!r})
from pathlib import Path
from nparam_lint.repository.git import open_repository
with tempfile.TemporaryDirectory() as copy:
    found, *_ = open_repository(Path.cwd(), os.environ).export(Path(copy))
    text = Path(copy, "a.py").read_text()
    Path({str(report)!r}).write_text(str(found.repository.top) + "\\n" + text)
"""
    )
    script.chmod(0o755)
    done = sample.attempt(
        *("-c", f"core.hooksPath={hooks}", *commit), "-m", "m", cwd=cwd or sample.path
    )
    assert done.returncode == 0, done.stderr
    return report.read_text()


# What `a.py` is in a commit, where 2 is staged and 3 is in the working tree.
COMMITS = {
    ("commit",): "a = 2\n",
    ("commit", "--all"): "a = 3\n",
    ("commit", "a.py"): "a = 3\n",
    ("commit", "--only", "pkg/b.py"): "a = 1\n",
    ("commit", "--include", "pkg/b.py"): "a = 2\n",
    ("commit", "--amend"): "a = 2\n",
}


def test_a_hook_judges_the_index_that_is_committed(sample, tmp_path):
    sample.git("branch", "start")
    for command, judged in COMMITS.items():
        sample.git("reset", "--quiet", "--hard", "start")
        sample.add({"a.py": "a = 2\n"})
        sample.write({"a.py": "a = 3\n", "pkg/b.py": "b = 3\n"})
        assert in_hook(sample, tmp_path, *command) == f"{sample.path}\n{judged}", command
        assert sample.git("show", "HEAD:a.py") + "\n" == judged


def test_a_commit_elsewhere_in_the_working_tree_or_in_a_linked_one(sample, tmp_path):
    sample.git("worktree", "add", "--quiet", "-b", "side", tmp_path / "side tree")
    linked = Sample(tmp_path / "side tree", sample.environ)
    for tree, place in ((sample, sample.path / "pkg"), (linked, linked.path)):
        tree.write({"a.py": "a = 2\n"})
        found = in_hook(tree, tmp_path, "commit", "--all", cwd=place)
        assert found == f"{tree.path}\na = 2\n"


def test_a_repository_that_its_working_tree_does_not_know_of(sample, tmp_path):
    # As for configuration files of the home directory, here in a tree that has another repository.
    places = (f"--git-dir={tmp_path / 'dots.git'}", f"--work-tree={sample.path}")
    sample.git("init", "--quiet", "--bare", tmp_path / "dots.git")
    sample.write({"a.py": "a = 'dots'\n"})
    sample.git(*places, "add", "a.py")
    found = in_hook(sample, tmp_path, *places, "commit")
    assert found == f"{sample.path}\na = 'dots'\n"
    sample.write({"a.py": "a = 'more dots'\n"})
    found = in_hook(sample, tmp_path, *places, "commit", "--all")
    assert found == f"{sample.path}\na = 'more dots'\n"


def test_variables_about_one_repository_are_withheld_from_others(
    sample, tmp_path, environ, monkeypatch
):
    other = Sample.create(tmp_path / "other", environ)
    other.committed({"a.py": "a = 'other'\n"})
    variables = {
        "GIT_DIR": str(other.path / ".git"),
        "GIT_INDEX_FILE": str(other.path / ".git/index"),
        "GIT_WORK_TREE": str(other.path),
    }
    monkeypatch.chdir(other.path)
    for names in (("GIT_DIR",), ("GIT_INDEX_FILE",), tuple(variables)):
        more = {name: variables[name] for name in names}
        assert opened(sample, **more).top == sample.path
        assert exported(sample, tmp_path, **more) == "a = 1\n"


def test_what_the_user_says_to_git_holds_and_what_changes_its_answers_does_not(sample):
    repository = opened(
        sample,
        GIT_TRACE="2",
        GIT_EXTERNAL_DIFF="false",
        GIT_LITERAL_PATHSPECS="1",
        GIT_CONFIG_PARAMETERS="'core.abbrev'='9'",
        GIT_SSH_COMMAND="ssh -v",
        GIT_PREFIX="pkg/",
    )
    kept = {key for key in repository.environ if key.startswith("GIT_")} - set(GIT)
    assert kept == {
        "GIT_CONFIG_PARAMETERS",
        "GIT_LFS_SKIP_SMUDGE",
        "GIT_OPTIONAL_LOCKS",
        "GIT_SSH_COMMAND",
    }
    assert len(repository.run("rev-parse", "--short", "HEAD").strip()) == 9


def test_where_there_is_no_repository_and_where_there_is_no_git(sample, tmp_path):
    for place, path, message in (
        (tmp_path, os.environ["PATH"], "is not in a git repository: fatal: not a git repository"),
        (tmp_path / "gone", os.environ["PATH"], "there is no directory .*gone"),
        (sample.path / ".git", os.environ["PATH"], "must be run in a work tree"),
        (tmp_path, str(tmp_path), "git cannot be run: No such file or directory"),
    ):
        with pytest.raises(GitError, match=message):
            open_repository(place, sample.environ | {"PATH": path})


def test_hooks_are_where_git_looks_for_them(sample, tmp_path):
    assert opened(sample).hooks() == sample.path / ".git/hooks"
    sample.git("worktree", "add", "--quiet", tmp_path / "side")
    linked = open_repository(tmp_path / "side", sample.environ)
    assert linked.hooks().samefile(sample.path / ".git/hooks")
    sample.git("config", "core.hooksPath", "my hooks")
    assert opened(sample).hooks() == sample.path / "my hooks"


# --- submodules ---------------------------------------------------------------------------------


@pytest.fixture
def inner(sample, tmp_path, environ) -> Sample:
    """A submodule that is committed."""
    library = Sample.create(tmp_path / "library", environ)
    library.committed({"layers.py": "width = 1\n", "a.py": "a = 'library'\n"})
    sample.git("submodule", "--quiet", "add", library.path, "lib/inner")
    sample.git("commit", "--quiet", "-m", "with a submodule")
    return Sample(sample.path / "lib/inner", sample.environ)


def test_a_commit_in_a_submodule_judges_the_submodule(inner, tmp_path, monkeypatch, sample):
    """And the index of a repository is not that of its submodules."""
    monkeypatch.chdir(sample.path)
    repository = opened(sample, GIT_INDEX_FILE=".git/index")
    assert repository.environ["GIT_INDEX_FILE"] == f"{sample.path}/.git/index"
    (tmp_path / "first").mkdir()
    repository.export(tmp_path / "first")
    assert (tmp_path / "first/lib/inner/layers.py").read_text() == "width = 1\n"
    inner.write({"a.py": "a = 'changed'\n"})
    assert in_hook(inner, tmp_path, "commit", "--all") == f"{inner.path}\na = 'changed'\n"
