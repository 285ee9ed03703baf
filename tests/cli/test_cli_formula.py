"""`nparam-lint formula` as a user meets it: real models, real builds."""

from __future__ import annotations

import json
from functools import partial

import pytest
from sample_files import write_files

MODELS = """\
from dataclasses import dataclass
from typing import Literal

import torch.nn as nn


@dataclass
class GPTConfig:
    block_size: int = 64
    vocab_size: int = 100
    n_layer: int = 3
    n_head: int = 4
    n_embd: int = 32
    dropout: float = 0.1
    bias: bool = True


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        assert config.n_embd % config.n_head == 0
        self.ln = nn.LayerNorm(config.n_embd)
        self.qkv = nn.Linear(config.n_embd, 3 * config.n_embd, bias=config.bias)


class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.wte = nn.Embedding(config.vocab_size, config.n_embd)
        self.wpe = nn.Embedding(config.block_size, config.n_embd)
        self.h = nn.ModuleList(Block(config) for _ in range(config.n_layer))
        self.wte.weight.requires_grad = False


class Normed(nn.Module):
    def __init__(self, width=8, bias=True, norm: Literal["layer", "rms"] = "layer"):
        super().__init__()
        self.scale = {"layer": nn.LayerNorm, "rms": nn.RMSNorm}[norm](width)
        self.layer = nn.Linear(width, width, bias=bias)


class TwoTowers(nn.Module):
    def __init__(self, image, text):
        super().__init__()
        self.image = nn.Linear(image["width"], image["width"])
        self.text = nn.Linear(text["width"], 4)


class Many(nn.Module):
    def __init__(self, d=8, a=False, b=False, c=False, e=False, f=False):
        super().__init__()
        for name in "abcef":
            if locals()[name]:
                self.add_module(name, nn.Linear(d, 1))
        self.layer = nn.Linear(d, d)


class Square(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.layer = nn.Linear(d, d)


class Got(Square):
    def __init__(self, **kwargs):
        kwargs = {"d": 4, **kwargs}
        super().__init__(**kwargs)


class Optional(nn.Module):
    def __init__(self, width=32, d_ff=None):
        super().__init__()
        self.up = nn.Linear(width, d_ff or 2 * width)


class Uneven(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.rows = nn.ModuleList([nn.Linear(d, d), nn.Linear(d, 1)])


class Broken(nn.Module):
    def __init__(self, n=4):
        super().__init__()
        raise ValueError("no such thing")
"""


@pytest.fixture
def formula(answered):
    return partial(answered, "formula")


def document(done):
    return json.loads(done.stdout)


def test_fields_of_the_default_config_are_varied_in_every_format(formula):
    gpt = document(formula("nets.py::GPT", "--format", "json"))
    base, *others = gpt["cases"]
    assert base["formula"] == "n_embd*(n_layer*(3*n_embd + 5) + block_size + vocab_size)"
    assert base["expanded"] == (
        "3*n_layer*n_embd**2 + block_size*n_embd + vocab_size*n_embd + 5*n_layer*n_embd"
    )
    assert base["value"] == 32 * (3 * (96 + 5) + 164)
    assert base["rules"] == ["n_embd % n_head == 0"]
    assert base["no_effect"] == ["n_head", "dropout"]
    assert {json.dumps(case["case"]): case["formula"] for case in others} == {
        '{"bias": false}': "n_embd*(n_layer*(3*n_embd + 2) + block_size + vocab_size)"
    }
    assert gpt["call"] == "GPT(GPTConfig())"
    (qkv,) = (row for row in base["parameters"] if row["name"] == "h.*.qkv.weight")
    assert (qkv["shape"], qkv["number"]) == (["3*n_embd", "n_embd"], "n_layer")
    assert (qkv["source"], qkv["value"]) == ("nets.py:23", 3 * 96 * 32)
    names: dict[str, object] = {}
    exec(formula("nets.py::GPT", "--format", "python").stdout, names)
    count = names["parameter_count"]
    assert count() == 14_944
    assert count(n_layer=5, n_embd=8) == 8 * (5 * (24 + 5) + 164)
    assert count(bias=False) == 32 * (3 * 98 + 164)


# What is asked of the models above: only some arguments varied, choices that are all combined, a
# name for all that is in it, an argument that is None in the call, symbols that stand for names,
# what has no closed form, and what has no number to vary.
COMMANDS = """
formula nets.py::GPT[trainable] --vary n_embd
formula nets.py::Normed --vary width,bias,norm
formula 'torch.nn::LSTM(64, 128)' --vary input_size -q
formula "nets.py::TwoTowers({'width': 8}, {'width': 16})" -q --vary text
formula "nets.py::TwoTowers({'width': 8}, {'width': 16})" -q --vary "image['width']"
formula nets.py::Optional --vary 'width,d_ff=None|8'
formula nets.py::Optional --vary 'width,d_ff=8|12'
formula nets.py::Square --symbols d=D -q
formula nets.py::Broken
formula nets.py::Got
formula nets.py::Uneven[rows.*]
formula made.py::of --config made.toml
"""
SETUP = "from types import SimpleNamespace as S; c = S(size=6)"
MADE = {
    "made.toml": f'[arguments]\n"made.py::of" = {{ setup = "{SETUP}", call = "of(c)" }}\n',
    "made.py": "from nets import Square\n\n\ndef of(config):\n    return Square(config.size)\n",
}


def test_what_is_said(place, transcript, expected):
    write_files(place, MADE)
    expected(transcript(COMMANDS))


@pytest.mark.thorough
def test_choices_that_are_left_out_are_named(formula):
    done = formula("nets.py::Many")
    assert "\n  matter too  f: --vary f shows how\n" in done.stdout
    assert done.stdout.count("\nwhere ") == 4


# --- --write ----------------------------------------------------------------------------------

WRITTEN = '''\
import torch.nn as nn


class Net(nn.Module):
    """A net."""

    def __init__(self, width=16, bias=True):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width, bias=bias)])
'''


@pytest.fixture
def written(tmp_path, nparam_lint):
    (tmp_path / "net.py").write_text(WRITTEN)
    (tmp_path / "nparam-lint.toml").write_text('device = "meta"\n')

    def run(*arguments, code=0):
        done = nparam_lint(*arguments, cwd=tmp_path)
        assert done.returncode == code, done.stdout + done.stderr
        return done, (tmp_path / "net.py").read_text()

    return run


def test_the_formula_becomes_a_budget_that_holds_and_is_written_once(written):
    done, text = written("formula", "net.py::Net", "--write")
    line = "nparam: (width**2) if not bias else (width*(width + 1))"
    assert line in done.stderr
    assert text == WRITTEN.replace('"""A net."""', f'"""A net.\n\n    {line}\n    """')
    done, _ = written()
    assert "1 budget holds" in done.stdout
    done, again = written("formula", "net.py::Net", "--write")
    assert text == again
    assert "net.py::Net already has it" in done.stderr


DEFINED_TWICE = """
import torch.nn as nn

try:
    import not_there

    class Net(nn.Module):
        \"\"\"Not used.

        nparam: width*depth
        \"\"\"

        def __init__(self, width, depth):
            super().__init__()
except ImportError:
    class Net(nn.Module):
        \"\"\"Used.\"\"\"

        def __init__(self, width=3):
            super().__init__()
            self.a = nn.Linear(width, width, bias=False)
"""


def test_the_definition_in_use_gets_the_formula(written, tmp_path):
    (tmp_path / "net.py").write_text(DEFINED_TWICE)
    done, text = written("formula", "net.py::Net", "--write")
    used = '"""Used.\n\n        nparam: width**2\n        """'
    assert text == DEFINED_TWICE.replace('"""Used."""', used)
    assert f"net.py:{text[: text.index(used)].count(chr(10)) + 3}: nparam: " in done.stderr
    # One that is not used gets none.

    source = WRITTEN + "\n\nclass Other(Net):\n    pass\n\n\nNet = Other\n"
    (tmp_path / "net.py").write_text(source)
    done, text = written("formula", "net.py::Net", "--write", code=2)
    assert "net.py does not define Net itself; it is what net.py:12 defines" in done.stderr
    assert text == source
