"""Calls in scripts, tests and texts, and named sizes, built by the worker: one run of many."""

from __future__ import annotations

import json

import pytest
from model_source import TORCH, model_class
from sample_files import write_files

from nparam_lint.worker.building.script_effects import plain_entrypoint, without_effects
from nparam_lint.worker.state import STATE

LINEAR = "self.a = nn.Linear({}, bias=False)"
FILES = {
    "net.py": TORCH + model_class("Net", LINEAR.format("d, h"), takes="d, h=4"),
    # Arguments come from the command line of the script, which works when it is imported.
    "train.py": """\
import argparse
from net import Net

def get_parser():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dim", type=int, default=5)
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--data", required=True)
    return parser

def main(args):
    for batch in load_data(args.data):
        pass
    for h in (1, 2):
        model = Net(args.dim, h=h).cuda()

args = get_parser().parse_args()
main(args)
""",
    # A class reads what the script has set.
    "global_width.py": f"""\
import torch
{TORCH}
from train import get_parser

args = get_parser().parse_args()
width = args.dim * 2
torch.load("nowhere.pt")

{model_class("Reads", LINEAR.format("d, width"), takes="d")}
Reads(7)
""",
    # Arguments are handed on through two other files.
    "parts/__init__.py": """\
from .factory import build

def build_model(args):
    return build(args)
""",
    "parts/factory.py": f"""\
{TORCH}
HEADS = 3

{model_class("Handed", LINEAR.format("d, heads"), takes="d, heads")}

def build(args):
    model = Handed(args.dim, HEADS)
    return model, nn.MSELoss()
""",
    "main.py": """\
from parts import build_model
from train import get_parser

if __name__ == "__main__":
    model, loss = build_model(get_parser().parse_args())
""",
    # Its sizes are in the environment, which it reads when it is imported and when it is built.
    "kinds/model.py": f"""\
import os
{TORCH}
FIRST = 2
SIZE = int(os.environ["KIND_SIZE"])
LAST = 3

"""
    + model_class(
        "Kind",
        LINEAR.format("SIZE, FIRST * LAST"),
        'if os.environ.get("KIND") == "mixed":',
        "    self.b = nn.Linear(args.dim, 1, bias=False)",
        takes="args",
    ),
    "train_kind.py": """\
import argparse

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--dim", type=int, default=5)
    parser.add_argument("--kind", default="mixed")
    args = parser.parse_args()

    import os
    os.environ["KIND"] = args.kind
    os.environ["KIND_SIZE"] = str(args.dim * 2)

    from kinds.model import Kind
    model = Kind(args)
""",
    # The same of a script whose options name a config file.
    "wide.py": f"import os\n{TORCH}"
    + model_class("Wide", LINEAR.format('h["width"], int(os.environ["WIDE"])'), takes="h"),
    "train_wide.py": """\
import argparse
import json
import os
from wide import Wide

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="wide.json")
    parser.add_argument("--wide", type=int, default=3)
    args = parser.parse_args()
    os.environ["WIDE"] = str(args.wide)
    with open(args.config) as file:
        h = json.load(file)
    model = Wide(h)
""",
    "wide.json": '{"width": 9}',
    # Its weights stay where they are.
    "backbone.py": """\
import torch
from torch import nn
from torch.hub import load_state_dict_from_url
from torch.utils import model_zoo
from urllib.request import urlretrieve

class Backbone(nn.Module):
    def __init__(self, d, pretrained=True):
        super().__init__()
        self.a = nn.Linear(d, 2)
        if pretrained:
            state = load_state_dict_from_url("https://example.com/weights.pth")
            if state["head.weight"].shape[0] != self.a.weight.shape[0]:
                state["head.weight"] = state["head.weight"].sum(dim=1)
            del state["head.weight"]
            self.load_state_dict(state["model"], strict=False)
            self.a.load_state_dict(state)
            self.a.load_state_dict(model_zoo.load_url("https://example.com/older.pth"))
            with open("runs/options.txt", "w") as file:  # where there is no such directory
                file.write("pretrained")
        self.fetch()

    def fetch(self):
        urlretrieve("https://example.com/more.pth", "more.pth")
        self.load_state_dict(torch.load("more.pth"))

class Unknown(nn.Module):
    def __init__(self, d):
        super().__init__()
        state = load_state_dict_from_url("https://example.com/weights.pth")
        if d == 3:
            self.a = nn.Linear(state["a.weight"].shape[1], d)
        self.a = nn.Parameter(state["a.weight"].float())

class Grows(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fetch(d)

    def fetch(self, d):
        self.a = nn.Linear(d, 2)
        urlretrieve("https://example.com/more.pth", "more.pth")
        self.load_state_dict(torch.load("more.pth"))
""",
    "tests/test_backbone.py": """\
import pytest
from backbone import Backbone

@pytest.mark.parametrize("d", [3, 4])
def test_backbone(d):
    assert Backbone(d)
""",
    "README.md": "# How to\n\n```python\nfrom net import Net\nnet = Net(10, h=3)\n```\n",
    "broken.ipynb": '{"cells": [\n{"cell_type": "code", "source": ["Net(3)"}\n]}',
    # Weights were never added to git. Where they hold the arguments, too, nobody knows these.
    "restorer.py": f"""\
from copy import deepcopy
import torch
{TORCH}{model_class("Restorer", "self.a = nn.Linear(d, 2)", takes="d=1")}
def load(net, path):
    state = torch.load(path)["params"]
    for name, value in deepcopy(state).items():
        if name.startswith("module."):
            state[name[7:]] = state.pop(name)
    net.load_state_dict(state["net"] if "net" in state.keys() else state)

def restored(d, path):
    net = Restorer(d)
    load(net, path)
    return net

def stored(path):
    return Restorer(**torch.load(path)["args"])

if __name__ == "__main__":
    restored(8, "weights/restorer.pth")
    stored("weights/with_arguments.pth")
""",
    # A program that is refused fails as one that is not there.
    "asks.py": f"""\
import subprocess
{TORCH}{model_class("Left", "self.a = nn.Linear(d, d)", takes="d")}
{model_class("Right", "self.left, self.b = left, nn.Linear(d, 2)", takes="left, d")}
def both(d=3):
    left = Left(d)
    return left, Right(left, d)

def revision():
    try:
        return subprocess.check_output("git describe", shell=True, text=True).strip()
    except subprocess.CalledProcessError:
        return subprocess.run(["git", "status"]).returncode

if __name__ == "__main__":
    d = 4 if revision() == 127 else 5
    left, right = both(d)
""",
    # Tables of sizes, of which one does not fit; methods that make their class.
    "m.py": """\
from torch import nn

SIZES = {
    "s": dict(dim=2),
    "m": dict(dim=3),
    "odd": dict(dim=2, depth=1),
    "l": dict(dim=4),
}

class Sized(nn.Module):
    def __init__(self, dim, out):
        super().__init__()
        self.layer = nn.Linear(dim, out)

    @classmethod
    def from_name(cls, name):
        return cls(**SIZES[name], out=1)

    @classmethod
    def from_pretrained(cls, name, out=2):
        import nowhere

        names = {"s": 2, "pretrained": 5}
        dim = names[name]
        model = cls(dim, out)
        model.load_state_dict(nowhere.load_file(name))
        return model
""",
    "codec.py": """\
from torch import nn

class Codec(nn.Module):
    def __init__(self, width, bands):
        super().__init__()
        self.layer = nn.Linear(width, bands)

    @staticmethod
    def _of(width):
        return Codec(width, 1)

    @staticmethod
    def small(pretrained: bool = True):
        model = Codec._of(2)
        if pretrained:
            model.load_state_dict(None)
        return model

    @classmethod
    def large(cls):
        return cls(8, 1)

    @classmethod
    def wide(cls, bands):  # what needs something, gives something else or loads is no size
        return cls(8, bands)

    @staticmethod
    def bands_of(width=3):
        return width // 3

    @classmethod
    def download(cls):
        return cls(1, 1)
""",
    # One name that is gone takes no other with it.
    "sizes.py": "WIDTH = 3\n",
    "gone.py": "from sizes import WIDTH, gone\nfrom net import Net\nnet = Net(WIDTH, h=7)\n",
    "wrong.py": """\
from backbone import Grows, Unknown
from net import Net

net = Net('wide')
Grows(3)
Unknown(3)
Unknown(4)
""",
}


@pytest.fixture(scope="module")
def report(tmp_path_factory, nparam_lint):
    done = nparam_lint("--format", "json", cwd=write_files(tmp_path_factory.mktemp("calls"), FILES))
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_each_call_builds_its_model(report):
    found = {
        (model["target"].partition("::")[2], model["way"]["path"], model["counts"]["total"])
        for model in report["models"]
        if model["way"] and model["way"]["kind"] in ("call", "config")
    }
    assert found == {
        ("Net", "train.py", 5 * 1),
        ("Net", "train.py", 5 * 2),
        ("Net", "README.md", 10 * 3),
        ("Net", "gone.py", 3 * 7),
        ("Reads", "global_width.py", 7 * 10),
        ("Handed", "parts/factory.py", 5 * 3),
        ("Kind", "train_kind.py", 10 * 6 + 5),
        ("Wide", "wide.json", 9 * 3),
        ("Wide", "train_wide.py", 9 * 3),  # which reads that
        ("Backbone", "tests/test_backbone.py", 3 * 2 + 2),
        ("Backbone", "tests/test_backbone.py", 4 * 2 + 2),
        ("Restorer", "restorer.py", 8 * 2 + 2),
        ("restored", "restorer.py", 8 * 2 + 2),
        ("Left", "asks.py", 4 * 5),
        ("Right", "asks.py", 4 * 5 + 4 * 2 + 2),
    }


def test_each_size_builds_its_model(report):
    found = [
        (model["way"]["name"], model["way"]["path"], model["counts"]["total"], model["call"])
        for model in report["models"]
        if model["way"] and model["way"]["kind"] == "size"
    ]
    assert sorted(found) == [
        ("l", "m.py", 5, 'Sized.from_name("l")'),
        ("large", "codec.py", 9, "Codec.large()"),
        ("m", "m.py", 4, 'Sized.from_name("m")'),
        ("pretrained", "m.py", 12, "Sized(dim, out)"),
        ("s", "m.py", 3, 'Sized.from_name("s")'),
        ("small", "codec.py", 3, "Codec.small(pretrained=False)"),
    ]


def test_a_way_that_fails_is_told_with_its_line(report):
    found = {
        (way["target"].partition("::")[2], f"{way['way']['path']}:{way['way']['line']}"): way
        for way in report["failed_ways"]
    }
    reasons = {
        ("Sized", "m.py:6"): "depth",
        ("Net", "wrong.py:4"): "Net('wide')",
        ("Grows", "wrong.py:5"): "download weights from https://example.com/more.pth",
        ("stored", "restorer.py:27"): "the arguments of the model are stored with weights that",
        ("Unknown", "wrong.py:6"): "",
        ("Unknown", "wrong.py:7"): "",
    }
    assert found.keys() == reasons.keys()
    assert all(said in found[key]["reason"] for key, said in reasons.items())
    assert all(way["cause"] == "raised" for key, way in found.items() if key[0] == "Unknown")
    skipped = {model["target"]: model["reason"] for model in report["skipped"]}
    assert skipped["asks.py::both"] == "both() returned 2 models (Left, Right), not one"


def test_what_is_left_out_is_told(report):
    notes = {note for model in report["models"] for note in model.get("notes", ())}
    places = [f"https://example.com/{name}.pth" for name in ("weights", "older", "more")]
    for place in (*places, "weights/restorer.pth"):
        assert f"the weights from {place} are left out" in notes
    assert any("refused to start the program" in note for note in notes)


def test_a_notebook_that_is_no_notebook_costs_itself_only(report):
    (found,) = report["findings"]
    assert (found["path"], found["line"], found["code"]) == ("broken.ipynb", 2, "NPL003")


SPELLS = """

if __name__ == "__main__":
    train_dataset = torch.load("words.pt")
    words = train_dataset.%s
    net = %s(words)
"""


def test_what_only_data_would_give_is_named(tmp_path, nparam_lint):
    """The first call that is not run."""
    files = {
        f"{name}.py": "import torch\n"
        + TORCH
        + model_class(name, LINEAR.format("words, 3"), takes="words")
        + SPELLS % (number_of_words, name)
        for name, number_of_words in {"Speller": "get_vocab_size()", "Shaper": "shape[0]"}.items()
    }
    said = nparam_lint(cwd=write_files(tmp_path / "p", files)).stdout
    assert "  – Speller  words comes from train_dataset.get_vocab_size() (Speller.py:12)" in said
    assert "  – Shaper  train_dataset comes from torch.load() (Shaper.py:11)" in said
    assert "\nno model measured · " in said


def test_ways_beyond_the_limit_are_counted(tmp_path, nparam_lint):
    files = {"m.py": FILES["m.py"], "nparam-lint.toml": "ways = 2\n"}
    done = nparam_lint("--format", "json", cwd=write_files(tmp_path, files))
    report = json.loads(done.stdout)
    assert [model["way"]["name"] for model in report["models"]] == ["s", "m"]
    assert report["ways_left"] == {"m.py::Sized": 3}


def test_a_function_for_an_older_timm_gets_what_it_takes(monkeypatch):
    monkeypatch.setattr(STATE, "refusals", [])

    def small(width=3, pretrained=False):
        return width + pretrained

    build = plain_entrypoint({"small": small}.get, "small")
    assert build(width=5, pretrained=False, pretrained_cfg=None, bn_tf=False) == 5
    assert STATE.refusals == ["small does not take the pretrained_cfg of this timm: called without"]
    with pytest.raises(TypeError):  # what was asked for is not left out
        build(pretrained_cfg="tag")
    with pytest.raises(TypeError):
        build(depth=5)


def test_what_is_written_goes_nowhere_and_what_is_read_is_what_is_there(tmp_path):
    torch = pytest.importorskip("torch")
    there, absent = tmp_path / "there", tmp_path / "absent"
    there.write_text("as it was")
    with without_effects(torch, []):
        for mode in ("w", "wb", "w+", "x", "a"):
            with absent.open(mode) as file:
                file.write(b"" if "b" in mode else "")
        there.open("w").write("new")
        with there.open("r+") as file:
            assert file.read() == "as it was"
    assert not absent.exists()
    assert there.read_text() == "as it was"
