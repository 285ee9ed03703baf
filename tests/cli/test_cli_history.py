"""`nparam-lint history`: the count of a model at each commit that could have changed it, as
programs read it; what people read is on the page `history.md`."""

from __future__ import annotations

import json
from unittest import mock

import pytest
from pages import PageRun, pages
from sample_repository import Sample

from nparam_lint.changes import history

PAGE = pages(__file__)["history"]


@pytest.fixture(scope="module")
def sample(tmp_path_factory, environ, nparam_lint, request):
    """The repository of the page, which is true."""
    made = PageRun(tmp_path_factory.mktemp("history") / "repository", environ, nparam_lint)
    made.hold(PAGE, request.config)
    return Sample(made.folder, made.environ)


@pytest.fixture(scope="module")
def run(sample, nparam_lint):
    def run(*arguments):
        return nparam_lint("history", *arguments, cwd=sample.path, **sample.environ)

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
    """The second run builds nothing."""
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


def test_a_page_for_the_browser(told, run):
    page = run("model.py::Net", "--format", "html").stdout
    assert all(commit["commit"][:7] in page for commit in told["commits"] if commit["change"])
    assert "http" not in page.partition("</style>")[2]


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
