"""Forms of everything that is counted, held against the counts of models that the worker builds."""

from __future__ import annotations

import random
import sys

import pytest
from msgspec.structs import replace
from torch_models import holds

from nparam_lint.analysis.closed_forms.derive import derive
from nparam_lint.analysis.closed_forms.form_records import ClosedForm
from nparam_lint.analysis.closed_forms.form_writer import factored
from nparam_lint.analysis.closed_forms.observations import BuildHistory, exactly, variable_of
from nparam_lint.analysis.model_builder import Model
from nparam_lint.claims import parse_selected
from nparam_lint.config.session import open_session
from nparam_lint.count.measured import Measured
from nparam_lint.gate.building import count_models
from nparam_lint.gate.judge import selected
from nparam_lint.ground.orders import Ask

MODELS = '''\
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
'''
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
    (top / "nets.py").write_text(MODELS)
    return open_session(top, environ, options={"python": sys.executable, "device": "meta"})


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
    target, selector = parse_selected(f"nets.py::{given}")
    model = Model(session, target, selector)
    variables = [variable_of(row) for row in model.first().variables]
    forms = derive(BuildHistory(model.build, variables), model)
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
        place = MOVING[given](point["depth"]) if given in MOVING else selector.module
        rows = selected(replace(selector, module=place), measured.modules)
        counts = {row.of(selector.metric) for row in rows}
        own = [form.total.value(exactly(point)) for form in forms if holds(form, point)]
        assert own in ([], [*counts]), point
        known += bool(own) or None in counts
    assert known >= 0.9 * TRIED
