"""`nparam-lint formula` as a user meets it: real models, real builds."""

from __future__ import annotations

import json
from functools import partial

import pytest

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
    text = formula("nets.py::GPT").stdout
    assert text.startswith("nets.py::GPT\n  GPT(GPTConfig())\n\n  n_embd*(n_layer*(3*n_embd + 5)")
    assert "where bias=False:" in text


def test_only_what_is_asked_for_is_varied_and_counted(formula):
    more = ("--vary", "n_embd", "--format", "json")
    (case,) = document(formula("nets.py::GPT[trainable]", *more))["cases"]
    assert (case["formula"], case["rules"]) == ("n_embd*(9*n_embd + 79)", ["n_embd % 4 == 0"])


@pytest.mark.thorough
def test_choices_that_are_asked_for_are_all_combined(formula):
    told = document(formula("nets.py::Normed", "--vary", "width,bias,norm", "--format", "json"))
    assert {tuple(case["case"].values()): case["formula"] for case in told["cases"]} == {
        (): "width*(width + 3)",
        (True, "rms"): "width*(width + 2)",
        (False, "layer"): "width*(width + 2)",
        (False, "rms"): "width*(width + 1)",
    }


def test_an_installed_class(formula):
    told = document(formula("torch.nn::LSTM(64, 128)", "--vary", "input_size", "--format", "json"))
    assert told["cases"][0]["formula"] == "512*input_size + 66_560"


@pytest.mark.thorough
def test_a_name_asks_for_all_that_is_in_it(formula):
    target = "nets.py::TwoTowers({'width': 8}, {'width': 16})"
    done = formula(target, "-q", "--vary", "text")
    assert done.stdout == "  4*text['width'] + 76\n"
    done = formula(target, "-q", "--vary", "image['width']")
    assert done.stdout == "  image['width']*(image['width'] + 1) + 68\n"


def test_an_argument_that_is_none_in_the_call_may_be_given_numbers(formula):
    def forms(names):
        told = document(formula("nets.py::Optional", "--vary", names, "--format", "json"))
        return told["call"], {case["case"].get("d_ff"): case["formula"] for case in told["cases"]}

    assert forms("width,d_ff=None|8") == (
        "Optional()",
        {None: "2*width*(width + 1)", 8: "8*(width + 1)"},
    )
    assert forms("width,d_ff=8|12") == ("Optional(d_ff=8)", {None: "d_ff*(width + 1)"})


@pytest.mark.thorough
def test_choices_that_are_left_out_are_named(formula):
    done = formula("nets.py::Many")
    assert "\n  matter too  f: --vary f shows how\n" in done.stdout
    assert done.stdout.count("\nwhere ") == 4


def test_symbols_stand_for_names(formula):
    form = formula("nets.py::Square", "--symbols", "d=D", "-q")
    assert form.stdout == "  D*(D + 1)\n"
    for symbols, said in {
        "d": "found 'd', expected name=symbol",
        "d=c,e=c": "Square() has no argument 'e'; there are: d",
        "c=d": "Square() has no argument 'c'; there are: d",
    }.items():
        assert said in formula("nets.py::Square", "--symbols", symbols, code=2).stderr
    more = ("--symbols", "d=lambda", "--format", "python")
    done = formula("nets.py::Square", *more, code=2)
    assert "option --symbols: lambda is a word of Python, and names nothing there" in done.stderr
    optional = ("nets.py::Optional", "--vary", "width,d_ff=8", "--symbols")
    for symbols, twice in {"width=c,d_ff=c": "c", "width=d_ff": "d_ff"}.items():
        assert (
            f"{twice} would stand for two arguments" in formula(*optional, symbols, code=2).stderr
        )


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("Broken", "not built: Broken() raised ValueError: no such thing"),
        ("Got", "with its arguments written out, the call builds another model: Got(d=8)"),
        ("Uneven[rows.*]", "its modules have different counts"),
    ],
)
def test_no_closed_form_is_an_answer_of_its_own(formula, target, reason):
    assert f"– {reason}\n" in formula(f"nets.py::{target}", code=1).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nets.py::GPT", "--vary", "n_layers"], "has no argument 'n_layers'; did you mean"),
        (["nets.py::GPT", "--vary", "n-layer"], "found 'n-layer', expected a name"),
        (
            ["nets.py::GPT", "--format", "sarif"],
            "formula has no format 'sarif'; it has text,",
        ),
        (
            ["nets.py::Normed[trainabel]"],
            "no module of Normed() matches 'trainabel'; did you mean trainable?",
        ),
        (["nets.py::GPT[hh]"], "matches 'hh'; did you mean h?"),
        (["nets.py::Optional", "--vary", "d_ff"], "d_ff is None in Optional(); say which values"),
        (["missing.py::GPT"], "there is no file missing.py"),
        (["nets.py"], "is not a target"),
    ],
)
def test_usage(formula, arguments, message):
    assert message in formula(*arguments, code=2).stderr


def test_what_has_no_number_to_vary_says_what_to_do(place, nparam_lint):
    setup = "from types import SimpleNamespace as S; c = S(size=6)"
    config = f'[arguments]\n"made.py::of" = {{ setup = "{setup}", call = "of(c)" }}\n'
    source = "from nets import Square\n\n\ndef of(config):\n    return Square(config.size)\n"
    (place / "made.py").write_text(source)
    (place / "made.toml").write_text(config)
    done = nparam_lint("formula", "made.py::of", "--config", "made.toml", cwd=place, COLUMNS="80")
    shown = """\
made.py::of
  of(c)

  42

  value  42
  fixed  there is no number to vary in of(c): only arguments written in the call
         are varied, not objects made before it; make them in the call:
         of(Config(NAME=NUMBER))

module      value    share
────────  ───────  ───────
layer          42  100.0 %
"""
    assert (done.returncode, done.stdout) == (0, shown)


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


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["net.py::Net", "--vary", "width"], "option --write writes the whole formula"),
        (["net.py::Net[layers.*]"], "option --write writes the whole formula"),
        (["torch.nn::PReLU(2)"], "option --write: torch.nn is an installed package"),
        (["net.py::nn.PReLU(2)"], "option --write: net.py does not define nn.PReLU itself"),
    ],
)
def test_where_it_cannot_be_written(written, arguments, message):
    done, text = written("formula", *arguments, "--write", code=2)
    assert message in done.stderr
    assert text == WRITTEN


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


@pytest.mark.thorough
def test_a_definition_that_is_not_used_gets_none(written, tmp_path):
    source = WRITTEN + "\n\nclass Other(Net):\n    pass\n\n\nNet = Other\n"
    (tmp_path / "net.py").write_text(source)
    done, text = written("formula", "net.py::Net", "--write", code=2)
    assert "net.py does not define Net itself; it is what net.py:12 defines" in done.stderr
    assert text == source
