"""`nparam-lint solve` as a user meets it: real models, each solution really built."""

from __future__ import annotations

import json

import pytest

MODELS = """\
import torch.nn as nn


class GPT(nn.Module):
    def __init__(self, n_layer=2, n_embd=32, n_head=4, vocab=100):
        super().__init__()
        assert n_embd % n_head == 0
        self.wte = nn.Embedding(vocab, n_embd)
        self.h = nn.ModuleList(nn.Linear(n_embd, 3 * n_embd) for _ in range(n_layer))


class LSTM(nn.Module):
    def __init__(self, hidden=32, vocab=100):
        super().__init__()
        self.embed = nn.Embedding(vocab, hidden)
        self.rnn = nn.LSTM(hidden, hidden)


class Wide(nn.Module):
    def __init__(self, d_model=16, d_ff=64, bias=True, extra=None):
        super().__init__()
        self.up = nn.Linear(d_model, d_ff, bias=bias)
        self.down = nn.Linear(d_ff, d_model, bias=bias)


class Power(nn.Module):
    def __init__(self, n=4):
        super().__init__()
        self.layer = nn.Linear(2**n, 3)
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    top = tmp_path_factory.mktemp("solve")
    (top / "nets.py").write_text(MODELS)
    (top / "nparam-lint.toml").write_text('device = "meta"\n')
    return top


@pytest.fixture
def solve(place, nparam_lint):
    def run(*arguments, code=0):
        done = nparam_lint("solve", *arguments, cwd=place)
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done

    return run


def answers(done):
    return json.loads(done.stdout)["targets"]


def gpt(n_layer, n_embd):
    return 100 * n_embd + n_layer * (3 * n_embd**2 + 3 * n_embd)


def test_several_unknowns_and_what_the_model_asks(solve):
    question = ["nets.py::GPT", "--budget", "1M", "--vary", "n_embd,n_layer=1..12"]
    (found,) = answers(solve(*question, "--format", "json"))
    assert found["form"] == "n_embd*(3*n_layer*(n_embd + 1) + vocab)"
    best = min(abs(gpt(n, d) - 1_000_000) for n in range(1, 13) for d in range(4, 2000, 4))
    assert abs(found["points"][0]["count"] - 1_000_000) == best
    for point in found["points"]:
        values = point["values"]
        assert point["count"] == gpt(values["n_layer"], values["n_embd"])
        assert values["n_embd"] % 4 == 0
        assert values["n_layer"] <= 12


def test_the_call_can_be_used_as_it_stands(solve, nparam_lint, place):
    question = ["nets.py::LSTM", "--budget", "50k", "--vary", "hidden", "--under"]
    (found,) = answers(solve(*question, "--format", "json"))
    point = found["points"][0]
    assert (
        point["count"]
        <= 50_000
        < 100 * (point["values"]["hidden"] + 1)
        + 8 * ((point["values"]["hidden"] + 1) * (point["values"]["hidden"] + 2))
    )
    shown = nparam_lint("show", f"nets.py::{point['call']}", "--format", "json", cwd=place)
    assert json.loads(shown.stdout)["models"][0]["counts"]["total"] == point["count"]


def test_what_is_tied_follows_the_unknown(solve):
    question = ["nets.py::Wide", "--budget", "100_000", "--vary", "d_model"]
    ties = ["--tie", "d_ff=4*d_model", "--where", "d_model % 8 == 0", "--number", "2"]
    (found,) = answers(solve(*question, *ties, "--format", "json"))
    assert [point["values"] for point in found["points"]] == [
        {"d_model": 112, "d_ff": 448},
        {"d_model": 104, "d_ff": 416},
    ]


def test_models_are_solved_for_one_budget(solve):
    text = solve("nets.py::GPT", "nets.py::LSTM", "--budget", "100k", "--vary", "hidden,n_embd")
    lines = text.stdout.splitlines()
    assert lines[0] == "closest to 100,000 parameters"
    assert "nets.py::GPT" in lines
    assert "nets.py::LSTM" in lines
    assert sum(line.startswith("best: ") for line in lines) == 2


def test_exactly_the_budget_or_nothing(solve):
    question = ["nets.py::GPT", "--vary", "n_embd,n_layer=1..12", "--exact", "--format", "json"]
    (found,) = answers(solve(*question, "--budget", str(gpt(5, 64))))
    assert {"n_embd": 64, "n_layer": 5} in [point["values"] for point in found["points"]]
    (found,) = answers(solve(*question, "--budget", str(gpt(5, 64) + 1), code=1))
    assert found["points"] == []
    assert found["reason"] == "no arguments meet the budget"


def test_a_budget_that_is_too_small(solve):
    done = solve("nets.py::GPT", "--budget", "50", "--vary", "n_embd", "--under", code=1)
    assert "– even the smallest has 1" in done.stdout


def test_without_a_closed_form_it_is_searched_by_building(solve):
    question = ["nets.py::Power", "--budget", "1k", "--vary", "n=1..16"]
    (found,) = answers(solve(*question, "--format", "json"))
    assert [(p["values"]["n"], p["count"]) for p in found["points"][:2]] == [(8, 771), (9, 1539)]
    assert found["form"] == ""
    text = " ".join(solve(*question).stdout.split())
    assert "no closed form: others that were not built may be nearer" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nets.py::GPT"], "which budget?\nnext: nparam-lint solve"),
        (["nets.py::GPT", "--budget", "10M"], "which arguments are unknown?"),
        (["--budget", "10M", "--vary", "a"], "which model?"),
        (["nets.py::GPT", "--budget", "lots", "--vary", "a"], "option --budget is 'lots'"),
        (["nets.py::GPT", "--budget", "10M", "--vary", "a-b"], "expected a name or name=1..24"),
        (["nets.py::GPT", "--budget", "10M", "--vary", "n_embd=8..4"], "has no values"),
        (
            ["nets.py::GPT", "--budget", "10M", "--vary", "depth"],
            "has no argument depth; whole numbers that it has: n_layer, n_embd, n_head, vocab",
        ),
        (["nets.py::Wide", "--budget", "1M", "--vary", "extra"], "extra is None in Wide()"),
        (
            ["nets.py::GPT", "--budget", "1M", "--vary", "n_embd", "--tie", "n_embd=3"],
            "n_embd is an unknown in --vary and tied in --tie",
        ),
        (["nets.py::GPT", "--budget", "1M", "--vary", "n_embd", "--where", "4"], "a comparison"),
        (
            ["nets.py::GPT", "--budget", "1M", "--vary", "n_embd", "--tie", "vocab=4*nembd"],
            "option --tie: nets.py::GPT has no whole number 'nembd'; did you mean 'n_embd'?",
        ),
        (
            ["nets.py::GPT", "--budget", "1M", "--vary", "n_embd", "--where", "n_embd % x == 0"],
            "option --where: nets.py::GPT has no whole number 'x'; it has n_layer, n_embd",
        ),
    ],
)
def test_usage(solve, arguments, message):
    assert message in solve(*arguments, code=2).stderr
