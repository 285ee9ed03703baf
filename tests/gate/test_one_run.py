"""One run of a script tells of all its models, each as it is when the script begins to train."""

import json
import sys

import pytest

NETS = """
from torch import nn


class Encoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a = nn.Linear(width, 1, bias=False)


class Decoder(Encoder):
    def forward(self, x):
        return self.a(x)
"""
SCRIPT = """
import os

import torch
from nets import Decoder, Encoder

width = os.getpid()  # another one in each run
encoder = [Encoder][0](width)
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
encoder.a = torch.nn.Linear(2, 3)
decoder = [Decoder][0](width)
decoder(torch.zeros(1, width))
decoder.a = torch.nn.Linear(2, 3)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="without fork each model has its own run")
def test_one_run_tells_of_all_models_of_a_script(tmp_path, nparam_lint):
    (tmp_path / "nets.py").write_text(NETS, "utf-8")
    (tmp_path / "train.py").write_text(SCRIPT, "utf-8")
    (tmp_path / "README.md").write_text("    python train.py\n", "utf-8")
    done = nparam_lint("--format", "json", cwd=tmp_path, NPARAM_LINT_DEVICE="meta")
    models = json.loads(done.stdout)["models"]
    totals = {m["target"]: m["counts"]["total"] for m in models if m["status"] == "measured"}
    assert totals.keys() == {"nets.py::Encoder", "nets.py::Decoder"}
    assert len({*totals.values()}) == 1
