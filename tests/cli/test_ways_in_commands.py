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
TRAIN = """\
from net import Net

SIZES = {"s": 1, "m": 2}
model = Net(width=4, depth=SIZES["m"])
"""
OTHER = "from net import Net\n\nprint(Net(2, 1))\n"
FILES = {"net.py": NET, "train.py": TRAIN, "other.py": OTHER}


@pytest.fixture
def sample(tmp_path, environ):
    made = Sample.create(tmp_path / "r", environ)
    made.committed(FILES)
    return made


@pytest.fixture
def run(sample, nparam_lint):
    def run(*arguments, code=0):
        done = nparam_lint(*arguments, "--device", "meta", cwd=sample.path, **sample.environ)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    return run


def models(text):
    return [(one["status"], one["delta"], one["way"]["path"]) for one in json.loads(text)["models"]]


EDITS = {
    "a width in a script": ({"train.py": TRAIN.replace("=4", "=5")}, 20),
    "a table of sizes": ({"train.py": TRAIN.replace('"m": 2', '"m": 3')}, 20),
    "the model": ({"net.py": NET.replace("width)", "width, bias=False)")}, -8),
}


@pytest.mark.parametrize("edit", EDITS)
def test_what_a_script_changes_is_drift(edit, sample, run):
    files, delta = EDITS[edit]
    sample.write(files)
    told = json.loads(run("diff", "HEAD", "--tolerance", "1%", "--format", "json", code=1))
    by_way = {one["way"]["path"]: one["delta"] for one in told["models"]}
    assert by_way["train.py"] == delta
    message = next(one["message"] for one in told["findings"] if "train.py" in one["message"])
    assert message.startswith(f"Net as in train.py:4 has {40 + delta} parameters, 40 at HEAD: ")


def test_what_a_config_file_changes_is_drift(sample, run):
    small = '{"width": 4, "depth": %d}'
    net = NET.replace("width, depth)", "h)").replace("width", 'h["width"]')
    net = net.replace("depth", 'h["depth"]')
    sample.committed({"net.py": net, "train.py": BUILDS_BY_JSON, "small.json": small % 2})
    sample.write({"small.json": small % 3})
    told = run("diff", "HEAD", "--tolerance", "1%", "--format", "concise", code=1)
    assert "NPL014 Net as in small.json:1 has 60 parameters, 40 at HEAD: +20 (+50.00 %)" in told


def test_ways_are_compared_place_by_place(sample, run):
    assert "No change since HEAD" in run("diff", "HEAD", "--tolerance", "0")
    sample.write({"other.py": OTHER.replace("2, 1", "2, 4"), "new.py": OTHER})
    told = run("diff", "HEAD", "--format", "json")
    assert models(told) == [
        ("same", 0, "train.py"),
        ("changed", 18, "other.py"),
        ("added", None, "new.py"),
    ]


def test_a_way_that_builds_nothing_now_is_not_measured(sample, run):
    sample.write({"train.py": TRAIN.replace("=4", "=-4")})
    told = run("diff", "HEAD", "--format", "json")
    assert models(told) == [("same", 0, "other.py"), ("not_measured", None, "train.py")]


@pytest.mark.parametrize("is_counted_then", [True, False])
def test_a_gate_that_compares_nothing_does_not_pass(is_counted_then, sample, run):
    sample.git("rm", "--quiet", "other.py")
    sample.committed({"train.py": TRAIN if is_counted_then else "x = 1\n"})
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
    for command, said in {
        "formula": "  Net(width=4, depth=SIZES['m'])  train.py:4\n\n  width*depth*(width + 1)\n",
        "solve --budget=60 --vary=depth": "best: Net(width=4, depth=3)",
        "sweep --vary=depth=3 --format=csv": "3,60,form,",
        "sweep --vary=depth=3,width=2 --format=csv": "3,2,18,form,",
    }.items():
        name, *options = command.split()
        assert said in run(name, "net.py::Net", *options)
    run("formula", "net.py::Net", "--write", code=2)
    assert sample.git("diff") == ""


def test_the_history_of_what_a_script_builds(sample, run):
    sample.git("rm", "--quiet", "other.py")
    sample.committed({"train.py": TRAIN})
    sample.committed({"train.py": TRAIN.replace("=4", "=5")})
    sample.committed({"train.py": "x = 1\n"})
    told = json.loads(run("history", "net.py::Net", "--format", "json"))
    assert [one["count"] for one in told["commits"]] == [None, 60, 40, 40]


def test_what_the_readme_names_comes_first(sample, run):
    sizes = {"Wide": 9, "Large": 8, "Small": 1, "Other": 7}
    nets = (f"class {name}(nn.Linear):\n    def __init__(self):\n" for name in sizes)
    calls = (f"        super().__init__(2, {size})\n" for size in sizes.values())
    files = (
        "from torch import nn\n\n\n" + net + call for net, call in zip(nets, calls, strict=True)
    )
    sample.write({f"nets/{name}.py": file for name, file in zip(sizes, files, strict=True)})
    sample.write({"README.md": "# Nets\n\nTrain `Small` first.\n"})
    lines = run("--no-cache").splitlines()
    assert lines[:2] == ["nets/Small.py", "  – Small       3  with its defaults"]
