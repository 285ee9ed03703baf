"""`nparam-lint formula` as a user meets it: real models, real builds."""

from __future__ import annotations

import json
from functools import partial

import pytest

PAGE = "formula"


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


@pytest.mark.thorough
def test_choices_that_are_left_out_are_named(formula):
    done = formula("nets.py::Many")
    assert "\n  matter too  f: --vary f shows how\n" in done.stdout
    assert done.stdout.count("\nwhere ") == 4
