"""A budget of a block inside a model: judged at each of its instances there."""

from __future__ import annotations

import json

import pytest
from sample_files import write_files
from sample_repository import Sample

BLOCKS = """\
from torch import nn


class MLP(nn.Module):
    \"\"\"Two layers.

    nparam(in nets/gpt.py::GPT): 288
    nparam(in GPT)[up, trainable]: 3
    nparam(in GPT): d*mult*2*d + d + mult*d
    nparam(in GPT): 2*d**2*mult
    nparam(in GPT): width
    nparam(in GPT)[middle]: 5
    nparam(in nets/gpt.py::GPT(n=3)): 0.2k
    \"\"\"

    def __init__(self, d, mult=2):
        super().__init__()
        self.up = nn.Linear(d, mult * d)
        self.down = nn.Linear(mult * d, d)


class Block(nn.Module):
    \"\"\"A block.

    nparam(in nets/gpt.py::GPT): 9_000
    nparam(in nets/gpt.py::Head): 7
    nparam(in nets/gpt.py::Need): 7
    nparam(in nets/gpt.py::Gone): 7
    nparam(in Twice): 7
    nparam(in Nowhere): 7
    \"\"\"

    def __init__(self, d):
        super().__init__()
        self.mlp = MLP(d)
        self.norm = nn.LayerNorm(d)


def make():
    "nparam(in nets/gpt.py::GPT): 3"
    return Block(2)
"""
GPT = """\
from torch import nn
from nets.blocks import MLP, Block


class Twice(nn.Module):
    pass


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(3, 3)


class Need(nn.Module):
    def __init__(self, a, b):
        super().__init__()


class GPT(nn.Module):
    def __init__(self, n=2, d=8):
        super().__init__()
        self.h = nn.ModuleList([Block(d) for _ in range(n)])
        self.last = MLP(4)
"""
CONFIG = """\
[budgets]
"nets/blocks.py::Block(in nets/gpt.py::GPT)" = 304  # each
"nets/blocks.py::Block(in GPT)[bytes]" = "<= 2KB"
"nets/blocks.py::Block(in GPT)[norm]" = 17
"""
FILES = {
    "nets/blocks.py": BLOCKS,
    "nets/gpt.py": GPT,
    "nets/other.py": "class Twice:\n    pass\n",
    "nparam-lint.toml": CONFIG,
}
FINDINGS = """\
nets/blocks.py:7:34: error: NPL001 GPT[last] (MLP) has 76 parameters, declared 288: -212 (-73.61 %)
nets/blocks.py:7:34: error: NPL001 each of GPT[h.0.mlp … h.1.mlp] (2×, MLP) has 280 parameters, \
declared 288: -8 (-2.78 %)
nets/blocks.py:8:36: error: NPL001 GPT[last.up] has 40 trainable parameters, declared 3: +37 (13×)
nets/blocks.py:8:36: error: NPL001 each of GPT[h.0.mlp.up … h.1.mlp.up] (2×) has 144 trainable \
parameters, declared 3: +141 (48×)
nets/blocks.py:10:21: error: NPL001 GPT[last] (MLP) has 76 parameters, declared 2*d**2*mult = 64: \
+12 (+18.75 %)
nets/blocks.py:10:21: error: NPL001 each of GPT[h.0.mlp … h.1.mlp] (2×, MLP) has 280 parameters, \
declared 2*d**2*mult = 256: +24 (+9.38 %)
nets/blocks.py:11:21: error: NPL002 MLP(d=8) has no argument, config field or integer attribute \
'width'; a formula may use: d, mult, training
nets/blocks.py:12:29: error: NPL007 no module of MLP(d=8) matches 'middle'; its modules: up, down
nets/blocks.py:13:39: error: NPL001 GPT(n=3)[last] (MLP) has 76 parameters, declared 0.2k \
(150 … 299): -124 (-62.00 %)
nets/blocks.py:25:34: error: NPL001 each of GPT[h.0 … h.1] (2×, Block) has 296 parameters, \
declared 9,000: -8,704 (-96.71 %)
nets/blocks.py:26:35: error: NPL008 Head() contains no Block; it contains no class of the project
nets/blocks.py:27:35: error: NPL004 Need needs a, b
nets/blocks.py:28:35: error: NPL008 nets/gpt.py has no 'Gone'
nets/blocks.py:29:23: error: NPL002 Twice is defined in nets/gpt.py, nets/other.py
nets/blocks.py:30:25: error: NPL008 Nowhere is defined in no file
nets/blocks.py:40:35: error: NPL002 found `(in nets/gpt.py::GPT)` in the docstring of a function, \
expected it in that of a class: what a function made cannot be told inside a model
nparam-lint.toml:2:1: error: NPL001 each of GPT[h.0 … h.1] (2×, Block) has 296 parameters, \
declared 304: -8 (-2.63 %)
nparam-lint.toml:4:1: error: NPL001 each of GPT[h.0.norm … h.1.norm] (2×) has 16 parameters, \
declared 17: -1 (-5.88 %)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("inside"), FILES)


@pytest.fixture(scope="module")
def told(nparam_lint):
    def run(root, *arguments):
        done = nparam_lint(*arguments, "--format", "concise", "--device", "meta", cwd=root)
        lines = done.stdout.splitlines(keepends=True)
        return "".join(line for line in lines if "NPL012" not in line)

    return run


def test_each_instance_is_judged(project, told):
    assert told(project) == FINDINGS
    assert told(project) == FINDINGS  # from the cache
    assert told(project, "--declared") == FINDINGS


def test_a_path_asks_for_blocks_in_the_models_there(project, told):
    # What a source says of itself belongs to its own file.
    measured = [line for line in FINDINGS.splitlines() if "NPL002 found" not in line]
    found = told(project, "nets/gpt.py").splitlines()
    assert [line for line in found if "NPL002 found" not in line] == measured
    assert told(project, "nets/other.py") == ""
    assert "each of GPT[h.0 … h.1] (2×, Block)" in told(project, "nets/blocks.py")


def test_the_next_step_is_named(project, nparam_lint):
    text = nparam_lint("--device", "meta", "-v", cwd=project, COLUMNS="100").stdout
    for step in (
        "made as MLP(d=8)",
        "nparam-lint update 'nets/blocks.py::Block(in nets/gpt.py::GPT)'",
        "next: name a model that contains Block, or delete the budget",
        "next: name its file: (in nets/gpt.py::Twice)",
        '"nets/gpt.py::Need" = "a=…, b=…"',
    ):
        assert step in text


def test_a_model_is_built_once(project, nparam_lint):
    data = json.loads(nparam_lint("--format", "json", cwd=project).stdout)
    models = {model["target"]: model for model in data["models"] if model["way"] is None}
    block, whole = "nets/blocks.py::Block(in nets/gpt.py::GPT)", "nets/gpt.py::GPT"
    assert models[block]["counts"]["total"] == 296
    assert models[block]["call"] == "Block(d=8) in GPT(), at h.0"
    assert models[whole]["counts"]["total"] == 668
    assert [models[name]["top_level"] for name in (block, whole)] == [False, True]
    (inside,) = [m for m in data["models"] if m["way"] and m["target"] == "nets/blocks.py::Block"]
    assert (inside["call"], inside["inside"]) == ("Block(d=8)", whole)
    assert (inside["paths"], inside["counts"]["total"]) == (["h.0", "h.1"], 296)
    way = {"kind": "inside", "path": "nets/gpt.py", "line": 23, "column": 1, "name": whole}
    assert inside["way"] == way
    assert inside["share"] == pytest.approx(296 / 668)


@pytest.mark.thorough
def test_update_and_the_index(environ, nparam_lint, told, tmp_path):
    sample = Sample.create(tmp_path / "copy", environ)
    sample.committed(FILES)
    root = sample.path
    block = "nets/blocks.py::Block(in nets/gpt.py::GPT)"
    done = nparam_lint("update", "nets/blocks.py::Block(in GPT)", "--device", "meta", cwd=root)
    assert done.stdout.splitlines()[:3] == [
        "nets/blocks.py:25  Block(in nets/gpt.py::GPT)  9_000 → 296  (296, each of 2)",
        f"nparam-lint.toml:2  {block}  304 → 296  (296, each of 2)",
        f"nparam-lint.toml:4  {block}[norm]  17 → 16  (16, each of 2)",
    ]
    assert (root / "nets/blocks.py").read_text() == BLOCKS.replace("9_000", "296")
    config = CONFIG.replace("304  #", "296  #").replace("= 17", "= 16")
    assert (root / "nparam-lint.toml").read_text() == config
    assert told(root, "--staged") == FINDINGS
    assert "Block) has" not in told(root)
    listed = nparam_lint("init", "--diff", "--device", "meta", cwd=root).stdout
    assert "blocks.py" not in listed


def test_show_finds_the_models_that_contain_a_block(tmp_path, nparam_lint):
    without = BLOCKS.replace("nparam", "nothing").replace("Block(2)", "Block(input())")
    root = write_files(tmp_path, FILES | {"nets/blocks.py": without, "nparam-lint.toml": ""})
    text = nparam_lint("show", "nets/blocks.py::Block", cwd=root).stdout
    assert "GPT       Block(d=8)       2×     296   44.3 %  nets/gpt.py:23" in text
    assert "  up      Linear" in text
    named = nparam_lint("show", "blocks.py::MLP(in gpt.py::GPT(d=2))", cwd=root / "nets").stdout
    assert "MLP(d=2) in GPT(d=2), at h.0.mlp" in named
    unknown = nparam_lint("show", "nets/blocks.py::MLP(in Twice)", cwd=root)
    assert "Twice is defined in nets/gpt.py, nets/other.py" in unknown.stderr
    refused = nparam_lint("formula", "nets/blocks.py::MLP(in GPT)", cwd=root)
    assert "stands inside another model" in refused.stderr
