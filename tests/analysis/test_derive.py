"""Closed forms: why there is none, how long it takes, and what others published."""

from __future__ import annotations

import random
import time

import constructors
import pytest
from constructors import linears
from msgspec.structs import replace
from torch import nn
from torch_models import InProcess, all_derived, asking, derived

from nparam_lint.analysis.closed_forms import limits
from nparam_lint.analysis.closed_forms.derive import derive
from nparam_lint.analysis.closed_forms.exploration import Learned
from nparam_lint.analysis.closed_forms.form_records import ClosedForm, NoForm
from nparam_lint.analysis.closed_forms.form_writer import factored
from nparam_lint.analysis.closed_forms.observations import BuildHistory, Variable, exactly
from nparam_lint.analysis.closed_forms.path_forms import families_of
from nparam_lint.analysis.closed_forms.polynomial import Polynomial
from nparam_lint.analysis.closed_forms.traced_runs import Run, TracedParameter
from nparam_lint.ground.notation.expression import parse_formula
from nparam_lint.worker.state import STATE

LATE = "no closed form was found within 40 seconds"


def test_a_model_that_cannot_be_built_has_none():
    form = derived(nn.Linear, in_features="ten", out_features=5)
    assert isinstance(form, NoForm)
    assert form.reason.startswith("TypeError")


def test_what_takes_too_long_is_said():
    history = BuildHistory(
        asking(nn.Linear, in_features=4, out_features=2), [Variable("in_features", 4)]
    )
    found = derive(history, InProcess(nn.Linear), learned=Learned(deadline=0.0))
    assert [form.reason for form in found] == [LATE]


def compared_thrice(d=8, n=3):
    if n < 3:
        return linears((d, 1))
    if n == 3:
        return linears((d, 2))
    if n > 3:
        return linears((d, 3))
    raise ValueError(n)


def test_a_path_that_no_number_takes_is_not_left_out():
    forms = all_derived(compared_thrice, d=8, n=3)
    assert [[*map(str, form.rules)] for form in forms] == [["n == 3"], ["n <= 2"], ["n >= 4"]]
    assert {form.left_out for form in forms} == {0}


def collatz(n=6, d=8):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return linears((steps + 1, d))


# hypothesis has a callback of the garbage collector, in which the signal may come.
@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_loop_that_depends_on_the_number_ends_with_the_time(monkeypatch):
    monkeypatch.setattr(limits, "LAST_SECONDS", 1.0)
    start = time.monotonic()
    history = BuildHistory(asking(collatz, n=6, d=8), [Variable("n", 6), Variable("d", 8)])
    (found,) = derive(history, InProcess(collatz), learned=Learned(deadline=start + 0.5))
    assert found.reason == LATE
    assert time.monotonic() - start < 8


def test_where_time_is_over_before_all_was_tried_that_is_said(monkeypatch):
    """In the attempt without what could not be followed."""

    def late(d=64, v=10):
        if STATE.trace is not None and not hasattr(d, "row") and v != 10:
            monkeypatch.setattr(limits, "LAST_SECONDS", limits.SECONDS)
        return constructors.in_digits(d, v)

    (form,) = all_derived(late, d=64, v=10)
    assert form.reason == LATE


def test_what_counts_layers_is_tried_with_no_more_than_are_soon_made():
    depths = []

    def by_sixes(depth=40, w=4):
        layers = linears((w, 2 * w), *[(w, w)] * int((depth - 4) / 6))
        depths.append(len(layers))
        return layers

    (form,) = all_derived(by_sixes, depth=40, w=4)
    assert factored(form.total, ["depth", "w"]) == "w**2*(trunc((depth - 4)/6) + 2)"
    assert max(depths) == 1 + (4 * 40 + 32 - 4) // 6


def test_the_table_of_a_deep_model_is_soon_made():
    form = Polynomial.generator("w")
    run = Run({"w": 4}, [], {}, [])
    run.parameters = [
        TracedParameter(f"h.{number}.weight", (form * (1 + (number == 0)),), form)
        for number in range(8000)
    ]
    start = time.monotonic()
    assert list(families_of([run, replace(run, parameters=run.parameters[:9])])) == [
        "h.0.weight",
        "h.*.weight",
    ]
    assert time.monotonic() - start < 8


# --- what others published --------------------------------------------------------------------


def nano_gpt(n_layer=3, n_head=4, n_embd=96, block_size=64, vocab_size=500, *, bias=True):
    """The parameters of nanoGPT's `GPT`."""
    assert n_embd % n_head == 0

    def block():
        sizes = (n_embd, 3 * n_embd), (n_embd, n_embd), (n_embd, 4 * n_embd), (4 * n_embd, n_embd)
        norms = [nn.LayerNorm(n_embd, bias=bias) for _ in range(2)]
        return nn.ModuleList([*norms, *(nn.Linear(*size, bias=bias) for size in sizes)])

    parts = {
        "wte": nn.Embedding(vocab_size, n_embd),
        "wpe": nn.Embedding(block_size, n_embd),
        "h": nn.ModuleList(block() for _ in range(n_layer)),
        "ln_f": nn.LayerNorm(n_embd, bias=bias),
        "lm_head": nn.Linear(n_embd, vocab_size, bias=False),
    }
    parts["wte"].weight = parts["lm_head"].weight
    return nn.ModuleDict(parts)


def without_biases(**sizes):
    return nano_gpt(bias=False, **sizes)


GPT2 = {"n_layer": 12, "n_head": 12, "n_embd": 768, "block_size": 1024, "vocab_size": 50_257}
BLOCK = "L*(4*(d*d+d) + 2*d*f + f + d + 4*d)"
PUBLISHED = {  # formula, arguments, and the count that is published beside it
    "nanoGPT, transformer_sizing": (
        "n_embd*block_size + n_embd*vocab_size + n_layer*((n_embd + n_embd*3*n_embd + n_embd**2)"
        " + (n_embd + n_embd*4*n_embd + 4*n_embd*n_embd)) + n_embd",
        GPT2,
        124_337_664,
    ),
    "nanoGPT, scaling_laws": (
        "n_layer*((3*n_embd**2 + 3*n_embd) + (n_embd**2 + n_embd) + (4*n_embd*n_embd + 4*n_embd)"
        " + (4*n_embd*n_embd + n_embd) + 4*n_embd) + 2*n_embd + n_embd*vocab_size",
        GPT2,
        123_653_376,
    ),
    "Pythia": (
        "2*vocab_size*n_embd + n_layer*(12*n_embd**2 + 13*n_embd) + 2*n_embd",
        {"n_layer": 6, "n_embd": 512, "vocab_size": 50_304},
        70_426_624,
    ),
    "BERT": (
        f"(V+P+T)*d + 2*d + {BLOCK} + d*d + d",
        {"V": 30_522, "P": 512, "T": 2, "d": 768, "f": 3072, "L": 12},
        109_482_240,
    ),
    "ViT": (
        f"3*p*p*d + d + d + ((img//p)**2+1)*d + {BLOCK} + 2*d + d*C + C",
        {"d": 768, "f": 3072, "L": 12, "p": 16, "img": 224, "C": 1000},
        86_567_656,
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_grammar_reads_what_was_published(name):
    text, arguments, published = PUBLISHED[name]
    assert parse_formula(text).evaluate(arguments) == published


@pytest.mark.parametrize(
    ("make", "name", "left_out"),
    [
        (without_biases, "nanoGPT, transformer_sizing", "–"),
        pytest.param(nano_gpt, "nanoGPT, scaling_laws", "wpe.", marks=pytest.mark.thorough),
    ],
)
def test_the_derived_form_is_the_published_one(make, name, left_out):
    base = {"n_layer": 3, "n_head": 4, "n_embd": 96, "block_size": 64, "vocab_size": 500}
    form = derived(make, **base)
    assert isinstance(form, ClosedForm)
    sizes = [shape.size for shape in form.shapes if not shape.name.startswith(left_out)]
    published, dice = parse_formula(PUBLISHED[name][0]), random.Random(3)
    for _ in range(20):
        point = {argument: dice.randint(1, 1000) for argument in base}
        assert Polynomial.sum(sizes).value(exactly(point)) == published.evaluate(point)
