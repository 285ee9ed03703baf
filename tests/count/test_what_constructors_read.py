"""Counts that depend on values of tensors, on random numbers, or on what a constructor leaves
behind: as plain torch has them, in a process for each model."""

from __future__ import annotations

import json

import pytest
from sample_files import write_files

NETS = '''\
import random

import torch
from torch import nn

ENCODER = dict(type="Linear", in_features=8, out_features=8)


class Pruned(nn.Module):
    """Reads initial weights; seeded."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b = nn.Linear(16, 16), nn.Linear(16, 16)
        self.out = nn.Linear(int((self.b.weight.abs().sum(1) > 2.0).sum()), 4)


class Tied(nn.Module):
    """Ties what is equal, which two layers never are."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)
        if torch.equal(self.a.weight, self.b.weight):
            self.b.weight = self.a.weight


class Wired(nn.Module):
    """Draws after a layer was initialised; seeded."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.stem = nn.Linear(3, 8)
        edges = (torch.rand(10, 10) < 0.3).triu(1).nonzero().tolist()
        self.edges = nn.ModuleDict({f"{i}_{j}": nn.Linear(8, 8) for i, j in edges})


class Slim(nn.Module):
    """A tensor is changed by a weight."""

    def __init__(self):
        super().__init__()
        self.bn, keep = nn.BatchNorm2d(8), torch.zeros(8, dtype=torch.bool)
        keep[self.bn.weight.data.abs() > 0.5] = True
        self.head = nn.Linear(int(keep.sum()), 10)


class Summed(nn.Module):
    """The same by a function that is told where to write."""

    def __init__(self):
        super().__init__()
        self.bn, total = nn.BatchNorm1d(16), torch.zeros(16)
        torch.add(self.bn.weight.data, 1, out=total)
        self.head = nn.Linear(int(total.sum()), 2)


class Detector(nn.Module):
    """Takes its type out of a global config, and asks for a device."""

    def __init__(self):
        super().__init__()
        self.enc = getattr(nn, ENCODER.pop("type"))(**ENCODER)
        self.register_buffer("steps", torch.arange(4, device=self.enc.weight.device))


class Layer(nn.Linear):
    made = 0

    def __init__(self):
        Layer.made += 1
        super().__init__(4, 4 * Layer.made)


class Noisy(nn.Module):
    """Counts its layers, and draws a number that is no width."""

    def __init__(self):
        super().__init__()
        self.p = random.random()
        self.layers = nn.ModuleList(Layer() for _ in range(2))


class RandomWeights(nn.Module):
    """nparam: 1"""

    def __init__(self):
        super().__init__()
        self.out = nn.Linear(int((nn.Linear(16, 16).weight.abs().sum(1) > 2.0).sum()), 4)


class RandomMask(nn.Module):
    """nparam: 1"""

    def __init__(self):
        super().__init__()
        self.out = nn.Linear(len(torch.where(torch.rand(640) > 0.5)[0]), 2)


class RandomClasses(nn.Module):
    """nparam: 1"""

    def __init__(self):
        super().__init__()
        classes = nn.functional.one_hot(torch.randint(0, 5000, (3,))).shape[1]
        self.out = nn.Linear(classes, 2)
'''
COUNTED = ["Pruned", "Tied", "Wired", "Slim", "Summed", "Detector", "Noisy"]
RANDOM = ["RandomWeights", "RandomMask", "RandomClasses"]


@pytest.fixture(scope="module")
def found(tmp_path_factory, nparam_lint):
    """Each model by its name."""
    root = write_files(tmp_path_factory.mktemp("nets"), {"nets.py": NETS})
    done = nparam_lint("nets.py", "-v", "--format", "json", cwd=root)
    return {m["target"].partition("::")[2]: m for m in json.loads(done.stdout)["models"]}


@pytest.mark.parametrize("name", COUNTED)
def test_it_is_counted_as_plain_torch_does(found, name):
    plain = {}
    exec(NETS, plain)
    expected = sum(p.numel() for p in plain[name]().parameters())
    assert found[name]["counts"], found[name]["reason"]
    assert found[name]["counts"]["total"] == expected


@pytest.mark.parametrize("name", RANDOM)
def test_random_widths_are_no_count(found, name):
    assert found[name]["counts"] is None
    assert "its widths come from random numbers" in found[name]["reason"]


FILLED = '''\
from torch import nn
from torch.utils.data import DataLoader
{imports}


class Config:
    dim = 8

    @classmethod
    def load(cls, values):
        for name, value in values.items():
            setattr(cls, name, value)


{fill}


class Net(nn.Module):
    """nparam: 9"""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear({dim}, 1)


for batch in DataLoader(range(4)):
    pass
'''
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


@pytest.mark.parametrize(
    ("imports", "fill", "dim", "total"),
    [
        ("", 'Config.load({"dim": 40})', "Config.dim", None),
        ("from common import cfg, load", 'load(cfg, "big")', "cfg.dim", None),
        ("import common\nfrom common import cfg", 'common.load(cfg, "big")', "cfg.dim", None),
        ("from common import cfg, merge", 'merge(cfg, {"net": {"dim": 40}})', "cfg.dim", None),
        ("from common import cfg, show", 'show(cfg, "big")', "cfg.dim", 9),
    ],
)
def test_what_a_script_fills_by_a_call_that_is_not_run(
    imports, fill, dim, total, tmp_path, nparam_lint
):
    train = FILLED.format(imports=imports, fill=fill, dim=dim)
    write_files(tmp_path, {"train.py": train, "common.py": COMMON})
    done = nparam_lint("train.py", "-v", "--format", "json", cwd=tmp_path)
    (net,) = json.loads(done.stdout)["models"]
    assert (net["counts"] and net["counts"]["total"]) == total, net
    assert total or "work that nparam-lint does not run" in net["reason"]


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
