"""Formulas that others published, beside those that are derived from the models they speak of.

`published.json` holds what stands in notebooks, a paper, and tables of released models, with
arguments and counts that go with it (`formula`: what it says there; `measured`: what the model
has; `exclude`: patterns of the parameters that it leaves out).
What is built of another library than torch is skipped where that is not installed.
"""

from __future__ import annotations

import json
import random
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from torch import nn
from torch_models import derived, holds

from nparam_lint.analysis.closed_forms.form_records import ClosedForm
from nparam_lint.analysis.closed_forms.observations import exactly
from nparam_lint.analysis.closed_forms.polynomial import ZERO
from nparam_lint.claims.expression import parse_formula

if TYPE_CHECKING:
    from collections.abc import Callable

RECORDS = {
    record["id"]: record
    for record in json.loads(Path(__file__).with_name("published.json").read_text(encoding="utf-8"))
}
EXACT = [name for name, record in RECORDS.items() if record["exactness"] == "exact"]
APPROXIMATE = [name for name in RECORDS if name not in EXACT]


class NanoGPT(nn.Module):
    """The parameters of nanoGPT's `GPT`, under their names."""

    def __init__(self, n_layer, n_head, n_embd, block_size, vocab_size, bias):
        super().__init__()
        assert n_embd % n_head == 0

        def block():
            parts = {
                "ln_1": nn.LayerNorm(n_embd, bias=bias),
                "attn": linears(c_attn=(n_embd, 3 * n_embd), c_proj=(n_embd, n_embd)),
                "ln_2": nn.LayerNorm(n_embd, bias=bias),
                "mlp": linears(c_fc=(n_embd, 4 * n_embd), c_proj=(4 * n_embd, n_embd)),
            }
            return nn.ModuleDict(parts)

        def linears(**sizes):
            return nn.ModuleDict({n: nn.Linear(*size, bias=bias) for n, size in sizes.items()})

        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(vocab_size, n_embd),
                "wpe": nn.Embedding(block_size, n_embd),
                "h": nn.ModuleList(block() for _ in range(n_layer)),
                "ln_f": nn.LayerNorm(n_embd, bias=bias),
            }
        )
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)
        self.transformer["wte"].weight = self.lm_head.weight


def mlp(emb_dim, n_hidden):
    return nn.Sequential(nn.Linear(emb_dim, n_hidden), nn.ReLU(), nn.Linear(n_hidden, emb_dim))


def installed(library):
    return pytest.importorskip(library, reason=f"{library} is not installed")


def gpt2(**sizes):
    library = installed("transformers")
    return library.GPT2LMHeadModel(library.GPT2Config(**sizes))


def neox(**sizes):
    library = installed("transformers")
    return library.GPTNeoXForCausalLM(library.GPTNeoXConfig(tie_word_embeddings=False, **sizes))


def bert(**sizes):
    library = installed("transformers")
    return library.BertModel(library.BertConfig(**sizes))


def vit(**sizes):
    return installed("torchvision").models.VisionTransformer(**sizes)


class Model(NamedTuple):
    """`base`: the arguments that the form is derived from; `renamed`: those that are called
    otherwise in the published formula, as formulas of its variables."""

    make: Callable[..., nn.Module]
    base: dict[str, int]
    renamed: dict[str, str]


GPT = {"n_layer": 3, "n_head": 4, "n_embd": 96, "block_size": 64, "vocab_size": 500}
NEOX = Model(
    neox,
    {
        "vocab_size": 500,
        "hidden_size": 96,
        "intermediate_size": 384,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
    },
    {
        "hidden_size": "n_embd",
        "intermediate_size": "4*n_embd",
        "num_hidden_layers": "n_layer",
        "num_attention_heads": "n_head",
    },
)
MODELS = {
    "nanogpt/transformer_sizing": Model(lambda **a: NanoGPT(bias=False, **a), GPT, {}),
    "nanogpt/scaling_laws.gpt_params": Model(lambda **a: NanoGPT(bias=True, **a), GPT, {}),
    "kaplan/12Ld2": Model(
        gpt2,
        {**{n: v for n, v in GPT.items() if n != "block_size"}, "n_positions": 64},
        {"n_positions": "block_size"},
    ),
    "pythia/closed-form": NEOX,
    "pythia/non-embedding": NEOX,
    "seed002/embedding": Model(
        nn.Embedding,
        {"num_embeddings": 100, "embedding_dim": 24},
        {"num_embeddings": "n_vocab", "embedding_dim": "emb_dim"},
    ),
    "seed002/mlp": Model(mlp, {"emb_dim": 24, "n_hidden": 40}, {}),
    "seed002/transformer-layer": Model(
        lambda **a: nn.TransformerEncoderLayer(nhead=1, **a),
        {"d_model": 24, "dim_feedforward": 40},
        {"d_model": "emb_dim", "dim_feedforward": "n_hidden"},
    ),
    "bert/closed-form": Model(
        bert,
        {
            "vocab_size": 500,
            "max_position_embeddings": 64,
            "type_vocab_size": 2,
            "hidden_size": 96,
            "intermediate_size": 160,
            "num_hidden_layers": 3,
            "num_attention_heads": 4,
        },
        {
            "vocab_size": "V",
            "max_position_embeddings": "P",
            "type_vocab_size": "T",
            "hidden_size": "d",
            "intermediate_size": "f",
            "num_hidden_layers": "L",
            "num_attention_heads": "d//64",
        },
    ),
    "vit/closed-form": Model(
        vit,
        {
            "image_size": 32,
            "patch_size": 8,
            "num_layers": 3,
            "num_heads": 4,
            "hidden_dim": 64,
            "mlp_dim": 160,
            "num_classes": 10,
        },
        {
            "image_size": "img",
            "patch_size": "p",
            "num_layers": "L",
            "num_heads": "d//64",
            "hidden_dim": "d",
            "mlp_dim": "f",
            "num_classes": "C",
        },
    ),
}


@cache
def form_of(model: str) -> ClosedForm:
    """Derived once for all records that speak of the same model."""
    make, base, _ = MODELS[model]
    form = derived(make, **base)
    assert isinstance(form, ClosedForm), form
    return form


def derived_count(name: str):
    """The form of what the record counts: without what it leaves out."""
    form = form_of(next(other for other in MODELS if MODELS[other] == MODELS[name]))
    left_out = [re.compile(pattern) for pattern in RECORDS[name]["exclude"]]
    kept = [s.size for s in form.shapes if not any(p.search(s.name) for p in left_out)]
    assert (len(kept) < len(form.shapes)) is bool(left_out)
    return form, sum(kept, ZERO)


def arguments(name: str, point: dict[str, int]) -> dict[str, int]:
    """Those that the constructor takes."""
    _, base, renamed = MODELS[name]
    return {n: int(parse_formula(renamed.get(n, n)).evaluate(point)) for n in base}


def points(name: str, form: ClosedForm) -> list[dict[str, int]]:
    """Values for the variables of a record: its samples, and others for which the model can be
    built."""
    variables = RECORDS[name]["variables"]
    found = [{n: s[n] for n in variables} for s in RECORDS[name]["samples"]]
    dice = random.Random(3)
    for _ in range(400):
        point = {n: dice.randint(1, dice.choice((4, 12, 1000))) for n in variables}
        if "img" in point:
            point["img"] *= point["p"]
        if "d" in point:  # as many heads as there are 64s in the width
            point["d"] = 64 * -(-point["d"] // 8)
        given = arguments(name, point)
        if holds(form, given):
            found.append(point)
        if len(found) > 20:
            break
    assert len(found) > 20
    return found


def test_every_record_has_a_model():
    assert MODELS.keys() == RECORDS.keys()


@pytest.mark.parametrize("name", RECORDS)
def test_the_grammar_reads_what_was_published(name):
    record = RECORDS[name]
    formula = parse_formula(record["expression"])
    for sample in record["samples"]:
        assert formula.evaluate(sample) == sample["formula"]
        assert (sample["formula"] == sample["measured"]) is (name in EXACT)


@pytest.mark.first_cases(2)
@pytest.mark.parametrize("name", EXACT)
def test_the_derived_form_is_the_published_one(name):
    form, count = derived_count(name)
    published = parse_formula(RECORDS[name]["expression"])
    for point in points(name, form):
        assert count.value(exactly(arguments(name, point))) == published.evaluate(point), point


@pytest.mark.parametrize("name", APPROXIMATE)
def test_an_approximation_is_off_by_what_its_note_says(name):
    _, count = derived_count(name)
    published = parse_formula(RECORDS[name]["expression"])
    note = re.search(r"about -(\d+/\(\d+ d\))", RECORDS[name]["note"])
    assert note
    error = parse_formula(note[1].replace(" ", "*").replace("d", "n_embd"))
    for sample in RECORDS[name]["samples"]:
        real = count.value(exactly(arguments(name, sample)))
        assert real == sample["measured"]
        missing = (real - published.evaluate(sample)) / real
        assert 0.95 < missing / error.evaluate(sample) < 1.05
