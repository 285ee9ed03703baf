"""Models that are built on a GPU, and what projects do with one while they are imported. Most need
a GPU, and are skipped where there is none."""

from __future__ import annotations

import json
import os
from contextlib import nullcontext

import pytest
from sample_files import write_files

from nparam_lint.worker.building.devices import take_turn
from nparam_lint.worker.state import STATE

NET = """\
import torch
from torch import nn

{before}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)
        {inside}
"""
WHATS = {  # name -> (at the top of the file, in the constructor, parameters)
    "plain": ("", "", 12),
    "asks": ("DEVICE = 'cuda' if torch.cuda.is_available() else 'cpu'", "self.a.to(DEVICE)", 12),
    "name": ("NAME = torch.cuda.get_device_name(0)", "self.name = NAME", 12),
    "table": ("TABLE = torch.arange(9.0).cuda()", "self.register_buffer('table', TABLE)", 12),
    "moves": ("", "self.a.cuda(); self.b = nn.Linear(3, 1, device='cuda')", 16),
    "stream": ("", "torch.cuda.set_device(0); self.s = torch.cuda.Stream()", 12),
    "draws": ("", "self.d = torch.randn(3, generator=torch.Generator('cuda'), device='cuda')", 12),
    "runs": ("", "self.b = nn.Linear(len(self.a.cuda()(torch.zeros(5, 3).cuda())), 1)", 18),
}


class Waits(Exception):
    pass


def tell_that_it_waits():
    raise Waits


@pytest.fixture
def on_gpu(nparam_lint, tmp_path):
    """Builds the model of each of these files on the GPU: (total, bytes taken) by file."""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")

    def build(**sources):
        write_files(tmp_path, {f"{name}.py": source for name, source in sources.items()})
        budgets = [f'"{name}.py::Net" = ">= 0"' for name in sources]
        (tmp_path / "nparam-lint.toml").write_text("\n".join(["[budgets]", *budgets, ""]))
        done = nparam_lint("check", "--device", "cuda", "--format", "json", cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        models = json.loads(done.stdout)["models"]
        found = {m["target"].partition(".py")[0]: m["devices"]["cuda:0"] for m in models}
        return {name: (device["total"], device["bytes"]) for name, device in found.items()}

    return build


@pytest.mark.cuda
@pytest.mark.parametrize("names", [*([name] for name in WHATS), [*WHATS]], ids=" ".join)
def test_what_a_project_does_with_a_gpu(names, on_gpu):
    sources = {n: NET.format(before=WHATS[n][0], inside=WHATS[n][1] or "pass") for n in names}
    built = on_gpu(**sources)
    assert {name: total for name, (total, _) in built.items()} == {n: WHATS[n][2] for n in names}


@pytest.mark.cuda
def test_a_parameter_that_another_has_replaced_takes_nothing(on_gpu):
    tied = "self.b = nn.Embedding(512, 512); self.c = nn.Linear(512, 512, bias=False); "
    tied += "self.c.weight = self.b.weight"
    built = on_gpu(tied=NET.format(before="", inside=tied))
    (total, taken) = built["tied"]
    assert total == 12 + 512 * 512
    assert 4 * total <= taken < 5 * total


@pytest.mark.cuda
def test_large_ones_are_built_one_after_the_other(on_gpu):
    import torch

    free = torch.cuda.mem_get_info(0)[0]
    width = int((free / 4 / 2) ** 0.5)  # half of what is free
    large = NET.format(before="", inside=f"self.b = nn.Linear({width}, {width}, bias=False)")
    built = on_gpu(one=large, two=large, three=large)
    assert {total for total, _ in built.values()} == {12 + width**2}


@pytest.mark.skipif(os.name != "posix", reason="elsewhere one is built after the other")
@pytest.mark.parametrize(
    ("first", "second", "waits"),
    [(True, True, True), (True, False, True), (False, True, True), (False, False, False)],
)
def test_whose_turn_it_is(first, second, waits, tmp_path, monkeypatch):
    """Whether one waits until another has ended, where either wants to be alone."""
    monkeypatch.setattr(STATE, "temporary", str(tmp_path))
    take_turn("gpu", first, tell_that_it_waits)
    with pytest.raises(Waits) if waits else nullcontext():
        take_turn("gpu", second, tell_that_it_waits)
