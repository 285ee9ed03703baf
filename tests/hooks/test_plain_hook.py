"""The hook of `nparam-lint install-hook` in commits that git makes in other ways."""

from __future__ import annotations

import os
import sys
import time

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


@pytest.mark.thorough
def test_a_commit_from_a_directory_says_what_to_type_there(hooked):
    sample = hooked({"nets/deep/net.py": model(10, 110)})
    sample.add({"nets/deep/net.py": model(20, 110)})
    for place, path in (("nets", "deep/net.py"), (".", "nets/deep/net.py")):
        done = sample.attempt("commit", "-m", "change", cwd=sample.path / place)
        refused(done, f"intended: nparam-lint update {path}::Net && git add {path}")


def test_the_first_commit(tmp_path, environ, nparam_lint):
    sample = Sample.create(tmp_path / "new", environ | {"NPARAM_LINT_PYTHON": sys.executable})
    nparam_lint("install-hook", cwd=sample.path, **sample.environ)
    sample.add({"net.py": model(10, UNREADABLE)})
    refused(sample.commit(), *REFUSED)
    sample.add({"net.py": model(10)})
    accepted(sample.commit(), JUDGED)


@pytest.mark.thorough
def test_a_merge_of_two_sides_that_are_fine_by_themselves(hooked):
    # Without a conflict git runs pre-merge-commit, and not pre-commit.
    net = "from first import A\nfrom second import B\n" + model(10, "<= 500")
    net = net.replace("(width, width)", "(A, B)")
    sample = hooked({"net.py": net, "first.py": "A = 10\n", "second.py": "B = 20\n"})
    sample.git("checkout", "--quiet", "-b", "wider")
    sample.committed({"first.py": "A = 20\n"})
    sample.git("checkout", "--quiet", "main")
    sample.committed({"second.py": "B = 40\n"})
    merged = sample.attempt("merge", "--quiet", "--no-edit", "wider")
    refused(merged, "net.py:7:16 NPL001", "declared <= 500", "840")
    assert sample.git("rev-list", "--count", "HEAD") == "2"
    # Git has left the merge staged: mended there, `git commit` concludes it.
    sample.add({"second.py": "B = 20\n"})
    accepted(sample.commit())
    assert sample.git("rev-list", "--count", "--merges", "HEAD") == "1"


@pytest.mark.thorough
def test_what_the_working_tree_lacks_is_part_of_the_commit(hooked, tmp_path, environ):
    """What a sparse checkout leaves out, and a submodule at the commit that is recorded."""
    library = Sample.create(tmp_path / "library", environ)
    library.committed({"layers.py": "WIDTH = 10\n"})
    text = "from lib.layers import WIDTH\n" + model(10, 110).replace("width=10", "width=WIDTH")
    sample = hooked({"net.py": text, "nets/other.py": model(20, 421), "a.txt": ""})
    sample.git("submodule", "--quiet", "add", library.path, "lib")
    sample.git("commit", "--quiet", "--no-verify", "--message", "with a submodule")
    inner = Sample(sample.path / "lib", sample.environ)
    inner.committed({"layers.py": "WIDTH = 20\n"})
    sample.git("sparse-checkout", "set", "--no-cone", "/a.txt", "/lib", "/net.py")
    assert not (sample.path / "nets").exists()
    sample.add({"a.txt": "changed\n"})
    refused(sample.commit(), "nets/other.py:5:16 NPL001", "1 budget holds", "1 budget broken")
    sample.git("add", "lib")
    refused(sample.commit(), "net.py:6:16 NPL001", "420", "2 budgets broken")


def test_what_a_commit_measured_the_next_does_not_build_again(hooked):
    """Also where its worker was started before the copy of the index was made, as where the last
    run began with the same command."""
    sample = hooked({"net.py": model(10)}, "plain")  # with a line end in it no answer is kept
    for width in (20, 30):
        sample.add({"net.py": model(width, width * (width + 1))})
        time.sleep(0.1)  # what has just changed is not relied upon
        accepted(sample.commit(), "1 budget holds")
    sample.add({"a.txt": "changed\n"})
    accepted(sample.commit(), "staged: 1 model (1 from the cache) · 1 budget holds")


@pytest.mark.parametrize("path", ["", "src"])
def test_nor_where_the_interpreter_finds_the_project_itself(hooked, path):
    """As where it is installed as it stands; with a file that git ignores."""
    net = model(10, 110).replace("from torch", "from width import WIDTH\nfrom torch")
    folder = f"{path}/" if path else ""
    files = {f"{folder}net.py": net, ".gitignore": "width.py\n"}
    sample = hooked(files, "plain")
    (sample.path / path / "width.py").write_text("WIDTH = 10\n", encoding="utf-8")
    places = (str(sample.path / path), sample.environ.get("PYTHONPATH"))
    sample.environ["PYTHONPATH"] = os.pathsep.join(filter(None, places))
    for number in range(2):
        sample.add({"a.txt": f"{number}\n"})
        done = sample.commit()
    accepted(done, "staged: 1 model (1 from the cache) · 1 budget holds")
