"""What one token uses of a mixture of experts: by structure, and by the usual fields."""

from __future__ import annotations

import json

import pytest

MODELS = '''\
import torch
import torch.nn as nn


class Listed(nn.Module):
    """A list of experts beside a router; the block says how many are used."""

    def __init__(self, experts=8, top_k=2):
        super().__init__()
        self.top_k = top_k
        self.gate = nn.Linear(4, experts, bias=False)
        self.experts = nn.ModuleList(nn.Linear(4, 4, bias=False) for _ in range(experts))
        self.shared_experts = nn.ModuleList(nn.Linear(4, 4, bias=False) for _ in range(2))


class Stacked(nn.Module):
    """Experts along the first dimension of one parameter; the config says how many are used."""

    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate_up = nn.Parameter(torch.empty(8, 4, 6))

    def __init__(self):
        super().__init__()
        self.config = type("Config", (), {"num_experts_per_tok": 2})()
        self.experts = self.Experts()


class Flat(nn.Module):
    """Experts one below the other in a matrix: nothing tells how many there are."""

    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.mlp = nn.Linear(4, 8 * 6)

    def __init__(self):
        super().__init__()
        self.top_k = 2
        self.experts = self.Experts()


class Silent(nn.Module):
    """Nothing says how many are used."""

    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(8))


class One(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList([nn.Linear(4, 4)])
'''


@pytest.fixture(scope="module")
def counts(tmp_path_factory, nparam_lint):
    top = tmp_path_factory.mktemp("active")
    (top / "moe.py").write_text(MODELS)
    (top / "nparam-lint.toml").write_text('device = "meta"\n')
    done = nparam_lint("--format", "json", cwd=top)
    models = json.loads(done.stdout)["models"]
    return {model["target"].partition("::")[2]: model["counts"] for model in models}


def test_a_token_uses_some_of_listed_experts_and_all_that_is_shared(counts):
    assert counts["Listed"]["total"] == 4 * 8 + 8 * 16 + 2 * 16
    assert counts["Listed"]["active"] == 4 * 8 + 2 * 16 + 2 * 16


def test_a_token_uses_a_share_of_stacked_experts(counts):
    assert (counts["Stacked"]["total"], counts["Stacked"]["active"]) == (192, 48)


@pytest.mark.parametrize("name", ["Flat", "Silent"])
def test_what_nothing_tells_is_not_guessed(counts, name):
    assert counts[name]["active"] is None


def test_one_expert_is_always_used(counts):
    assert counts["One"]["active"] == counts["One"]["total"] == 20
