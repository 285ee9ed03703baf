"""`nparam-lint history`: the count of a model at each commit that could have changed it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from sample_repository import Sample

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
    sample.git(*command, GIT_COMMITTER_DATE=f"2026-01-{day:02d}T12:00:00+0000")


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


def rows(told):
    return [(c["subject"], c["count"], c["change"]) for c in told["commits"]]


def test_the_count_at_each_commit_that_could_have_changed_it(told):
    """Today's arguments hold where a commit says none: like is compared with like."""
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


def test_a_gap_has_its_reason_and_a_renamed_file_its_old_name(told):
    by_subject = {c["subject"]: c for c in told["commits"]}
    assert "net.py" in by_subject["broken"]["reason"]
    assert by_subject["mended"]["path"] == "net.py"
    assert by_subject["renamed"]["path"] == "model.py"
    assert told["summary"]["gaps"] == 1
    assert told["summary"]["changes"] == 3


def test_the_second_run_builds_nothing(told, run):
    again = json.loads(run("model.py::Net", "--format", "json").stdout)
    assert rows(again) == rows(told)
    assert again["summary"]["cached"] == len(told["commits"])


def test_the_table_has_what_changed(told, run):  # noqa: ARG001  # it is built by then
    done = run("model.py::Net", COLUMNS="80")
    head, table, notes, summary = done.stdout.split("\n\n")
    name, line, span = head.split("\n")
    assert name == "model.py::Net"
    assert line == "▁▄·▄▄▄███"
    assert span.count("…") == 1
    subjects = [row.split(maxsplit=3)[3] for row in table.split("\n")[2:] if row[:7].isalnum()]
    assert subjects == [
        "configured",
        "+420  merged",
        "+420  on the side",
        "mended",
        "broken",
        "+420  twice as wide",
        "first",
    ]
    assert "not counted: cannot import net.py: SyntaxError" in table
    assert "2 commits without a change (-v lists them)" in table
    assert "installed now" in notes
    assert summary.startswith("9 commits · 3 changes · 1 not counted · 9 from the cache · ")
    every = run("model.py::Net", "-v").stdout
    assert "a comment" in every
    assert "without a change" not in every


@pytest.mark.parametrize(
    ("arguments", "subjects"),
    [
        (
            ["--first-parent"],
            "configured, merged, a comment, renamed, mended, broken, twice as wide, first",
        ),
        (["--since", "HEAD~4"], "configured, merged, on the side, a comment, renamed"),
        (["--since", "HEAD"], "unrelated, too"),
    ],
)
def test_a_part_of_the_history(told, run, arguments, subjects):  # noqa: ARG001
    done = run("model.py::Net", *arguments, "--format", "json")
    assert ", ".join(c["subject"] for c in json.loads(done.stdout)["commits"]) == subjects


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


def test_a_selector_and_other_arguments(told, run):  # noqa: ARG001
    done = run("model.py::Net(width=5)[layer, bytes]", "--since", "HEAD~1", "--format", "json")
    document = json.loads(done.stdout)
    assert rows(document) == [("configured", 4 * (5 * 15 + 15), None)]
    assert (document["target"], document["selector"]) == ("model.py::Net(width=5)", "layer, bytes")
    text = run("model.py::Net(width=5)[layer, bytes]", "--since", "HEAD~1").stdout
    assert text.startswith("model.py::Net(width=5)[layer, bytes]\n")


def test_a_class_inside_a_model(told, run):  # noqa: ARG001
    done = run("parts.py::Wide(in model.py::Net(4))", "--since", "HEAD~2", "--format", "json")
    rest = [("merged", 4 * 12 + 12, None)]
    assert rows(json.loads(done.stdout)) == [("configured", 60, 0), *rest]


def test_a_page_for_the_browser(told, run):  # noqa: ARG001
    page = run("model.py::Net", "--format", "html").stdout
    assert '<svg class="chart"' in page
    assert page.count("<circle") == 8
    assert page.count('class="gap"') == 1
    assert page.count('class="count"') == 2  # before the gap, and after
    assert "<title>" in page
    assert "http" not in page.partition("</style>")[2]
    markdown = run("model.py::Net", "--format", "markdown").stdout
    assert "`▁▄·▄▄▄███`" in markdown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["model.py::Nett"], "no commit could be counted"),
        (["gone.py::Net"], "there is no file gone.py"),
        (["torch.nn::Linear(2, 3)"], "torch.nn is an installed package"),
        (["model.py::Net", "--since", "nowhere"], "there is no revision 'nowhere'"),
        (["model.py::Net", "--config", "nparam-lint.toml"], "leave out --config"),
    ],
)
def test_what_cannot_be_answered(run, arguments, said):
    done = run(*arguments)
    assert said in done.stdout + done.stderr


@pytest.mark.thorough
def test_the_change_across_a_gap_is_to_the_last_count(tmp_path, environ, nparam_lint):
    sample = Sample.create(tmp_path / "repository", environ)
    write(sample, "first", {"net.py": NET.format(width=10), "layers.py": LAYERS.format(factor=1)})
    for message in ("broken", "still broken"):
        write(sample, message, {"net.py": f"def {message}"})
    write(sample, "twice as wide", {"net.py": NET.format(width=20)})
    done = nparam_lint("history", "net.py::Net", cwd=sample.path, **sample.environ)
    assert "+310  twice as wide\n" in done.stdout
    assert "4 commits · 1 change · 2 not counted · " in done.stdout


def test_what_was_built_before_an_interruption_is_remembered(sample, environ, tmp_path):
    kept = {**environ, **sample.environ, "NPARAM_LINT_CACHE": str(tmp_path)}
    command = [sys.executable, "-m", "nparam_lint", "history", "model.py::Net(3)"]
    with subprocess.Popen(command, cwd=sample.path, env=kept, stderr=subprocess.PIPE) as started:
        while len([*tmp_path.rglob("commit-*")]) < 3 and started.poll() is None:
            time.sleep(0.01)
        os.kill(started.pid, signal.SIGINT)
        assert started.wait(60) == 130  # interrupted
    built = [name for name in tmp_path.rglob("commit-*") if name.suffix != ".partial"]
    again = subprocess.run(
        [*command, "--format", "json"], cwd=sample.path, env=kept, capture_output=True, check=True
    )
    commits = json.loads(again.stdout)["commits"]
    assert len(built) - 1 <= sum(c["cached"] for c in commits) < len(commits)  # HEAD is not listed
