"""`nparam-lint solve` as a user meets it: real models, each solution really built."""

from __future__ import annotations

import json
from functools import partial

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


class Square(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.fixed, self.l = nn.Embedding(1000, 5), nn.Linear(d, d)


class Widths(nn.Module):
    def __init__(self, first, widths=(16, 32)):
        super().__init__()
        self.h = nn.ModuleList(nn.Linear(a, b) for a, b in zip([first, *widths], widths))
"""


@pytest.fixture
def solve(answered):
    return partial(answered, "solve")


def answers(done):
    return json.loads(done.stdout)["targets"]


def lstm(hidden):
    return 100 * hidden + 8 * hidden * (hidden + 1)


@pytest.mark.thorough
def test_the_call_can_be_used_as_it_stands(solve, nparam_lint, place):
    question = ["nets.py::LSTM", "--budget", "50k", "--vary", "hidden", "--under"]
    (found,) = answers(solve(*question, "--format", "json"))
    point = found["points"][0]
    assert point["count"] <= 50_000 < lstm(point["values"]["hidden"] + 1)
    shown = nparam_lint("show", f"nets.py::{point['call']}", "--format", "json", cwd=place)
    assert json.loads(shown.stdout)["models"][0]["counts"]["total"] == point["count"]


TABLE = """\
closest to 100,000 and 1,000,000 parameters

model      arguments               parameters    off
─────────  ────────────────────  ────────────  ─────  ───────
100,000
  GPT      n_embd=120 n_layer=2        99,120   -880  -0.88 %
  Square   d=308                      100,172   +172  +0.17 %
1,000,000
  GPT      n_embd=284 n_layer=4       999,680   -320  -0.03 %
  Square   d=997                    1,000,006     +6  <0.01 %

each was built; no others are nearer
"""


def test_several_targets_and_budgets_give_one_table(solve):
    """A condition is about the targets that have its names."""
    targets = "nets.py::GPT", "nets.py::Square"
    question = [*targets, "--budget", "100k,1M", "--vary", "d,n_embd,n_layer=1..12"]
    assert solve(*question, "--where", "d > 300").stdout == TABLE
    other = ["nets.py::Square", "--budget", "100k", "--vary", "d", "--where", "e > 310"]
    said = "option --where: no target has an argument 'e'; there are: d"
    assert said in solve(*other, code=2).stderr


def test_what_the_selector_counts_is_said(solve):
    done = solve("nets.py::Square[bytes]", "--vary", "d", "--budget", "40KB", "--number", "1")
    assert done.stdout.startswith("closest to 40,000 bytes\n\nnets.py::Square[bytes]\n")
    assert "  d    bytes    off\n" in done.stdout
    done = solve("nets.py::GPT[*]", "--budget", "3168", "--vary", "n_embd", code=1)
    assert "– its modules have different counts\n" in done.stdout


@pytest.mark.thorough
def test_elements_of_lists(solve):
    question = ["nets.py::Widths(8)", "--budget", "10k", "--vary", "widths[1]"]
    (found,) = answers(solve(*question, "--number", "2", "--format", "json"))
    assert [p["values"]["widths[1]"] for p in found["points"]] == [580, 579]
    assert found["points"][0]["call"] == "Widths(8, widths=(16, 580))"


def test_a_budget_that_cannot_be_met_fails(solve):
    done = solve("nets.py::Square", "--vary", "d", "--budget", "10", code=1)
    assert "– no arguments come within 5 % of 10; 5,000 do not depend on d\n" in done.stdout


def test_a_model_that_needs_arguments(solve):
    done = solve("nets.py::Widths", "--budget", "1M", "--vary", "first", code=1)
    told = "– Widths needs first; next: give them values: nets.py::Widths(first=…)"
    assert told in done.stdout


def test_a_document_says_why_there_is_no_answer(solve):
    done = solve("nets.py::GPT", "--budget", "1M", "--vary", "depth", "--format", "json", code=2)
    document = json.loads(done.stdout)
    assert document["error"] in done.stderr
    assert (document["budget"], document["targets"]) == (None, [])


GPT = ["nets.py::GPT", "--budget", "1M", "--vary"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nets.py::GPT"], "which budget?\nnext: nparam-lint solve"),
        (["nets.py::GPT", "--budget", "10M"], "which arguments are unknown?"),
        (["--budget", "10M", "--vary", "a"], "which model?"),
        (["nets.py::GPT", "--budget", "lots", "--vary", "a"], "option --budget is 'lots'"),
        (["nets.py::GPT", "--budget=-5", "--vary", "n_embd"], "`-5` gives -5, below zero"),
        (["nets.py::GPT", "--budget", "0", "--vary", "n_embd"], "expected a number such as 10M"),
        (["nets.py::GPT", "--budget", "1,000,000,0", "--vary", "n_embd"], "option --budget is '0'"),
        (["nets.py::GPT", "--budget", "1M,", "--vary", "a"], "expected 10M, or several: 100k,1M"),
        ([*GPT, "n_embd", "--number", "0"], "option --number is 0, expected at least 1"),
        (
            ["nets.py::GPT[bytes]", "nets.py::LSTM", "--budget", "1MB", "--vary", "n_embd"],
            "found targets of bytes and of total, expected those of one",
        ),
        ([*GPT, "a-b"], "expected a name or name=1..24"),
        ([*GPT, "n_embd=8..4"], "has no values"),
        ([*GPT, "n_embd", "--where", "4"], "a comparison"),
        (
            [*GPT, "n_embd,nlayer"],
            "option --vary: no target has an argument 'nlayer'; did you mean n_layer?",
        ),
    ],
)
def test_usage(solve, arguments, message):
    assert message in solve(*arguments, code=2).stderr
