"""Closed forms of modules that were put together at random, against brute force far outside what
they were derived from: a form is right there, or there is none."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn
from torch_models import all_derived, held_against

from nparam_lint.analysis.closed_forms.form_records import ClosedForm

BASE = {"a": 24, "b": 40, "n": 3, "g": 4}
Width = Callable[[dict[str, int]], int]

# Widths that architectures are made of.
WIDTHS: dict[str, Width] = {
    "a": lambda v: v["a"],
    "b": lambda v: v["b"],
    "4a": lambda v: 4 * v["a"],
    "a + b": lambda v: v["a"] + v["b"],
    "g a": lambda v: v["g"] * v["a"],
    "max(8, a)": lambda v: max(8, v["a"]),
    "min(a, b)": lambda v: min(v["a"], v["b"]),
    "a // 4, 1 at least": lambda v: max(1, v["a"] // 4),
    "8/3 a to a multiple of 16": lambda v: 16 * ((int(8 * v["a"] / 3) + 15) // 16),
    "a to a multiple of g": lambda v: -(-v["a"] // v["g"]) * v["g"],
}


class Holder(nn.Module):
    def __init__(self, parts):
        super().__init__()
        for number, part in enumerate(parts):
            self.add_module(f"part_{'abcdef'[number]}", part)


def doubling(width: int, stages: int) -> nn.Module:
    widths = [3, *(width * 2**stage for stage in range(stages))]
    return nn.Sequential(*(nn.Conv2d(one, other, 3) for one, other in pairwise(widths)))


def trebling(width: int, stages: int) -> nn.Module:
    return nn.ModuleList(nn.Linear(width * 3**stage, 1) for stage in range(stages))


def tied(vocabulary: int, width: int) -> nn.Module:
    holder = Holder([nn.Embedding(vocabulary, width), nn.Linear(width, vocabulary, bias=False)])
    holder.part_b.weight = holder.part_a.weight
    return holder


def stack(make: Callable[[], nn.Module], number: int) -> nn.Module:
    return nn.ModuleList(make() for _ in range(number))


# kind -> what it makes of the arguments and two widths
PARTS: dict[str, Callable[[dict[str, int], int, int], nn.Module]] = {
    "linear": lambda _v, x, y: nn.Linear(x, y),
    "without bias": lambda _v, x, y: nn.Linear(x, y, bias=False),
    "grouped": lambda v, x, _y: nn.Conv2d(x, x, 3, groups=v["g"]),
    "lstm": lambda v, x, y: nn.LSTM(x, y, v["n"], bidirectional=True),
    "projected": lambda v, x, y: nn.LSTM(x, 2 * y + 2, v["n"], proj_size=y),
    "gru": lambda v, x, y: nn.GRU(x, y, v["n"]),
    "attention": lambda v, x, y: nn.MultiheadAttention(x, 1, kdim=y, vdim=v["a"]),
    "encoder": lambda v, x, y: nn.TransformerEncoder(
        nn.TransformerEncoderLayer(x, 1, y), v["n"], enable_nested_tensor=False
    ),
    "tied": lambda _v, x, y: tied(x, y),
    "stack": lambda v, x, y: stack(lambda: nn.Linear(x, y), v["n"]),
    "nested": lambda v, x, _y: stack(lambda: stack(lambda: nn.Linear(x, x), v["g"]), v["n"]),
    "widths": lambda v, x, y: nn.ModuleList(
        stack(lambda: nn.Linear(one, other), v["n"])  # noqa: B023 (made at once)
        for one, other in pairwise([x, y, 2 * x, v["b"]])
    ),
    "doubling": lambda _v, x, _y: doubling(x, 3),
    "levels": lambda v, x, _y: doubling(x, v["n"]),
    "half as deep": lambda v, x, y: stack(lambda: nn.Linear(x, y), v["n"] // 2),
    "every other": lambda v, x, y: nn.ModuleList(
        nn.Linear(x, y if number % 2 else x) for number in range(v["n"])
    ),
    "shortcut": lambda _v, x, y: nn.Identity() if x == y else nn.Linear(x, y),
}


def model(parts):
    def make(**values):
        made = (PARTS[kind](values, WIDTHS[x](values), WIDTHS[y](values)) for kind, x, y in parts)
        return Holder(made)

    return make


def points(forms):
    """Far from those that the forms were derived from."""
    dice = random.Random(11)
    pinned = {name for rule in forms[0].rules if rule.shown for name in rule.names}
    free = BASE.keys() - pinned - forms[0].fixed.keys()
    for turn in range(160):
        point = dict(BASE)
        for name in free:
            most = 14 if BASE[name] < 16 else BASE[name] * (6 if turn % 4 else 90)
            point[name] = dice.randint(1, dice.randint(1, most))
        yield point


PART = st.tuples(st.sampled_from(sorted(PARTS)), *[st.sampled_from(sorted(WIDTHS))] * 2)


@pytest.mark.thorough
@settings(max_examples=20, database=None, suppress_health_check=list(HealthCheck))
@given(st.lists(PART, min_size=1, max_size=3))
def test_a_form_is_right_everywhere_or_there_is_none(parts):
    forms = all_derived(model(parts), **BASE)
    if isinstance(forms[0], ClosedForm):
        assert held_against(model(parts), forms, points(forms), 12) >= 6


@pytest.mark.thorough
@pytest.mark.parametrize("kind", PARTS)
def test_every_part_alone_has_a_form(kind):
    make = model([(kind, "a", "b")])
    forms = all_derived(make, **BASE)
    assert isinstance(forms[0], ClosedForm), forms
    assert held_against(make, forms, points(forms), 12) >= 6
