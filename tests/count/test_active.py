"""What one token uses of a mixture of experts: by structure, by the usual fields, or as declared;
and what is left without embeddings and output heads."""

from __future__ import annotations

import json

import pytest
from worker_runs import model_source

HEAD = """\
import types
import torch
import torch.nn as nn


def linears(number, width=4):
    return [nn.Linear(width, width, bias=False) for _ in range(number)]


def config(**fields):
    return types.SimpleNamespace(**fields)


class Listed(nn.Module):
    # A list of experts beside a router; the block says how many are used.

    def __init__(self, experts=8, top_k=2):
        super().__init__()
        self.top_k = top_k
        self.gate = nn.Linear(4, experts, bias=False)
        self.experts = nn.ModuleList(linears(experts))
        self.shared_experts = nn.ModuleList(linears(2))


class ParallelExperts(nn.Module):
    def __init__(self, experts):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(experts, 4, 4))


class TopKGating(nn.Linear):
    top_k = 2


class Top2Router(nn.Linear):
    pass


class Gate(nn.Linear):
    k = 1
"""
# What the constructor of each does.
MODELS = {
    # Experts along the first dimension of one parameter; the config says how many are used.
    "Stacked": """\
self.config = config(num_experts_per_tok=2)
self.experts = nn.Module()
self.experts.gate_up = nn.Parameter(torch.empty(8, 4, 6))""",
    # Layers for all experts at once, of a class that is called so.
    "Parallel": """\
self.input_linear, self.output_linear = ParallelExperts(8), ParallelExperts(8)
self.router = TopKGating(4, 8)""",
    # The same one level deeper: the router is inside, with the experts.
    "Within": "self.experts = Parallel()",
    # Nothing is called experts; the block says how many there are, in it are as many slices.
    "Block": """\
self.num_experts, self.experts_per_token = 8, 2
self.gate = nn.Linear(4, 8, bias=False)
self.mlp1_weight = nn.Parameter(torch.empty(8, 6, 4))
self.mlp1_bias = nn.Parameter(torch.empty(8, 6))
self.norm = nn.Parameter(torch.empty(4))""",
    # Experts one below the other in a matrix, of a module that says how many, and how wide.
    "Below": """\
self.top_k = 2
self.experts = nn.Module()
self.experts.mlp = nn.Module()
self.experts.mlp.moe_num_experts, self.experts.mlp.ffn_hidden_size = 8, 6
self.experts.mlp.w1 = nn.Parameter(torch.empty(8 * 6, 4))""",
    # The same, but 48 may be a width like any other.
    "Flat": """\
self.top_k = 2
self.experts = nn.Module()
self.experts.mlp = nn.Linear(4, 8 * 6)""",
    # The first dimension is not that of the experts.
    "Transposed": """\
self.num_experts, self.top_k = 8, 2
self.experts = nn.Module()
self.experts.w = nn.Parameter(torch.empty(4, 8, 6))""",
    # Some experts have only half of their weights.
    "Unequal": """\
self.top_k = 2
self.experts = nn.Module()
self.experts.up = nn.Parameter(torch.empty(12, 4, 6))
self.experts.down = nn.Parameter(torch.empty(8, 6, 4))""",
    # A dictionary of experts that holds a dropout, too; the router's class says how many.
    "Named": """\
self.router = Top2Router(4, 8)
named = {f"expert_{i}": layer for i, layer in enumerate(linears(8))}
self.experts = nn.ModuleDict({**named, "dropout": nn.Dropout()})""",
    # A list in a module that is called so, too; the router is beside the outer one.
    "Nested": """\
self.gate = Gate(4, 8)
self.experts = nn.Module()
self.experts.local_experts = nn.ModuleList(linears(8))""",
    # A token uses half of the groups, and half of the experts of each.
    "InTwoLevels": """\
self.top_k = 2
self.experts = nn.ModuleList(Listed(experts=4) for _ in range(4))""",
    # Experts with one bias for all of them, and a weight that the head uses as well.
    "Sharing": """\
self.top_k = 2
self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(8))
for expert in self.experts:
    expert.bias = self.experts[0].bias
self.head = nn.Linear(4, 4, bias=False)
self.head.weight = self.experts[3].weight""",
    # Nothing says how many are used.
    "Silent": "self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(8))",
    # The config's top_k is about what is done with the output.
    "Sampling": """\
self.config = config(top_k=5, temperature=1.0)
self.experts = nn.ModuleList(linears(8))""",
    # It says that it has experts, in a form that nothing tells.
    "Overlooked": """\
self.num_experts, self.top_k = 8, 2
self.up = nn.Embedding(8, 4)""",
    "One": "self.experts = nn.ModuleList([nn.Linear(4, 4)])",
    "Dense": "self.layer = nn.Linear(4, 4, bias=False)",
    # The head has another name, the projection the shape of the types' and the places'.
    "Tokens": """\
self.words = nn.Embedding(100, 4)
self.positions = nn.Embedding(8, 4)
self.types = nn.Embedding(2, 4)
self.to_words = nn.Linear(4, 100, bias=False)
self.to_places = nn.Linear(4, 8, bias=False)
self.classes = nn.Linear(4, 2, bias=False)""",
    # As many words as features: only the last of such layers is the head.
    "Square": """\
self.words = nn.Embedding(4, 4)
self.projection = nn.Linear(4, 4, bias=False)
self.norm = nn.LayerNorm(4)
self.out = nn.Linear(4, 4, bias=False)""",
    # The model says which is the head.
    "Says": """\
self.words = nn.Embedding(100, 4)
self.copy = nn.Linear(4, 100, bias=False)
self.head = nn.Linear(4, 100, bias=False)
self.get_output_embeddings = lambda: self.head""",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A directory with the models, and a function that writes the config beside them."""
    top = tmp_path_factory.mktemp("active")
    models = (model_source(name, made) for name, made in MODELS.items())
    (top / "moe.py").write_text(HEAD + "".join(models))

    def write(config=""):
        (top / "nparam-lint.toml").write_text('device = "meta"\n' + config)
        return top

    return write


@pytest.fixture(scope="module")
def counts(project, nparam_lint):
    done = nparam_lint("--format", "json", cwd=project())
    models = json.loads(done.stdout)["models"]
    return {m["target"].partition("::")[2]: m["counts"] for m in models if not m.get("way")}


def test_a_token_uses_some_of_listed_experts_and_all_that_is_shared(counts):
    assert counts["Listed"]["total"] == 4 * 8 + 8 * 16 + 2 * 16
    assert counts["Listed"]["active"] == 4 * 8 + 2 * 16 + 2 * 16


@pytest.mark.parametrize(
    ("name", "total", "active"),
    [
        ("Stacked", 8 * 24, 2 * 24),
        ("Parallel", 2 * 8 * 16 + 40, 2 * 2 * 16 + 40),
        ("Within", 2 * 8 * 16 + 40, 2 * 2 * 16 + 40),
        ("Block", 32 + 8 * 30 + 4, 32 + 2 * 30 + 4),
        ("Below", 8 * 24, 2 * 24),
        ("Named", 40 + 8 * 16, 40 + 2 * 16),
        ("Nested", 40 + 8 * 16, 40 + 16),
        ("Sharing", 8 * 16 + 4, 16 + 7 * 4 + 4),
    ],
)
def test_a_token_uses_a_share_of_experts_however_they_are_kept(counts, name, total, active):
    assert (counts[name]["total"], counts[name]["active"]) == (total, active)


def test_experts_that_hold_experts_are_used_by_the_product_of_both_shares(counts):
    # Four groups of a gate, four experts and two that are shared.
    assert counts["InTwoLevels"]["total"] == 4 * (16 + 4 * 16 + 2 * 16)
    assert counts["InTwoLevels"]["active"] == 2 * (16 + 2 * 16 + 2 * 16)


UNKNOWN = {
    "Flat": "the experts in experts are neither modules of equal size nor stacked along a first "
    "dimension",
    "Transposed": "the experts in experts are stacked along a first dimension of 4, but there "
    "should be 8 of them",
    "Unequal": "the experts in experts are stacked along first dimensions of 8 and 12",
    "Overlooked": "the model says that it has 8 experts, which were not found",
    **dict.fromkeys(
        ("Silent", "Sampling"),
        "it is unknown how many of the 8 experts in experts a token uses; declare "
        "experts_per_token",
    ),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_nothing_tells_is_not_guessed(counts, name):
    assert counts[name]["active"] is None


def test_one_expert_is_always_used(counts):
    assert counts["One"]["active"] == counts["One"]["total"] == 20


@pytest.mark.parametrize(
    ("name", "left"), [("Tokens", 8 * 4 + 2 * 4), ("Square", 16 + 8), ("Says", 100 * 4)]
)
def test_what_is_no_embedding_is_left_without_the_head(counts, name, left):
    assert counts[name]["non_embedding"] == left


# --- declared -----------------------------------------------------------------------------------


def messages(done):
    return [line for line in done.stdout.splitlines() if "NPL" in line]


def test_what_is_unknown_says_why(project, nparam_lint):
    lines = [f'"moe.py::{name}[active]" = 1' for name in UNKNOWN]
    done = nparam_lint("--format", "concise", cwd=project("\n".join(["[budgets]", *lines])))
    assert done.returncode == 1
    assert messages(done) == [
        f"nparam-lint.toml:{line}:1: error: NPL002 the active parameters of {name}() are unknown: "
        f"{why}"
        for line, (name, why) in enumerate(UNKNOWN.items(), 3)
    ]


def test_the_number_that_a_token_uses_can_be_declared(project, nparam_lint):
    config = """
    [arguments]
    "moe.py::Silent" = { experts_per_token = 3 }  # as in the paper
    "moe.py::Listed" = { experts_per_token = 8, arguments = "experts=8, top_k=4" }
    "moe.py::InTwoLevels" = { experts_per_token = 1 }
    "moe.py::Parallel" = { experts_per_token = 2 }

    [budgets]
    "moe.py::Silent[active]" = 60
    "moe.py::Listed(experts=16)[active]" = 224
    "moe.py::Sampling[active]" = { budget = 16, experts_per_token = 1 }
    "moe.py::Sampling(1)[active]" = { budget = 32, experts_per_token = 2, call = "Sampling()" }
    """
    top = project(config)
    done = nparam_lint("--format", "json", cwd=top)
    report = json.loads(done.stdout)
    assert (report["findings"], done.returncode) == ([], 0)
    models = [m for m in report["models"] if not m.get("way")]
    found = {m["target"].partition("::")[2]: (m["counts"], m["notes"]) for m in models}
    active = {name: counts["active"] for name, (counts, _) in found.items()}
    assert active["Listed"] == 4 * 8 + 8 * 16 + 2 * 16
    assert active["InTwoLevels"] == 16 + 16 + 2 * 16
    # It holds though the model says otherwise, which is noted.
    assert found["Listed"][1] == [
        "experts_per_token = 8 is declared; the model itself has top_k = 4"
    ]
    assert found["Parallel"][1] == found["Silent"][1] == []
    # What was measured with another number is not given again.
    project(config.replace("= 3 }", "= 4 }"))
    done = nparam_lint("--format", "concise", cwd=top)
    assert messages(done) == [
        "nparam-lint.toml:10:5: error: NPL001 Silent has 80 active parameters, declared 60: +20 "
        "(+33.33 %)"
    ]


def test_a_declared_number_that_does_not_fit_is_told(project, nparam_lint):
    top = project(
        """
    [arguments]
    "moe.py::Silent" = { experts_per_token = 9 }
    "moe.py::Dense" = { experts_per_token = 2 }
    "moe.py::Flat" = { experts_per_token = 2 }
    "moe.py::One" = { experts_per_token = 2 }

    [budgets]
    "moe.py::One[active]" = 20
    "moe.py::Stacked" = { budget = 192, experts_per_token = 10 }
    """
    )
    done = nparam_lint("--format", "concise", cwd=top)
    assert done.returncode == 1
    few = "experts_per_token = {} is declared, {}"
    more = "more than there are experts in experts: {}"
    assert messages(done) == [
        "nparam-lint.toml:4:5: error: NPL002 Silent(): " + few.format(9, more.format(8)),
        "nparam-lint.toml:5:5: error: NPL002 Dense(): "
        + few.format(2, "but the model has no experts: none were found"),
        "nparam-lint.toml:6:5: error: NPL002 Flat(): " + few.format(2, "but " + UNKNOWN["Flat"]),
        "nparam-lint.toml:10:5: error: NPL002 the active parameters of One() are unknown: "
        + few.format(2, more.format(1)),
        "nparam-lint.toml:11:5: error: NPL002 Stacked(): " + few.format(10, more.format(8)),
    ]
