"""Calls in scripts, tests and texts, built by the worker: one run of many."""

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
    args = get_parser().parse_args()
    model, loss = build_model(args)
""",
    # Which model it is is known only when the script runs; its options are all that this one reads.
    "zoo/model.py": TORCH
    + model_class(
        "Zoo",
        "self.a = nn.ModuleList(nn.Linear(configs.dim, 1) for _ in range(configs.depth))",
        takes="configs",
    ),
    "run.py": """\
import argparse
import importlib

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="zoo.model")
    parser.add_argument("--dim", type=int, default=9)
    parser.add_argument("--depth", type=int, default=2)
    args = parser.parse_args()
    importlib.import_module(args.model).Zoo(args)
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
        ("Reads", "global_width.py", 7 * 10),
        ("Handed", "parts/factory.py", 5 * 3),
        ("Zoo", "run.py", 2 * 10),
        ("Kind", "train_kind.py", 10 * 6 + 5),
        ("Wide", "wide.json", 9 * 3),
        ("Wide", "train_wide.py", 9 * 3),  # which reads that
        ("Backbone", "tests/test_backbone.py", 3 * 2 + 2),
        ("Backbone", "tests/test_backbone.py", 4 * 2 + 2),
    }


def test_a_call_that_fails_is_told_with_its_line(report):
    grows, shaped, given, wrong = sorted(report["failed_ways"], key=lambda way: way["target"])
    assert (wrong["way"]["path"], wrong["way"]["line"]) == ("wrong.py", 4)
    assert "Net('wide')" in wrong["reason"]
    assert "needs to download weights from https://example.com/more.pth" in grows["reason"]
    for unknown in (shaped, given):
        assert (unknown["target"], unknown["cause"]) == ("backbone.py::Unknown", "raised")


def test_weights_that_are_left_out_are_told(report):
    notes = {note for model in report["models"] for note in model["notes"]}
    for name in ("weights", "older", "more"):  # the last: of a method that only loads
        assert f"the weights from https://example.com/{name}.pth are left out" in notes


def test_a_notebook_that_is_no_notebook_costs_itself_only(report):
    (found,) = report["findings"]
    assert (found["path"], found["line"], found["code"]) == ("broken.ipynb", 2, "NPL003")


RESTORER = """\
from copy import deepcopy
import torch
from torch import nn

class Restorer(nn.Module):
    def __init__(self, d=1):
        super().__init__()
        self.a = nn.Linear(d, 2)

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
"""


def test_weights_that_are_not_here_are_left_out(tmp_path, nparam_lint):
    """They were never added to git. Where they hold the arguments, too, nobody knows these."""
    (tmp_path / "restorer.py").write_text(RESTORER)
    report = json.loads(nparam_lint("--format", "json", cwd=tmp_path).stdout)
    [found] = [model for model in report["models"] if model["target"] == "restorer.py::restored"]
    assert found["counts"]["total"] == 8 * 2 + 2
    assert "the weights from weights/restorer.pth are left out" in found["notes"]
    [failed] = report["failed_ways"]
    assert failed["target"] == "restorer.py::stored"
    assert (
        "the arguments of the model are stored with weights that are not here" in failed["reason"]
    )


MAKES_WORDS = """\
import torch
from torch import nn

class Speller(nn.Module):
    def __init__(self, words, width=3):
        super().__init__()
        self.a = nn.Linear(words, width)

if __name__ == "__main__":
    train_dataset = torch.load("words.pt")
    words = train_dataset.get_vocab_size()
    net = Speller(words)
"""


def test_what_only_data_would_give_is_named(tmp_path, nparam_lint):
    """The first call that is not run."""
    text = MAKES_WORDS.replace("train_dataset.get_vocab_size()", "train_dataset.shape[0]")
    files = {"spell.py": MAKES_WORDS, "shape.py": text.replace("Speller", "Shaper")}
    said = nparam_lint(cwd=write_files(tmp_path / "p", files)).stdout
    assert "  – Speller  words comes from train_dataset.get_vocab_size() (spell.py:11)" in said
    assert "  – Shaper  train_dataset comes from torch.load() (shape.py:10)" in said
    assert "\nno model measured · " in said


ASKS = """\
import subprocess
from torch import nn

class Left(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.a = nn.Linear(d, d)

class Right(nn.Module):
    def __init__(self, left, d):
        super().__init__()
        self.left, self.b = left, nn.Linear(d, 2)

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
"""


def test_a_program_that_is_refused_fails_as_one_that_is_not_there(tmp_path, nparam_lint):
    root = write_files(tmp_path / "p", {"asks.py": ASKS})
    report = json.loads(nparam_lint("--format", "json", cwd=root).stdout)
    found = [m for m in report["models"] if (m.get("way") or {}).get("line") == 26]
    totals = {model["target"]: model["counts"]["total"] for model in found}
    assert totals == {"asks.py::Left": 4 * 5, "asks.py::Right": 4 * 5 + 4 * 2 + 2}
    assert all("refused to start the program" in " ".join(model["notes"]) for model in found)
    assert "returned 2 models (Left, Right), not one" in json.dumps(report)


def test_one_name_that_is_gone_takes_no_other_with_it(tmp_path, nparam_lint):
    train = "from sizes import WIDTH, gone\nfrom net import Net\nnet = Net(WIDTH)\n"
    net = "from torch import nn\nclass Net(nn.Linear):\n    def __init__(self, d):\n"
    net += "        super().__init__(d, d)\n"
    root = write_files(tmp_path, {"sizes.py": "WIDTH = 3\n", "train.py": train, "net.py": net})
    (model,) = json.loads(nparam_lint("--format", "json", cwd=root).stdout)["models"]
    assert (model["way"]["path"], model["counts"]["total"]) == ("train.py", 12)


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
