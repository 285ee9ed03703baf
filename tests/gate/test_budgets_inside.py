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
device = "meta"
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
# Each instance is judged, with the next step; a part inside a model has no formula.
COMMANDS = """
check -v
check nets/other.py
show 'nets/blocks.py::MLP(in Twice)'
formula 'nets/blocks.py::MLP(in GPT)'
"""


@pytest.fixture
def place(tmp_path):
    return write_files(tmp_path / "inside", FILES)


def test_each_instance_is_judged(place, nparam_lint, transcript, expected):
    """A path asks for the blocks in the models there, too."""
    named = transcript("show 'blocks.py::MLP(in gpt.py::GPT(d=2))'", cwd="nets")
    expected(transcript(COMMANDS, columns=100) | named)
    lines = [
        nparam_lint(*words, "--format", "concise", cwd=place).stdout
        for words in ([], ["--declared"], ["nets/gpt.py"], ["nets/blocks.py"])
    ]
    assert lines == [lines[0]] * 4
    assert lines[0].count("\n") == 18


def test_a_model_is_built_once(place, nparam_lint):
    data = json.loads(nparam_lint("--format", "json", cwd=place).stdout)
    models = {model["target"]: model for model in data["models"] if model["way"] is None}
    block, whole = "nets/blocks.py::Block(in nets/gpt.py::GPT)", "nets/gpt.py::GPT"
    assert [models[name]["top_level"] for name in (block, whole)] == [False, True]
    (inside,) = [m for m in data["models"] if m["way"] and m["target"] == "nets/blocks.py::Block"]
    assert (inside["paths"], inside["counts"]["total"]) == (["h.0", "h.1"], 296)
    way = {"kind": "inside", "path": "nets/gpt.py", "line": 23, "column": 1, "name": whole}
    assert inside["way"] == way
    assert inside["share"] == pytest.approx(296 / 668)


@pytest.mark.thorough
def test_update_and_the_index(environ, nparam_lint, tmp_path):
    sample = Sample.create(tmp_path / "copy", environ)
    sample.committed(FILES)
    root = sample.path
    block = "nets/blocks.py::Block(in nets/gpt.py::GPT)"
    done = nparam_lint("update", "nets/blocks.py::Block(in GPT)", "--device", "meta", cwd=root)
    assert done.stdout.splitlines()[:3] == [
        "nets/blocks.py:25  Block(in nets/gpt.py::GPT)  9_000 → 296  (296, each of 2)",
        f"nparam-lint.toml:3  {block}  304 → 296  (296, each of 2)",
        f"nparam-lint.toml:5  {block}[norm]  17 → 16  (16, each of 2)",
    ]
    assert (root / "nets/blocks.py").read_text() == BLOCKS.replace("9_000", "296")
    config = CONFIG.replace("304  #", "296  #").replace("= 17", "= 16")
    assert (root / "nparam-lint.toml").read_text() == config
    for state, has in (["--staged"], True), ([], False):
        found = nparam_lint(*state, "--format", "concise", "--device", "meta", cwd=root).stdout
        assert ("Block) has" in found) is has
    listed = nparam_lint("init", "--diff", "--device", "meta", cwd=root).stdout
    assert "blocks.py" not in listed
