"""What can be varied of models that the worker builds, and forms of all that is counted of them,
held against their counts."""

from __future__ import annotations

import random
import sys

import pytest
from msgspec.structs import replace
from torch_models import holds

from nparam_lint.analysis.closed_forms.derive import derive
from nparam_lint.analysis.closed_forms.form_records import ClosedForm
from nparam_lint.analysis.closed_forms.form_writer import factored
from nparam_lint.analysis.closed_forms.observations import exactly, variable_of
from nparam_lint.analysis.model_builder import Model
from nparam_lint.config.session import open_session
from nparam_lint.count.measured import Measured
from nparam_lint.gate.building import count_models
from nparam_lint.gate.judge import selected
from nparam_lint.ground.notation import parse_selected
from nparam_lint.ground.orders import Ask

MODELS = '''\
from dataclasses import dataclass, field
from types import SimpleNamespace

import torch
import torch.nn as nn


class Expert(nn.Module):
    def __init__(self, d, f):
        super().__init__()
        self.up, self.down = nn.Linear(d, f), nn.Linear(f, d)


class Mixture(nn.Module):
    def __init__(self, d, f, experts, top_k):
        super().__init__()
        self.num_experts, self.top_k = experts, top_k
        self.gate = nn.Linear(d, experts, bias=False)
        self.experts = nn.ModuleList(Expert(d, f) for _ in range(experts))
        self.shared_experts = nn.ModuleList([Expert(d, f)])


class LM(nn.Module):
    def __init__(self, vocab=50, d=12, f=16, n_layer=2, experts=4, top_k=2):
        super().__init__()
        self.words = nn.Embedding(vocab, d)
        self.h = nn.ModuleList(Mixture(d, f, experts, top_k) for _ in range(n_layer))


class Words(nn.Module):
    """An embedding of places, a head that is not tied, what is frozen, and buffers."""

    def __init__(self, vocab=50, d=12, f=16, places=20):
        super().__init__()
        self.words, self.positions = nn.Embedding(vocab, d), nn.Embedding(places, d)
        self.norm = nn.BatchNorm1d(d).requires_grad_(False)
        self.side = nn.Linear(d, f, bias=False)
        self.head = nn.Linear(d, vocab, bias=False)
        self.register_buffer("mask", torch.ones(places, places, dtype=torch.bool))


class Stack(nn.Module):
    """The head is behind as many layers as there are."""

    def __init__(self, d=12, depth=3, classes=5):
        super().__init__()
        layers = [nn.Linear(d, d) for _ in range(depth)]
        self.layers = nn.Sequential(*layers, nn.ReLU(), nn.Linear(d, classes))
        self.blocks = nn.Sequential(*(Expert(d, 3) for _ in range(depth)), Mixture(d, 3, 2, 1))


class Stacked(nn.Module):
    """All experts in one tensor; the router says how many are used."""

    class Router(nn.Linear):
        pass

    def __init__(self, d=12, f=16, experts=4, k=2):
        super().__init__()
        self.router = self.Router(d, experts)
        self.router.top_k = k
        self.experts = nn.Module()
        self.experts.w = nn.Parameter(torch.empty(experts, d, 2 * f))


class Below(nn.Module):
    """Experts one below the other in a matrix."""

    def __init__(self, d=12, width=6, experts=4, k=2):
        super().__init__()
        self.top_k = k
        self.experts = nn.Module()
        self.experts.mlp = nn.Module()
        self.experts.mlp.moe_num_experts, self.experts.mlp.ffn_hidden_size = experts, width
        self.experts.mlp.w = nn.Parameter(torch.empty(experts * width, d))


class Silent(nn.Module):
    """Nothing states how many there are."""

    def __init__(self, d=12, experts=4, k=2):
        super().__init__()
        self.top_k = k
        self.experts = nn.ModuleList([nn.Linear(d, 2, bias=False) for _ in range(experts)])


class Levels(nn.Module):
    """Experts of experts."""

    def __init__(self, d=4, groups=4, experts=3, k=2, inner=1):
        super().__init__()
        self.top_k, self.n_experts = k, groups
        self.experts = nn.ModuleList(nn.Module() for _ in range(groups))
        for group in self.experts:
            group.top_k, group.n_experts = inner, experts
            group.experts = nn.ModuleList(nn.Linear(d, d) for _ in range(experts))


class Rows(nn.Module):
    """Modules that have different counts, and some that share their weights."""

    def __init__(self, first=3, d=8, n=3):
        super().__init__()
        self.rows = nn.ModuleList(nn.Linear(first if k == 0 else d, d) for k in range(n))
        self.tied = nn.ModuleList(nn.Linear(d, 2 * d) for _ in range(n))
        for row in self.tied[1:]:
            row.weight = self.tied[0].weight
'''
ARGUMENTS = """

@dataclass
class Tower:
    dims: tuple[int, ...] = (8, 16)
    depth: int = 2
    inner: int | None = None
    fixed: int | None = None
    most: int = 64

    def __post_init__(self):
        if self.inner is None:
            self.inner = 4 * self.depth
        self.depth = min(self.depth, self.most)
        if self.fixed is None:
            self.fixed = 3


class OfTower(nn.Module):
    def __init__(self, config: Tower):
        super().__init__()
        self.a = nn.Linear(config.dims[0], config.dims[-1])
        self.b = nn.Linear(config.inner, config.fixed)


class OfDefault(OfTower):
    def __init__(self, config=Tower(dims=(5, 6))):
        super().__init__(config)


class OfDictionaries(nn.Module):
    def __init__(self, image, text):
        super().__init__()
        self.image = nn.Linear(image["width"], image["width"])
        self.text = nn.Linear(text["width"], 4)


class Square(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.layer = nn.Linear(d, d)


class Handed(Square):
    def __init__(self, n=2, **kwargs):
        super(Handed, self).__init__(**kwargs)
        self.many = nn.Linear(n, n)


class Deep(Handed):
    def __init__(self, **kwargs):
        kwargs.setdefault("n", 4)
        super().__init__(**kwargs)


class Widths(nn.Module):
    def __init__(self, inputs, hidden=16, *, outputs=4, none=None):
        super().__init__()
        self.a, self.b = nn.Linear(inputs, hidden), nn.Linear(hidden, none or outputs)


class Attention:
    def __init__(self, heads=4, dim=None, rope=None):
        self.heads, self.dim = heads, dim or 8 * heads
        self.rope = rope


@dataclass(frozen=True)
class Rope:
    size: int = 6


@dataclass
class Nested:
    depth: int = 2
    attn: Attention = field(default_factory=lambda: Attention(rope=Rope(10)))
    mlp: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(mult=3))
    extra: dict = field(default_factory=lambda: {"rank": 5})


class OfTwo(nn.Module):
    def __init__(self, first: Attention, second=Attention(rope=Rope()), heads=3):
        super().__init__()
        self.a = nn.Linear(first.dim, second.rope.size)
        self.b = nn.Linear(heads, second.heads)


class OfNested(nn.Module):
    def __init__(self, config: Nested):
        super().__init__()
        dim = config.attn.dim
        self.h = nn.ModuleList(nn.Linear(dim, config.mlp.mult) for _ in range(config.depth))
        self.low = nn.Linear(config.extra["rank"], config.attn.rope.size, bias=False)

    @classmethod
    def from_config(cls, config: Nested):
        return cls(config)
"""
LARGEST = {"n_layer": 5, "groups": 7, "experts": 7, "top_k": 6, "k": 6, "inner": 4, "depth": 9}
TRIED = 40  # places at which each form is tried
FORMS = {
    "Words[non_embedding]": "d*(f + 2)",
    "Words[trainable]": "d*(2*vocab + f + places)",
    "Words[frozen]": "2*d",
    "Words[buffers]": "places**2 + 2*d + 1",
    "Words[bytes]": "4*d*(2*vocab + f + places + 4) + places**2 + 8",
    "LM[active]": "n_layer*(d*((2*f + 1)*(top_k + 1) + experts) + f*(top_k + 1)) + vocab*d",
    "LM[h.*, active]": "d*((2*f + 1)*(top_k + 1) + experts) + f*(top_k + 1)",
    "Stacked[active]": "d*(2*f*k + experts) + experts",
    "Below[active]": "d*width*k",
    "Silent[active]": "2*d*k",
    "Stack[layers.4]": "classes*(d + 1)",
    "Stack[layers.0]": "d*(d + 1)",
    "Stack[blocks.3, active]": "2*(8*d + 3)",
    "Levels[active]": "d*k*inner*(d + 1)",
    "Rows[tied.*]": "2*d*(d + 1)",
}
MOVING = {  # target and selector -> the module's place at other depths
    "Stack[layers.4]": lambda depth: f"layers.{depth + 1}",
    "Stack[blocks.3, active]": lambda depth: f"blocks.{depth}",
}
# Shown at every commit; the others once a night.
QUICK = ("Words[bytes]", "Words[frozen]", "Stacked[active]", "Stack[blocks.3, active]")


@pytest.fixture(scope="module")
def session(tmp_path_factory, environ):
    top = tmp_path_factory.mktemp("metrics")
    (top / "nets.py").write_text(MODELS + ARGUMENTS)
    return open_session(top, environ, options={"python": sys.executable, "device": "meta"})


def model_of(session, given):
    location = "" if "::" in given else "nets.py::"
    return Model(session, *parse_selected(location + given))


NESTED = {"depth": 2, "attn.heads": 4, "attn.rope.size": 10, "mlp.mult": 3, "extra['rank']": 5}
# target -> its arguments, other values for some of them, and the count with these
VARIED = {
    "Widths(8, outputs=2)": (
        {"inputs": 8, "hidden": 16, "outputs": 2},
        {"inputs": 1, "hidden": 2, "none": 3},
        2 * 2 + 3 * 3,
    ),
    # What is computed from others is no argument; elements of a list are.
    "OfTower": (
        {"dims[0]": 8, "dims[1]": 16, "depth": 2, "fixed": 3, "most": 64},
        {"dims[1]": 1, "depth": 1, "fixed": 2},
        9 * 1 + 5 * 2,
    ),
    "OfDefault": (
        {"dims[0]": 5, "dims[1]": 6, "depth": 2, "fixed": 3, "most": 64},
        {"dims[0]": 1},
        2 * 6 + 9 * 3,
    ),
    "OfDictionaries(dict(width=8, name='x'), {'width': 16})": (
        {"image['width']": 8, "text['width']": 16},
        {"image['width']": 2, "text['width']": 1},
        2 * 3 + 2 * 4,
    ),
    "Handed": ({"n": 2, "d": 8}, {"d": 2}, 2 * 3 + 2 * 3),
    "Deep": ({"n": 4, "d": 8}, {"n": 1}, 8 * 9 + 1 * 2),
    "OfNested": (NESTED, {"attn.heads": 1, "extra['rank']": 1}, 2 * 3 * 9 + 10),
    "OfNested.from_config(Nested(attn=Attention(dim=12, rope=Rope())))": (
        {**NESTED, "attn.dim": 12, "attn.rope.size": 6},
        {"attn.dim": 1, "mlp.mult": 1},
        2 * 2 + 30,
    ),
    # What several are called like has the name of its holder.
    "OfTwo(Attention(rope=Rope(5)))": (
        {
            "heads": 3,
            "first.heads": 4,
            "first.rope.size": 5,
            "second.heads": 4,
            "second.rope.size": 6,
        },
        {"heads": 1, "first.heads": 1, "second.heads": 2, "second.rope.size": 2},
        9 * 2 + 2 * 2,
    ),
    "torch.nn::Sequential(Linear(4, 3), PReLU(5))": (
        {"in_features": 4, "out_features": 3, "num_parameters": 5},
        {"in_features": 1, "num_parameters": 2},
        3 * 2 + 2,
    ),
}


@pytest.mark.parametrize("given", VARIED)
def test_what_can_be_varied_and_is(session, given):
    arguments, change, expected = VARIED[given]
    model = model_of(session, given)
    rows = model.first().variables
    assert {row.name: row.value for row in rows if type(row.value) is int} == arguments
    assert [built.total for built in model.build([change])] == [expected]


def test_modules_that_a_selector_matches_have_one_count(session):
    model = model_of(session, "Rows[rows.*]")
    assert model.why_unknown(model.first()) == "its modules have different counts"
    model = model_of(session, "Rows(8)[rows.*]")
    assert model.why_unknown(model.first()) is None
    same, other = model.build([{"n": 1, "first": 2}, {"first": 2}])
    assert same.total == 3 * 8
    assert other.reason == "its modules have different counts"


def drawn(base, dice):
    return {
        name: dice.randint(1, LARGEST[name]) if name in LARGEST else dice.randint(1, 99)
        for name in base
    }


@pytest.mark.first_cases(2)
@pytest.mark.parametrize(
    "given", [g if g in QUICK else pytest.param(g, marks=pytest.mark.thorough) for g in FORMS]
)
def test_the_form_of_a_metric_is_its_count(session, given):
    model = model_of(session, given)
    forms = derive(model.history([*map(variable_of, model.first().variables)]), model)
    assert all(isinstance(form, ClosedForm) for form in forms), forms
    base = forms[0].base
    assert factored(forms[0].total, list(base)) == FORMS[given]
    dice, known = random.Random(7), 0
    points = [drawn(base, dice) for _ in range(TRIED)]
    candidates = [model.candidate.with_build(vary=tuple(point.items())) for point in points]
    ask = Ask(parameters=True)
    counted = count_models([(candidate, ask) for candidate in candidates], model.source)
    for number, point in enumerate(points):
        measured = counted.measurements[number]
        assert isinstance(measured, Measured)
        place = MOVING[given](point["depth"]) if given in MOVING else model.selector.module
        rows = selected(replace(model.selector, module=place), measured.modules)
        counts = {row.of(model.selector.metric) for row in rows}
        own = [form.total.value(exactly(point)) for form in forms if holds(form, point)]
        assert own in ([], [*counts]), point
        known += bool(own) or None in counts
    assert known >= 0.9 * TRIED
