"""`nparam-lint solve` as a user meets it: real models, each solution really built."""

from __future__ import annotations

import json
from functools import partial

import pytest

PAGE = "solve"


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
