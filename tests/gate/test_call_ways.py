"""Calls in scripts, tests and texts, and named sizes, built by the worker: one run of many."""

from __future__ import annotations

import re

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


# The first call that is not run, where only data would give what a model needs.
SPELLS = """

if __name__ == "__main__":
    train_dataset = torch.load("words.pt")
    words = train_dataset.%s
    net = %s(words)
"""
FILES |= {
    f"{name}.py": "import torch\n"
    + TORCH
    + model_class(name, LINEAR.format("words, 3"), takes="words")
    + SPELLS % (number_of_words, name)
    for name, number_of_words in {"Speller": "get_vocab_size()", "Shaper": "shape[0]"}.items()
}
FILES |= {"nparam-lint.toml": 'device = "meta"\n', "two.toml": 'ways = 2\ndevice = "meta"\n'}
# All that is built; fewer ways than there are; and the notes of models of which something is left
# out: weights, and programs.
COMMANDS = """
check -v
check m.py --config two.toml
show backbone.py::Backbone
show restorer.py::Restorer
show asks.py::Right
"""


@pytest.fixture
def place(tmp_path):
    return write_files(tmp_path / "calls", FILES)


def test_each_call_and_each_size_builds_its_model(transcript, expected):
    """One that fails is told with its line, and costs itself only."""
    said = transcript(COMMANDS, columns=300).items()  # wide: what torch says is cut off
    expected({name: re.sub(r"TypeError: empty\(\).*", "TypeError", text) for name, text in said})


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
