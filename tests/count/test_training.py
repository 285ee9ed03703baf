"""What training takes, against torch's own optimizers after a step on the CPU."""

from __future__ import annotations

import json

import pytest
from sample_files import write_files

NET = '''\
import torch
from torch import nn


class Net(nn.Module):
    """nparam[training_bytes]: <= 1GB

    nparam[gradient_bytes]: <= 1KB
    """

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 16)
        self.norm = nn.BatchNorm1d(16)
        self.low = nn.Linear(16, 16).to(torch.bfloat16)
        self.frozen = nn.Linear(16, 16).requires_grad_(False)
        self.head = nn.Linear(16, 50, bias=False)
        self.head.weight = self.embedding.weight
        self.register_buffer("mask", torch.ones(16), persistent=False)

    def forward(self, tokens):
        x = self.frozen(self.norm(self.embedding(tokens))) * self.mask
        return self.head(self.low(x.to(torch.bfloat16)).float())
'''
MADE = {
    "adamw": lambda torch, p: torch.optim.AdamW(p),
    "adam": lambda torch, p: torch.optim.Adam(p),
    "sgd": lambda torch, p: torch.optim.SGD(p, lr=0.1),
    "sgd-momentum": lambda torch, p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    files = {"net.py": NET, "nparam-lint.toml": 'device = "meta"\n'}
    return write_files(tmp_path_factory.mktemp("training"), files)


def size(tensors):
    return sum({id(t): t.numel() * t.element_size() for t in tensors}.values())


def state_of(optimizer):
    found = [v for state in optimizer.state.values() for v in state.values() if v is not None]
    return size(found)


@pytest.mark.parametrize("name", MADE)
def test_it_is_what_torch_takes(root, nparam_lint, name):
    import torch

    space = {}
    exec(compile(NET, "net.py", "exec"), space)
    model = space["Net"]()
    optimizer = MADE[name](torch, model.parameters())
    model(torch.arange(8)).sum().backward()
    optimizer.step()

    done = nparam_lint("show", "net.py::Net", "--training", name, "--format", "json", cwd=root)
    told = json.loads(done.stdout)["training"]
    sizes = {part: sum(found.values()) for part, found in told.items() if isinstance(found, dict)}
    states = sum(sizes.values()) - sizes["weights"] - sizes["buffers"] - sizes["gradients"]
    assert sizes["weights"] == size(model.parameters())
    assert sizes["buffers"] == size(model.buffers())
    assert sizes["gradients"] == size(p.grad for p in model.parameters() if p.grad is not None)
    assert states + told["steps"] == state_of(optimizer)
    assert told["total"] == sum(sizes.values())
    saved = size({t.data_ptr(): t for t in model.state_dict().values()}.values())
    assert told["checkpoint"] == saved
    assert told["resumable_checkpoint"] == saved + state_of(optimizer)
    # What budgets count is the total.
    counts = json.loads(done.stdout)["models"][0]["counts"]
    assert counts[told["metric"]] == told["total"]
    assert counts["gradient_bytes"] == sizes["gradients"]


def test_the_tables(root, nparam_lint, expected):
    """Bytes by dtype, and what training takes."""
    done = nparam_lint("show", "net.py::Net", "--format", "json", cwd=root)
    rows = [str(row) for row in json.loads(done.stdout)["models"][0]["dtypes"]]
    pages = {"bytes by dtype, as JSON": "\n".join([*rows, ""])}
    for options in ((), ("--training", "adamw")):
        done = nparam_lint("show", "net.py::Net", *options, cwd=root, COLUMNS="80")
        pages[" ".join(("show", *options))] = done.stdout.partition("\nmodule ")[0]
    expected(pages)


def test_a_budget_says_what_was_assumed(root, nparam_lint):
    done = nparam_lint("net.py", cwd=root)
    assert done.returncode == 1
    assert "Net has 3,872 gradient bytes, declared <= 1KB" in done.stdout
    (root / "net.py").write_text(NET.replace("<= 1GB", "<= 16KB").replace("<= 1KB", "<= 4KB"))
    done = nparam_lint("net.py", cwd=root)
    assert "Net has 16,776 training bytes, declared <= 16KB" in done.stdout
    assert "assumed: weights, buffers, gradients and states of Adam or AdamW" in done.stdout


def test_a_class_inside_a_model_is_no_whole_model(tmp_path, nparam_lint):
    net = "from torch import nn\n\n\nclass Part(nn.Linear):\n    pass\n\n\n"
    net += "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    root = write_files(tmp_path, {"net.py": f"{net}        self.part = Part(2, 3)\n"})
    done = nparam_lint("show", "net.py::Part(in net.py::Net)", "--training", "sgd", cwd=root)
    assert done.returncode == 2
    assert "next: nparam-lint show net.py::Net --training sgd" in done.stderr


def test_a_form_of_it(tmp_path, nparam_lint):
    net = "from torch import nn\n\n\nclass Net(nn.Linear):\n    def __init__(self, d=3):\n"
    root = write_files(tmp_path, {"net.py": f"{net}        super().__init__(d, d)\n"})
    done = nparam_lint("formula", "net.py::Net[training_bytes]", cwd=root)
    assert "16*d*(d + 1)" in done.stdout, done.stdout + done.stderr


@pytest.mark.cuda
def test_what_the_allocator_took_stands_beside_the_estimate(root, nparam_lint):
    import torch

    if not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    done = nparam_lint("show", "net.py::Net", "--device", "cuda", cwd=root)
    (row,) = (line.split() for line in done.stdout.split("\n") if line.startswith("cuda:0"))
    assert row[1] == "measured"
    head = next(line.split() for line in done.stdout.split("\n") if line.startswith("device"))
    assert head == ["device", "status", "parameters", "bytes", "allocated"]
