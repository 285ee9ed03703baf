"""Closed forms of modules that are put together at random, against brute force far outside what
they were derived from: a form is right there, or there is none."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import constructors
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn
from torch_models import all_derived, held_against

from nparam_lint.analysis.closed_forms.form_records import ClosedForm

if TYPE_CHECKING:
    from collections.abc import Callable

BASE = {"a": 24, "b": 40, "n": 3, "g": 4}

# Widths that architectures are made of.
WIDTHS: dict[str, Callable[..., int]] = {
    "a": lambda a, **_: a,
    "b": lambda b, **_: b,
    "4a": lambda a, **_: 4 * a,
    "a + b": lambda a, b, **_: a + b,
    "g a": lambda a, g, **_: g * a,
    "max(8, a)": lambda a, **_: max(8, a),
    "min(a, b)": lambda a, b, **_: min(a, b),
    "a // 4, 1 at least": lambda a, **_: max(1, a // 4),
    "8/3 a to a multiple of 16": lambda a, **_: 16 * ((int(8 * a / 3) + 15) // 16),
    "a to a multiple of g": lambda a, g, **_: -(-a // g) * g,
}


def stack(x, y, n):
    return nn.ModuleList(nn.Linear(x, y) for _ in range(n))


def tied(x, y):
    module = nn.ModuleList([nn.Embedding(x, y), nn.Linear(y, x, bias=False)])
    module[1].weight = module[0].weight
    return module


# What is made, and of what: arguments, and two widths `x` and `y`.
PARTS: list[tuple[Callable[..., nn.Module], str]] = [
    (nn.Linear, "xy"),
    (lambda x, g: nn.Conv2d(x, x, 3, groups=g), "xg"),
    (lambda x, y, n: nn.LSTM(x, y, n, bidirectional=True), "xyn"),
    (lambda x, y, n: nn.LSTM(x, 2 * y + 2, n, proj_size=y), "xyn"),
    (lambda x, y, a: nn.MultiheadAttention(x, 1, kdim=y, vdim=a), "xya"),
    (lambda x, y, n: stack(x, y, n // 2), "xyn"),
    (lambda x, y, n: nn.ModuleList(stack(x, x, y) for _ in range(n)), "xgn"),
    (lambda x, y: nn.Identity() if x == y else nn.Linear(x, y), "xy"),
    (constructors.encoder_layer, "xgy"),
    (tied, "xy"),
    (constructors.perceptron, "axyn"),
    (constructors.some_global, "xngy"),
    (constructors.doubling_and_out, "xn"),
]


def model(parts):
    def make(**values):
        module = nn.ModuleList()
        for number, *widths in parts:
            part, letters = PARTS[number]
            x, y = (WIDTHS[width](**values) for width in widths)
            module.append(part(*({**values, "x": x, "y": y}[letter] for letter in letters)))
        return module

    return make


def points(forms):
    """Far from those that the forms were derived from."""
    dice = random.Random(11)
    pinned = {name for rule in forms[0].rules if rule.shown for name in rule.names}
    free = [name for name in BASE if name not in pinned | forms[0].fixed.keys()]
    for turn in range(160):
        point = dict(BASE)
        for name in free:
            most = 14 if BASE[name] < 16 else BASE[name] * (6 if turn % 4 else 90)
            point[name] = dice.randint(1, dice.randint(1, most))
        yield point


PART = st.tuples(st.sampled_from(range(len(PARTS))), *[st.sampled_from(sorted(WIDTHS))] * 2)


@pytest.mark.thorough
@settings(max_examples=20, database=None, suppress_health_check=list(HealthCheck))
@given(st.lists(PART, min_size=1, max_size=3))
def test_a_form_is_right_everywhere_or_there_is_none(parts):
    forms = all_derived(model(parts), **BASE)
    if isinstance(forms[0], ClosedForm):
        assert held_against(model(parts), forms, points(forms), 12) >= 6


@pytest.mark.thorough
@pytest.mark.parametrize("number", range(len(PARTS)))
def test_every_part_alone_has_a_form(number):
    make = model([(number, "a", "b")])
    forms = all_derived(make, **BASE)
    assert isinstance(forms[0], ClosedForm), forms
    assert held_against(make, forms, points(forms), 12) >= 6
