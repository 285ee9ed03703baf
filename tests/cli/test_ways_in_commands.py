"""Every command sees the models that a check counts: also one that only the project's own files
say how to build."""

from __future__ import annotations

import json

import pytest
from sample_files import BUILDS_BY_JSON
from sample_repository import Sample

NET = """\
from torch import nn


class Net(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.l = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
"""
READS_JSON = NET.replace("width, depth)", "h)").replace("width", 'h["width"]')
READS_JSON = READS_JSON.replace("depth", 'h["depth"]')
TRAIN = """\
from net import Net

SIZES = {"s": 1, "m": 2}
model = Net(width=4, depth=SIZES["m"])
"""
CALL = "from net import Net\n\nprint(Net(%s))\n"
FILES = {
    "net.py": NET,
    "train.py": TRAIN,
    "gone.py": CALL % "3, 1",
    "sized.py": TRAIN.replace("=4", "=3"),
    "same.py": CALL % "5, 1",
    "other.py": CALL % "2, 1",
    "read/net.py": READS_JSON,
    "read/train.py": BUILDS_BY_JSON.replace("small.json", "read/small.json"),
    "read/small.json": '{"width": 4, "depth": 2}',
}
EDITS = {
    "train.py": TRAIN.replace("=4", "=5"),
    "gone.py": CALL % "-3, 1",
    "sized.py": FILES["sized.py"].replace('"m": 2', '"m": 3'),
    "other.py": CALL % "2, 4",
    "new.py": CALL % "2, 2",
    "read/small.json": '{"width": 4, "depth": 3}',
}


@pytest.fixture
def sample(tmp_path, environ):
    return Sample.create(tmp_path / "r", environ)


@pytest.fixture
def run(sample, nparam_lint):
    def run(*arguments, code=0):
        done = nparam_lint(*arguments, "--device", "meta", cwd=sample.path, **sample.environ)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    return run


def test_ways_are_compared_place_by_place_and_drift_is_told(sample, run):
    """Of what a script gives, of a table in it, of what a config file says; a way that builds
    nothing now is not measured."""
    sample.committed(FILES)
    assert "No change since HEAD" in run("diff", "HEAD", "--tolerance", "0")
    sample.write(EDITS)
    told = json.loads(run("diff", "HEAD", "--tolerance", "1%", "--format", "json", code=1))
    assert {one["way"]["path"]: (one["status"], one["delta"]) for one in told["models"]} == {
        "train.py": ("changed", 20),
        "sized.py": ("changed", 12),
        "same.py": ("same", 0),
        "other.py": ("changed", 18),
        "new.py": ("added", None),
        "gone.py": ("not_measured", None),
        "read/small.json": ("changed", 20),
        "read/train.py": ("changed", 20),  # which reads that
    }
    messages = {one["message"].partition(": ")[0] for one in told["findings"]}
    assert "Net as in train.py:4 has 60 parameters, 40 at HEAD" in messages
    assert "Net as in read/small.json:1 has 60 parameters, 40 at HEAD" in messages


def test_an_edit_of_the_model_is_drift_of_its_ways(sample, run):
    sample.committed({"net.py": NET, "train.py": TRAIN})
    sample.write({"net.py": NET.replace("width)", "width, bias=False)")})
    (told,) = json.loads(run("diff", "HEAD", "--format", "json"))["models"]
    assert (told["way"]["path"], told["delta"]) == ("train.py", -8)


@pytest.mark.parametrize("is_counted_then", [True, False])
def test_a_gate_that_compares_nothing_does_not_pass(is_counted_then, sample, run):
    sample.committed({"net.py": NET, "train.py": TRAIN if is_counted_then else "x = 1\n"})
    sample.write({"train.py": "x = 2\n"})
    told = run("diff", "HEAD", "--tolerance", "1%", "--format", "concise", code=1)
    assert told.splitlines()[-1] == (
        "net.py:1:1: error: NPL014 no model was counted both now and at HEAD: nothing is known of "
        "a drift"
    )
    assert run("diff", "HEAD")
    sample.git("rm", "--quiet", "-f", "net.py", "train.py")
    sample.committed({"other.py": "x = 1\n"})
    run("diff", "HEAD", "--tolerance", "1%")  # there is no model


def test_the_other_commands(sample, run):
    sample.committed({"net.py": NET, "train.py": TRAIN})
    for command, said in {
        "formula": "  Net(width=4, depth=SIZES['m'])  train.py:4\n\n  width*depth*(width + 1)\n",
        "solve --budget=60 --vary=depth": "best: Net(width=4, depth=3)",
        "sweep --vary=depth=3,width=2 --format=csv": "3,2,18,form,",
    }.items():
        name, *options = command.split()
        assert said in run(name, "net.py::Net", *options)
    run("formula", "net.py::Net", "--write", code=2)
    assert sample.git("diff") == ""


def test_the_history_of_what_a_script_builds(sample, run):
    sample.committed({"net.py": NET, "train.py": TRAIN})
    sample.committed({"train.py": TRAIN.replace("=4", "=5")})
    sample.committed({"train.py": "x = 1\n"})
    told = json.loads(run("history", "net.py::Net", "--format", "json"))
    assert [one["count"] for one in told["commits"]] == [None, 60, 40]


def test_what_the_readme_names_comes_first(sample, run):
    for name, size in {"Wide": 9, "Large": 8, "Small": 1, "Other": 7}.items():
        net = f"    def __init__(self):\n        super().__init__(2, {size})\n"
        net = f"from torch import nn\nclass {name}(nn.Linear):\n{net}"
        sample.write({f"nets/{name}.py": net})
    sample.write({"README.md": "# Nets\n\nTrain `Small` first.\n"})
    lines = run("--no-cache").splitlines()
    assert lines[:2] == ["nets/Small.py", "  – Small   3  with its defaults"]
