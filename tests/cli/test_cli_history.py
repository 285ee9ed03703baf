"""`nparam-lint history`: the count of a model at each commit that could have changed it."""

from __future__ import annotations

import json
import shlex
from unittest import mock

import pytest
from pages import steady
from sample_repository import Sample

from nparam_lint.changes import history

LAYERS = """\
from torch import nn


class Wide(nn.Linear):
    def __init__(self, width):
        super().__init__(width, {factor} * width)
"""
NET = """\
from torch import nn

from layers import Wide


class Net(nn.Module):
    def __init__(self, width={width}):
        super().__init__()
        self.layer = Wide(width)
"""


def write(sample, message, files):
    """A commit, a day after the one before."""
    sample.add(files)
    commit(sample, "commit", "--quiet", "--no-verify", "--message", message)


def commit(sample, *command):
    day = 1 + int(sample.git("rev-list", "--all", "--count"))
    date = f"2026-01-{day:02d}T12:00:00+0000"
    sample.git(*command, GIT_COMMITTER_DATE=date, GIT_AUTHOR_DATE=date)


@pytest.fixture(scope="module")
def sample(tmp_path_factory, environ):
    sample = Sample.create(tmp_path_factory.mktemp("history") / "repository", environ)
    layers = LAYERS.format(factor=1)
    write(sample, "first", {"net.py": NET.format(width=10), "layers.py": layers})
    write(sample, "unrelated", {"README.md": "A net.\n", "other.py": "X = 1\n"})
    write(sample, "twice as wide", {"layers.py": LAYERS.format(factor=2)})
    write(sample, "broken", {"net.py": "def"})
    write(sample, "mended", {"net.py": NET.format(width=10)})
    sample.git("mv", "layers.py", "parts.py")
    sample.git("mv", "net.py", "model.py")
    moved = NET.format(width=10).replace("layers", "parts")
    write(sample, "renamed", {"model.py": moved})
    sample.git("checkout", "--quiet", "-b", "side")
    write(sample, "on the side", {"parts.py": LAYERS.format(factor=3)})
    sample.git("checkout", "--quiet", "main")
    write(sample, "a comment", {"model.py": f"{moved}# end\n"})
    commit(sample, "merge", "--quiet", "--no-edit", "-m", "merged", "side")
    config = '[arguments]\n"model.py::Net" = "width=20"\n'
    write(sample, "configured", {"nparam-lint.toml": config})
    write(sample, "unrelated, too", {"other.py": "X = 2\n"})
    sample.write({"model.py": "never built", "scratch.py": ""})
    return sample


@pytest.fixture(scope="module")
def run(sample, nparam_lint):
    def run(*arguments, **more):
        return nparam_lint("history", *arguments, cwd=sample.path, **sample.environ, **more)

    return run


@pytest.fixture(scope="module")
def told(run, sample):
    """The history as JSON; nothing in the repository has changed."""
    before = sample.state()
    done = run("model.py::Net", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert sample.state() == before
    return json.loads(done.stdout)


def rows(document):
    return [(c["subject"], c["count"], c["change"]) for c in document["commits"]]


def test_the_count_at_each_commit_that_could_have_changed_it(told, run):
    """Today's arguments hold where a commit says none: like is compared with like. A gap has its
    reason, a renamed file its old name. The second run builds nothing."""
    assert rows(told) == [
        ("configured", 1260, 0),
        ("merged", 1260, 420),
        ("on the side", 1260, 420),
        ("a comment", 840, 0),
        ("renamed", 840, 0),
        ("mended", 840, 0),
        ("broken", None, None),
        ("twice as wide", 840, 420),
        ("first", 420, None),
    ]
    by_subject = {c["subject"]: c for c in told["commits"]}
    assert "net.py" in by_subject["broken"]["reason"]
    assert by_subject["mended"]["path"] == "net.py"
    assert by_subject["renamed"]["path"] == "model.py"
    assert (told["summary"]["gaps"], told["summary"]["changes"]) == (1, 3)
    again = json.loads(run("model.py::Net", "--format", "json").stdout)
    assert rows(again) == rows(told)
    assert again["summary"]["cached"] == len(told["commits"])


COMMANDS = """
model.py::Net
model.py::Net --verbose
model.py::Net --first-parent
model.py::Net --since HEAD~4
model.py::Net --since HEAD
'model.py::Net(width=5)[layer, bytes]' --since HEAD~1
'parts.py::Wide(in model.py::Net(4))' --since HEAD~2
model.py::Net --format markdown
model.py::Nett
"""


def test_what_is_said(told, run, sample, expected):  # noqa: ARG001  # it is built by then
    said = {}
    for line in COMMANDS.strip().splitlines():
        done = run(*shlex.split(line), COLUMNS="80")
        said[f"history {line.strip()} [{done.returncode}]"] = steady(done.stdout, sample.path)
    expected(said)


def test_a_page_for_the_browser(told, run):
    page = run("model.py::Net", "--format", "html").stdout
    assert all(commit["commit"][:7] in page for commit in told["commits"] if commit["change"])
    assert "http" not in page.partition("</style>")[2]


def test_since_a_branch_that_went_on(tmp_path, environ, nparam_lint):
    sample = Sample.create(tmp_path / "r", environ)
    net = "from torch import nn\n\n\nclass Net(nn.Linear):\n    def __init__(self, d={d}):\n"
    net += "        super().__init__(d, 1)\n"
    sample.committed({"net.py": net.format(d=1)})
    sample.git("checkout", "--quiet", "-b", "feature")
    sample.committed({"net.py": net.format(d=2)})
    sample.committed({"net.py": net.format(d=4)})
    sample.git("checkout", "--quiet", "main")
    sample.committed({"unrelated": ""})
    sample.git("checkout", "--quiet", "feature")
    more = ("--since", "main", "--format", "json")
    done = nparam_lint("history", "net.py::Net", *more, cwd=sample.path, **sample.environ)
    assert [(count, change) for _, count, change in rows(json.loads(done.stdout))] == [
        (5, 2),
        (3, 1),
        (2, None),
    ]


def test_what_was_built_before_an_interruption_is_remembered(told, run):
    copied, copies = history.copied, []

    def interrupted(*arguments, **more):
        if len(copies) == 3:
            raise KeyboardInterrupt
        copies.append(arguments)
        return copied(*arguments, **more)

    # In a process of its own it would remove all directories, also that of the worker which waits
    # here for the next test.
    with (
        mock.patch.object(history, "copied", interrupted),
        mock.patch("nparam_lint.cli.main.remove_all") as remove_all,
    ):
        assert run("model.py::Net(3)").returncode == 130
    assert remove_all.called
    commits = json.loads(run("model.py::Net(3)", "--format", "json").stdout)["commits"]
    assert len(commits) == len(told["commits"])
    assert sum(c["cached"] for c in commits) == 3 - 1  # HEAD is not listed
