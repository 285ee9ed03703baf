"""The hook of `nparam-lint install-hook` in commits of every kind."""

from __future__ import annotations

import sys

import pytest
from commits import JUDGED, REFUSED, UNREADABLE, accepted, model, refused
from sample_repository import Sample


@pytest.mark.thorough
def test_a_commit_from_a_graphical_interface(hooked):
    sample = hooked(
        {"net.py": model(10, 110), "nparam-lint.toml": f"python = '{sys.executable}'\n"}
    )
    kept = {key: value for key, value in sample.environ.items() if key.startswith("GIT_")}
    sample.environ = kept | {"HOME": sample.environ["HOME"], "PATH": "/usr/bin:/bin"}
    sample.add({"net.py": model(20, 110)})
    refused(sample.commit(), "net.py:5:16 NPL001", "420")


def test_commits_of_everything_and_of_one_path(hooked):
    sample = hooked({"net.py": model(10), "other.py": model(10)})
    sample.write({"net.py": model(20, UNREADABLE), "other.py": model(10) + "\n"})
    refused(sample.commit("--all"), *REFUSED)
    refused(sample.commit("net.py"), *REFUSED)
    accepted(sample.commit("other.py"), JUDGED)
    assert sample.git("status", "--short") == " M net.py"


def test_the_first_commit(tmp_path, environ, nparam_lint):
    sample = Sample.create(tmp_path / "new", environ | {"NPARAM_LINT_PYTHON": sys.executable})
    nparam_lint("install-hook", cwd=sample.path, **sample.environ)
    sample.add({"net.py": model(10, UNREADABLE)})
    refused(sample.commit(), *REFUSED)
    sample.add({"net.py": model(10)})
    accepted(sample.commit(), JUDGED)


@pytest.mark.thorough
def test_a_repository_that_its_working_tree_does_not_know_of(hooked, tmp_path):
    # The configuration files of a home directory, say: here the tree has another repository, too.
    sample = hooked({"net.py": model(10, 110)})
    places = (f"--git-dir={tmp_path / 'dots.git'}", f"--work-tree={sample.path}")
    sample.git("init", "--quiet", "--bare", tmp_path / "dots.git")
    (tmp_path / "dots.git/hooks/pre-commit").symlink_to(sample.path / ".git/hooks/pre-commit")
    sample.write({"net.py": model(20, 110)})
    sample.git(*places, "add", "net.py")
    refused(sample.attempt(*places, "commit", "-m", "x"), "net.py:5:16 NPL001", "420")
    sample.git("checkout", "--quiet", "net.py")
    accepted(sample.attempt(*places, "commit", "--all", "-m", "x"))


@pytest.mark.thorough
def test_submodules_are_judged_at_the_commit_that_is_recorded(hooked, tmp_path, environ):
    library = Sample.create(tmp_path / "library", environ)
    library.committed({"layers.py": "WIDTH = 10\n"})
    text = "from lib.layers import WIDTH\n" + model(10, 110).replace("width=10", "width=WIDTH")
    sample = hooked({"net.py": text})
    sample.git("submodule", "--quiet", "add", library.path, "lib")
    inner = Sample(sample.path / "lib", sample.environ)
    inner.committed({"layers.py": "WIDTH = 20\n"})
    accepted(sample.commit(), "1 budget holds")  # the change is not recorded
    sample.git("add", "lib")
    refused(sample.commit(), "net.py:6:16 NPL001", "420")


@pytest.mark.thorough
def test_what_a_sparse_checkout_leaves_out_is_part_of_the_commit(hooked):
    sample = hooked({"nets/net.py": model(10, 110), "nets/other.py": model(20, 421), "a.txt": ""})
    sample.git("sparse-checkout", "set", "--no-cone", "/a.txt")
    assert not (sample.path / "nets").exists()
    sample.add({"a.txt": "changed\n"})
    refused(sample.commit(), "nets/other.py:5:16 NPL001", "1 budget holds", "1 budget broken")
