"""What a commit would hold is what is exported, and nothing of the user's is touched."""

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


def exported(sample: Sample, place: Path, **more: str) -> dict[str, str | bytes]:
    """What the export of the index writes; a link's content is its target."""
    before = sample.state()
    copy = place / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    repository = opened(sample, **more)
    intended = [path for path, letter in repository.differing().items() if letter == "A"]
    found = repository.export(copy, intended=intended)
    assert sample.state() == before
    files = read(copy)
    assert sorted(found.tracked) == sorted(files)
    return files


def read(directory: Path) -> dict[str, str | bytes]:
    return {
        os.fsdecode(path.relative_to(directory)): (
            f"-> {path.readlink()}" if path.is_symlink() else path.read_bytes()
        )
        for path in directory.rglob("*")
        if path.is_symlink() or path.is_file()
    }


# --- the index ----------------------------------------------------------------------------------


def cloned(sample: Sample, place: Path, *options: str) -> dict[str, str | bytes]:
    """What git checks out of a commit of what is staged."""
    sample.git("commit", "--quiet", "--allow-empty", "--message", "now")
    sample.git(*options, "clone", "--quiet", sample.path, place / "clone")
    shutil.rmtree(place / "clone/.git")
    return read(place / "clone")


def test_the_export_is_what_the_commit_holds_whatever_the_working_tree_does(sample, tmp_path):
    names = ("part", "deleted", "untracked", "renamed", "file", "lost/only", "hidden")
    sample.committed({f"{name}.py": f"{name[0]} = 1\n" for name in names})
    sample.git("update-index", "--split-index")
    sample.git("config", "core.splitIndex", "true")
    sample.add({"part.py": "p = 2\n"})
    sample.write({"part.py": "p = 3\n", "new.py": "n = 1\n", "later.py": "x = 1\n"})
    sample.git("add", "--intent-to-add", "later.py")
    sample.git("rm", "--quiet", "deleted.py", "file.py")
    sample.git("rm", "--quiet", "--cached", "untracked.py")  # the file stays
    sample.git("mv", "renamed.py", "é b.py")
    sample.add({"file.py/inner.py": "x = 1\n"})  # a folder in place of a file
    sample.write({"lost/only.py": None})  # not staged
    (sample.path / "lost").rmdir()
    sample.git("update-index", "--assume-unchanged", "hidden.py")
    sample.write({"hidden.py": "h = 3\n"})
    (sample.path / "to_file").symlink_to("pkg/b.py")
    (sample.path / "to_folder").symlink_to("pkg", target_is_directory=True)
    (sample.path / "nowhere").symlink_to("gone")
    odd = [os.fsdecode(b"latin\xe9.py"), "two\nlines.py", "tab\tin.py"]
    for name in odd:
        (sample.path / name).write_text("x = 1\n")
    sample.git("add", "to_file", "to_folder", "nowhere", *odd)
    found = exported(sample, tmp_path)
    assert "later.py" not in found
    assert found == cloned(sample, tmp_path)


def test_what_a_sparse_checkout_leaves_out_is_exported(sample, tmp_path):
    sample.git("sparse-checkout", "set", "--no-cone", "/a.py")
    assert not (sample.path / "pkg").exists()
    assert exported(sample, tmp_path) == cloned(sample, tmp_path)


def test_the_line_ends_and_filters_are_those_of_a_checkout(sample, tmp_path):
    sample.git("config", "core.autocrlf", "true")
    sample.add({"a.py": "a = 2\r\nb = 3\r\n"})
    sample.git("config", "filter.upper.clean", "tr A-Z a-z")
    sample.git("config", "filter.upper.smudge", "tr a-z A-Z")
    sample.add({".gitattributes": "*.txt filter=upper\n", "some.txt": "ABC\n"})
    found = exported(sample, tmp_path)
    assert found["a.py"] == b"a = 2\r\nb = 3\r\n"
    assert found["some.txt"] == b"ABC\r\n"
    assert sample.git("show", ":some.txt") == "abc"
    settings = ("-c", "core.autocrlf=true", "-c", "filter.upper.smudge=tr a-z A-Z")
    assert found == cloned(sample, tmp_path, *settings)


def test_before_the_first_commit(tmp_path, environ):
    sample = Sample.create(tmp_path / "new", environ)
    assert exported(sample, tmp_path) == {}
    sample.add({"a.py": "a = 1\n"})
    assert exported(sample, tmp_path) == {"a.py": b"a = 1\n"}


def test_a_conflict_is_told_with_the_file(sample, tmp_path):
    sample.git("checkout", "--quiet", "-b", "other")
    sample.committed({"a.py": "a = 2\n"})
    sample.git("checkout", "--quiet", "main")
    sample.committed({"a.py": "a = 3\n"})
    assert sample.attempt("merge", "other").returncode == 1
    with pytest.raises(GitError, match=r"^a\.py is not merged; resolve it, then git add :/a\.py$"):
        exported(sample, tmp_path)


def test_a_filter_that_fails_is_told_without_the_name_of_the_copy(sample, tmp_path):
    sample.add({".gitattributes": "*.txt filter=f\n", "some.txt": "abc\n"})
    sample.git("config", "filter.f.clean", "cat")
    sample.git("config", "filter.f.smudge", "false")
    sample.git("config", "filter.f.required", "true")
    with pytest.raises(GitError) as caught:
        exported(sample, tmp_path)
    text = str(caught.value)
    assert text.startswith(f"git checkout-index failed in {sample.path}: ")
    assert "smudge filter f failed" in text
    assert str(tmp_path / "copy") not in text


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


# --- commits ------------------------------------------------------------------------------------


def test_a_commit_is_exported_whatever_the_index_and_the_tree_hold(sample, tmp_path):
    commit = opened(sample).resolve("HEAD")
    assert commit == opened(sample).resolve("main~0") == sample.git("rev-parse", "HEAD")
    with pytest.raises(GitError, match="there is no revision '--all'"):
        opened(sample).resolve("--all")
    sample.add({"a.py": "a = 2\n", "new.py": "n = 1\n"})
    sample.git("rm", "--quiet", "pkg/b.py")
    before = sample.state()
    found = opened(sample).export(tmp_path, commit)
    assert found.tracked == ("a.py", "pkg/__init__.py", "pkg/b.py")
    assert (tmp_path / "a.py").read_text() == "a = 1\n"
    assert (tmp_path / "pkg/b.py").read_text() == "b = 1\n"
    assert not (tmp_path / "new.py").exists()
    assert sample.state() == before


# --- what differs in the working tree -----------------------------------------------------------


def test_what_a_commit_would_lack(sample):
    sample.committed({".gitignore": "*.so\nbuild/\n__pycache__/\n"})
    sample.write({"new.py": "", "pkg/ext.so": "", "build/x.py": "", "sub/deep/y.py": ""})
    sample.write({"later.py": "x = 1\n", "a.py": "a = 2\n", "pkg/b.py": None})
    sample.git("add", "--intent-to-add", "later.py")
    sample.git("init", "--quiet", "inner")
    # A folder with untracked files is not ignored as a whole.
    sample.write({"inner/z.py": "", "sub/a.so": "", "sub/__pycache__/b.pyc": "", "only/a.so": ""})
    repository = opened(sample)
    assert repository.untracked() == ["inner/", "new.py", "sub/deep/y.py"]
    assert repository.differing() == {"a.py": "M", "later.py": "A", "pkg/b.py": "D"}
    ignored = repository.ignored()
    assert "sub/" not in ignored
    assert {"build/", "only/", "pkg/ext.so", "sub/__pycache__/", "sub/a.so"} <= {*ignored}


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
    found = open_repository(Path.cwd(), os.environ).export(Path(copy))
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
        assert exported(sample, tmp_path, **more)["a.py"] == b"a = 1\n"


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


def test_a_submodule_is_exported_at_the_commit_that_is_recorded(
    sample, inner, tmp_path, monkeypatch
):
    inner.committed({"layers.py": "width = 2\n"})  # not recorded
    inner.write({"layers.py": "width = 3\n"})
    before = sample.state()
    monkeypatch.chdir(sample.path)
    # The index of a repository is not that of its submodules.
    repository = opened(sample, GIT_INDEX_FILE=".git/index")
    assert repository.environ["GIT_INDEX_FILE"] == f"{sample.path}/.git/index"
    (tmp_path / "first").mkdir()
    found = repository.export(tmp_path / "first")
    assert (tmp_path / "first/lib/inner/layers.py").read_text() == "width = 1\n"
    assert "lib/inner/layers.py" not in found.tracked
    assert found.submodules["lib/inner"].tracked == ("a.py", "layers.py")
    assert found.submodules["lib/inner"].repository.top == inner.path
    assert sample.state() == before
    sample.git("add", "lib/inner")
    (tmp_path / "recorded").mkdir()
    opened(sample).export(tmp_path / "recorded")
    assert (tmp_path / "recorded/lib/inner/layers.py").read_text() == "width = 2\n"
    # A commit in the submodule judges the submodule.
    inner.write({"a.py": "a = 'changed'\n"})
    assert in_hook(inner, tmp_path, "commit", "--all") == f"{inner.path}\na = 'changed'\n"


def test_a_submodule_that_is_not_checked_out_is_empty(sample, inner, tmp_path):  # noqa: ARG001
    sample.git("clone", "--quiet", sample.path, tmp_path / "clone")
    clone = Sample(tmp_path / "clone", sample.environ)
    for name in ("empty", "removed"):
        copy = tmp_path / name
        copy.mkdir()
        assert opened(clone).export(copy).submodules == {}
        assert list((copy / "lib/inner").iterdir()) == []
        shutil.rmtree(clone.path / "lib", ignore_errors=True)


def test_a_submodule_that_lacks_the_commit_is_told_with_the_next_step(sample, inner, tmp_path):  # noqa: ARG001
    sample.git("update-index", "--cacheinfo", f"160000,{'1' * 40},lib/inner")
    expected = (
        "the submodule lib/inner lacks the recorded commit 111111111111; "
        "next: git submodule update --init :/lib/inner"
    )
    with pytest.raises(GitError, match=f"^{expected}$"):
        exported(sample, tmp_path)


# --- clones that lack objects -------------------------------------------------------------------


def test_a_sparse_checkout_of_a_partial_clone_fetches_nothing(sample, tmp_path):
    sample.git("config", "uploadpack.allowFilter", "true")
    clone = Sample(tmp_path / "partial", sample.environ)
    sample.git(
        *("clone", "--quiet", "--filter=blob:none", "--no-checkout", sample.path.as_uri()),
        clone.path,
    )
    clone.git("sparse-checkout", "set", "--no-cone", "/a.py")
    clone.git("checkout", "--quiet")
    assert exported(clone, tmp_path) == {"a.py": b"a = 1\n"}
    clone.git("cat-file", "-p", "HEAD:pkg/b.py")  # which fetches it
    assert exported(clone, tmp_path) == {"a.py": b"a = 1\n", "pkg/b.py": b"b = 1\n"}
