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


# Several targets and budgets in one table, where a condition is about the targets that have its
# names; what the selector counts; elements of lists; what cannot be met.
COMMANDS = """
solve nets.py::GPT nets.py::Square --budget 100k,1M --vary d,n_embd,n_layer=1..12 --where 'd > 300'
solve nets.py::Square[bytes] --vary d --budget 40KB --number 1
solve nets.py::GPT[*] --budget 3168 --vary n_embd
solve 'nets.py::Widths(8)' --budget 10k --vary widths[1] --number 2
solve nets.py::Square --vary d --budget 10
solve nets.py::Widths --budget 1M --vary first
"""


def test_what_is_said(transcript, expected):
    expected(transcript(COMMANDS))
