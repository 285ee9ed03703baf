"""`nparam-lint formula` as a user meets it: real models, real builds, every format."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from nparam_lint.formula import parse_formula

MODELS = '''\
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
    norm: Literal["layer", "rms"] = "layer"


class Norm(nn.Module):
    def __init__(self, config):
        super().__init__()
        kind = {"layer": nn.LayerNorm, "rms": nn.RMSNorm}[config.norm]
        self.scale = kind(config.n_embd)


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        assert config.n_embd % config.n_head == 0
        self.ln = Norm(config)
        self.qkv = nn.Linear(config.n_embd, 3 * config.n_embd, bias=config.bias)


class GPT(nn.Module):
    """A small one."""

    def __init__(self, config):
        super().__init__()
        self.wte = nn.Embedding(config.vocab_size, config.n_embd)
        self.wpe = nn.Embedding(config.block_size, config.n_embd)
        self.h = nn.ModuleList(Block(config) for _ in range(config.n_layer))
        self.wte.weight.requires_grad = False


class Widths(nn.Module):
    def __init__(self, inputs, hidden=16, *, outputs=4):
        super().__init__()
        self.a = nn.Linear(inputs, hidden)
        self.b = nn.Linear(hidden, outputs)


class Power(nn.Module):
    def __init__(self, n=4):
        super().__init__()
        self.layer = nn.Linear(3**n, 3)


class Broken(nn.Module):
    def __init__(self, n=4):
        super().__init__()
        raise ValueError("no such thing")
'''


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    top = tmp_path_factory.mktemp("formula")
    (top / "nets.py").write_text(MODELS)
    (top / "nparam-lint.toml").write_text('device = "meta"\n')
    return top


@pytest.fixture
def formula(place, nparam_lint):
    def run(*arguments, code=0):
        done = nparam_lint("formula", *arguments, cwd=place)
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done

    return run


def document(done):
    return json.loads(done.stdout)


def test_fields_of_the_default_config_are_varied(formula):
    told = document(formula("nets.py::GPT", "--format", "json"))
    base, *others = told["cases"]
    assert base["formula"] == "n_embd*(n_layer*(3*n_embd + 5) + block_size + vocab_size)"
    assert base["expanded"] == (
        "3*n_layer*n_embd**2 + block_size*n_embd + vocab_size*n_embd + 5*n_layer*n_embd"
    )
    assert base["value"] == 32 * (3 * (96 + 5) + 164)
    assert base["rules"] == ["n_embd % n_head == 0"]
    assert base["no_effect"] == ["n_head", "dropout"]
    assert {json.dumps(case["case"]): case["formula"] for case in others} == {
        '{"bias": false}': "n_embd*(n_layer*(3*n_embd + 2) + block_size + vocab_size)",
        '{"norm": "rms"}': "n_embd*(n_layer*(3*n_embd + 4) + block_size + vocab_size)",
    }
    assert told["call"] == "GPT(GPTConfig())"


def test_every_shape_and_its_source(formula):
    told = document(formula("nets.py::GPT", "--format", "json"))
    shapes = {row["name"]: row for row in told["cases"][0]["parameters"]}
    assert shapes["h.*.qkv.weight"]["shape"] == ["3*n_embd", "n_embd"]
    assert shapes["h.*.qkv.weight"]["number"] == "n_layer"
    assert shapes["h.*.qkv.weight"]["source"] == "nets.py:31"
    assert shapes["h.*.qkv.weight"]["value"] == 3 * 96 * 32


def test_positional_and_keyword_arguments_take_other_values(formula):
    target = "nets.py::Widths(8, outputs=2)"
    told = document(formula(target, "--format", "json"))
    assert told["cases"][0]["formula"] == "hidden*(inputs + outputs + 1) + outputs"
    assert told["cases"][0]["value"] == 16 * 11 + 2


def test_only_what_is_asked_for_is_varied(formula):
    told = document(formula("nets.py::GPT", "--vary", "n_layer,n_embd", "--format", "json"))
    (case,) = told["cases"]
    assert case["formula"] == "n_embd*(n_layer*(3*n_embd + 5) + 164)"


def test_choices_that_are_asked_for_are_all_combined(formula):
    told = document(formula("nets.py::GPT", "--vary", "n_layer,bias,norm", "--format", "json"))
    found = {tuple(case["case"].values()): case["formula"] for case in told["cases"]}
    assert found == {
        (): "3232*n_layer + 5248",
        (True, "rms"): "3200*n_layer + 5248",
        (False, "layer"): "3136*n_layer + 5248",
        (False, "rms"): "3104*n_layer + 5248",
    }


def test_a_selector_asks_for_a_part(formula):
    told = document(formula("nets.py::GPT[h.*]", "--format", "json"))
    assert told["cases"][0]["formula"] == "n_layer*n_embd*(3*n_embd + 5)"
    told = document(formula("nets.py::GPT[trainable]", "--format", "json"))
    assert told["cases"][0]["formula"] == "n_embd*(n_layer*(3*n_embd + 5) + block_size)"


def test_an_installed_class(formula):
    told = document(formula("torch.nn::LSTM(64, 128, num_layers=2)", "--format", "json"))
    assert told["cases"][0]["formula"] == (
        "4*hidden_size*(hidden_size*(2*num_layers - 1) + input_size + 2*num_layers)"
    )


def test_the_python_function_is_right(formula):
    text = formula("nets.py::GPT", "--format", "python").stdout
    names: dict[str, object] = {}
    exec(text, names)
    count = names["parameter_count"]
    assert count() == 14_944
    assert count(n_layer=5, n_embd=8) == 8 * (5 * (24 + 5) + 164)
    assert count(bias=False) == 32 * (3 * 98 + 164)
    assert "Needs n_embd % n_head == 0." in text


def test_the_printed_formula_is_a_budget(formula):
    text = formula("nets.py::GPT", "-q").stdout
    line = next(line.strip() for line in text.splitlines() if "n_embd" in line)
    values = {"n_embd": 32, "n_layer": 3, "block_size": 64, "vocab_size": 100}
    assert parse_formula(line).evaluate(values) == Fraction(14_944)


def test_the_text_says_what_was_found(formula):
    text = formula("nets.py::GPT").stdout
    assert "  value      14,944 with block_size=64, vocab_size=100, n_layer=3, n_embd=32\n" in text
    assert "  needs      n_embd % n_head == 0\n" in text
    assert "  no effect  n_head, dropout\n" in text
    assert "where bias=False:" in text
    rows = [line.split() for line in text.splitlines()]
    assert ["wte", "vocab_size*n_embd", "3,200", "21.4", "%"] in rows
    assert ["h.*", "n_layer*n_embd*(3*n_embd", "+", "5)", "9,696", "64.9", "%"] in rows


def test_no_closed_form_is_an_answer_of_its_own(formula):
    done = formula("nets.py::Power", code=1)
    assert done.stdout.splitlines()[3] == "– no closed form found for layer.weight"
    assert "  first counterexample, dimension 1: with n=4 it is 81, where " in done.stdout
    (case,) = document(formula("nets.py::Power", "--format", "json", code=1))["cases"]
    assert case["formula"] is None
    assert (case["parameters"], case["quantity"]) == ("layer.weight", "dimension 1")
    assert (case["counterexample"], case["actual"]) == ({"n": 4}, 81)


def test_a_model_that_cannot_be_built_says_why(formula):
    done = formula("nets.py::Broken", code=1)
    assert "not built: Broken() raised ValueError: no such thing" in done.stdout
    assert document(formula("nets.py::Broken", "--format", "json", code=1))["cases"] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nets.py::GPT", "--vary", "n_layers"], "has no argument 'n_layers'; did you mean"),
        (["nets.py::GPT", "--vary", "n-layer"], "found 'n-layer', expected a name"),
        (["nets.py::GPT[bytes]"], "counts total or trainable parameters, not bytes"),
        (["nets.py::GPT", "--format", "html"], "formula has no format 'html'; it has text, python"),
        (["missing.py::GPT"], "there is no file missing.py"),
        (["nets.py"], "is no target"),
    ],
)
def test_usage(formula, arguments, message):
    assert message in formula(*arguments, code=2).stderr


# --- --write ----------------------------------------------------------------------------------

WRITTEN = '''\
import torch.nn as nn


class Net(nn.Module):
    """A net."""

    def __init__(self, width=16, depth=2, bias=True):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width, bias=bias) for _ in range(depth))
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


def test_the_formula_becomes_a_budget_that_holds(written):
    done, text = written("formula", "net.py::Net", "--write")
    line = "nparam: (width**2*depth) if not bias else (width*depth*(width + 1))"
    assert line in done.stderr
    assert text == WRITTEN.replace('"""A net."""', f'"""A net.\n\n    {line}\n    """')
    done, _ = written()
    assert "1 budget holds" in done.stdout


def test_what_is_written_is_not_written_again(written):
    _, once = written("formula", "net.py::Net", "--write")
    done, twice = written("formula", "net.py::Net", "--write")
    assert once == twice
    assert "net.py::Net has it already" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["net.py::Net", "--vary", "width"], "option --write takes the whole formula"),
        (["net.py::Net[layers.*]"], "option --write takes the whole formula"),
        (["torch.nn::Linear(2, 3)"], "option --write: torch.nn is an installed package"),
        (["net.py::nn.Linear(2, 3)"], "option --write: net.py does not define nn.Linear itself"),
    ],
)
def test_where_it_cannot_be_written(written, arguments, message):
    done, text = written("formula", *arguments, "--write", code=2)
    assert message in done.stderr
    assert text == WRITTEN
