"""Counts that depend on values of tensors, on random numbers, or on what a constructor leaves
behind: as plain torch has them, in a process for each model."""

from __future__ import annotations

import pytest
from sample_files import write_files
from worker_runs import model_source, run

HEAD = """\
import random
import torch
from torch import nn

ENCODER = dict(type="Linear", in_features=8, out_features=8)


class Layer(nn.Linear):
    made = 0

    def __init__(self):
        Layer.made += 1
        super().__init__(4, 4 * Layer.made)
"""
# What constructors do that have one count, and those whose count is drawn at random.
COUNTED = {
    # Reads initial weights; seeded.
    "Pruned": """\
torch.manual_seed(0)
self.a, self.b = nn.Linear(16, 16), nn.Linear(16, 16)
self.out = nn.Linear(int((self.b.weight.abs().sum(1) > 2.0).sum()), 4)""",
    # Ties what is equal, which two layers never are.
    "Tied": """\
self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)
if torch.equal(self.a.weight, self.b.weight):
    self.b.weight = self.a.weight""",
    # Draws after a layer was initialised; seeded.
    "Wired": """\
torch.manual_seed(1)
self.stem = nn.Linear(3, 8)
edges = (torch.rand(10, 10) < 0.3).triu(1).nonzero().tolist()
self.edges = nn.ModuleDict({f"{i}_{j}": nn.Linear(8, 8) for i, j in edges})""",
    # A tensor is changed by a weight.
    "Slim": """\
self.bn, keep = nn.BatchNorm2d(8), torch.zeros(8, dtype=torch.bool)
keep[self.bn.weight.data.abs() > 0.5] = True
self.head = nn.Linear(int(keep.sum()), 10)""",
    # The same by a function that is told where to write.
    "Summed": """\
self.bn, total = nn.BatchNorm1d(16), torch.zeros(16)
torch.add(self.bn.weight.data, 1, out=total)
self.head = nn.Linear(int(total.sum()), 2)""",
    # Takes its type out of a global config, and asks for a device.
    "Detector": """\
self.enc = getattr(nn, ENCODER.pop("type"))(**ENCODER)
self.register_buffer("steps", torch.arange(4, device=self.enc.weight.device))""",
    # Counts its layers, and draws a number that is no width.
    "Noisy": """\
self.p = random.random()
self.layers = nn.ModuleList(Layer() for _ in range(2))""",
}
RANDOM = {
    "RandomWeights": """\
weight = nn.Linear(16, 16).weight
self.out = nn.Linear(int((weight.abs().sum(1) > 2.0).sum()), 4)""",
    "RandomMask": "self.out = nn.Linear(len(torch.where(torch.rand(640) > 0.5)[0]), 2)",
    "RandomClasses": """\
classes = nn.functional.one_hot(torch.randint(0, 5000, (3,))).shape[1]
self.out = nn.Linear(classes, 2)""",
}
NETS = HEAD + "".join(model_source(name, made) for name, made in (COUNTED | RANDOM).items())


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    root = write_files(tmp_path_factory.mktemp("nets"), {"nets.py": NETS})
    return run(root, [f"nets.py::{name}" for name in (*COUNTED, *RANDOM)])


@pytest.mark.parametrize("name", COUNTED)
def test_it_is_counted_as_plain_torch_does(found, name):
    plain = {}
    exec(NETS, plain)
    expected = sum(p.numel() for p in plain[name]().parameters())
    assert found.measured(f"nets.py::{name}").counts.total == expected


@pytest.mark.parametrize("name", RANDOM)
def test_random_widths_are_no_count(found, name):
    assert "its widths come from random numbers" in found.failed(f"nets.py::{name}").reason


FILLED = """\
from torch import nn
from torch.utils.data import DataLoader
{}


class Config:
    dim = 8

    @classmethod
    def load(cls, values):
        for name, value in values.items():
            setattr(cls, name, value)


{}
for batch in DataLoader(range(4)):
    pass
"""
COMMON = """\
from types import SimpleNamespace

cfg = SimpleNamespace(dim=8)


def load(cfg, name):
    if name == "big":
        cfg.dim = 40


def show(cfg, name):
    print(cfg.dim, name)


def merge(cfg, values):
    for name, value in values.items():
        if isinstance(value, dict):
            merge(cfg, value)
        else:
            setattr(cfg, name, value)
"""


# What a script imports, the call that is not run, the width that this may have filled, and the
# total of `nn.Linear(width, 1)`.
FILLS = [
    ("", 'Config.load({"dim": 40})', "Config.dim", None),
    ("from common import cfg, load", 'load(cfg, "big")', "cfg.dim", None),
    ("import common\nfrom common import cfg", 'common.load(cfg, "big")', "cfg.dim", None),
    ("from common import cfg, merge", 'merge(cfg, {"net": {"dim": 40}})', "cfg.dim", None),
    ("from common import cfg, show", 'show(cfg, "big")', "cfg.dim", 9),
]


def test_what_a_script_fills_by_a_call_that_is_not_run(tmp_path):
    files = {"common.py": COMMON}
    for number, (imports, fill, width, _) in enumerate(FILLS):
        net = model_source("Net", f"self.fc = nn.Linear({width}, 1)")
        files[f"train{number}.py"] = FILLED.format(imports, fill) + net
    targets = [f"train{number}.py::Net" for number in range(len(FILLS))]
    done = run(write_files(tmp_path, files), targets)
    for target, (*_, total) in zip(targets, FILLS, strict=True):
        if total:
            assert done.measured(target).counts.total == total
        else:
            assert "work that nparam-lint does not run" in done.failed(target).reason


CHANGING = '''\
from dataclasses import dataclass

from torch import nn


@dataclass
class Config:
    d: int = 5


class Scaled(nn.Module):
    """nparam: 4*d**2 + 2*d"""

    def __init__(self, cfg: Config):
        super().__init__()
        cfg.d *= 2
        self.l = nn.Linear(cfg.d, cfg.d)


class Popped(nn.Module):
    """nparam(cfg={'w': 5, 'k': 3}): cfg['w']*(cfg['w'] + 1)"""

    def __init__(self, cfg):
        super().__init__()
        w = cfg.pop("w")
        self.l = nn.Linear(w, w)
'''


def test_a_formula_is_about_what_is_given(tmp_path, nparam_lint):
    write_files(tmp_path, {"nets.py": CHANGING})
    done = nparam_lint("nets.py", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "2 budgets hold" in done.stdout
