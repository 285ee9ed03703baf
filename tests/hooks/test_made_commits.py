"""What runs no hook of a commit (a cherry-pick, a rebase, `--no-verify`) is judged when it is
pushed, and a rebase as soon as it is done."""

from __future__ import annotations

import pytest
from commits import JUDGED, REFUSED, UNREADABLE, accepted, model, refused, unwrapped

BROKEN = REFUSED[0]
MADE = "git has made these commits already"

# On a branch that starts at `base`, with git's output; `wide` is one commit further, and breaks the
# budget there. None of these runs pre-commit, and all of them succeed.
WAYS = {
    "cherry-pick": [("cherry-pick", "wide")],
    "revert": [("reset", "--hard", "narrow"), ("revert", "--no-edit", "HEAD")],
    "am": [("am", "{patch}")],
    "fast-forward": [("merge", "--ff", "wide")],
    "rebase": [("reset", "--hard", "wide"), ("rebase", "other")],
    "rebase --interactive": [("reset", "--hard", "wide"), ("rebase", "-i", "--force", "base")],
    "pull --rebase": [("reset", "--hard", "wide"), ("pull", "--rebase", ".", "other")],
    "reset": [("reset", "--hard", "wide")],
}


@pytest.fixture(scope="module")
def shared(shared_repository, nparam_lint):
    """The repository of all ways: what one of them has measured is known to the next."""
    made = shared_repository({"net.py": model(10)})
    made.git("checkout", "--quiet", "-b", "base")
    for branch, text in (("wide", model(10, UNREADABLE)), ("narrow", model(10))):
        made.git("checkout", "--quiet", "-b", branch)
        made.committed({"net.py": text})
    made.git("checkout", "--quiet", "-b", "other", "base")
    made.committed({"other.txt": ""})
    remote = made.path.parent / "remote.git"
    made.git("init", "--quiet", "--bare", remote)
    made.git("remote", "add", "origin", remote)
    nparam_lint("install-hook", "--pre-push", "--post-rewrite", cwd=made.path, **made.environ)
    made.environ["GIT_SEQUENCE_EDITOR"] = "true"
    return made


@pytest.fixture
def sample(shared):
    shared.git("checkout", "--quiet", "--force", "-B", "try", "base")
    return shared


# The others take the same path through git as one of these.
AT_EVERY_COMMIT = {"cherry-pick", "rebase"}


@pytest.mark.first_cases(1)
@pytest.mark.parametrize(
    "way",
    [w if w in AT_EVERY_COMMIT else pytest.param(w, marks=pytest.mark.thorough) for w in WAYS],
)
def test_what_is_pushed_is_judged_however_it_was_made(sample, tmp_path, way):
    (tmp_path / "patch").write_text(sample.git("format-patch", "-1", "--stdout", "wide") + "\n")
    for command in WAYS[way]:
        done = sample.attempt(*(word.format(patch=tmp_path / "patch") for word in command))
        assert done.returncode == 0, done.stdout + done.stderr
        said, is_rebase = unwrapped(done), {"rebase", "--rebase"}.intersection(command)
        assert (BROKEN in said, MADE in said) == (bool(is_rebase), bool(is_rebase)), said
    refused(sample.attempt("push", "origin", "try"), *REFUSED)


@pytest.mark.thorough
def test_every_branch_and_tag_of_a_push_is_judged(sample):
    accepted(sample.attempt("push", "origin", "base", "narrow"), JUDGED)
    refused(sample.attempt("push", "origin", "other", "wide"), BROKEN)
    sample.git("tag", "--annotate", "-m", "x", "v1", "wide")
    refused(sample.attempt("push", "origin", "v1"), BROKEN)
    assert sample.git("ls-remote", "--heads", "--tags", "origin").count("refs/") == 2
    # Nothing to judge: what is deleted, and what is no commit.
    sample.git("tag", "file", "base:net.py")
    done = sample.attempt("push", "origin", "file", ":narrow")
    assert (done.returncode, "NPL" in done.stderr) == (0, False), done.stdout + done.stderr


def test_a_rebase_that_is_fine_says_so_and_an_amended_commit_was_judged_before(sample):
    sample.git("reset", "--quiet", "--hard", "narrow")
    rebased = sample.attempt("rebase", "other")
    assert JUDGED in rebased.stdout + rebased.stderr
    assert MADE not in rebased.stderr
    amended = sample.attempt("commit", "--amend", "--no-edit")
    assert (amended.stdout + amended.stderr).count(JUDGED) == 1
