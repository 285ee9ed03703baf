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
from torch_models import all_derived, count, derived, holds, told

from nparam_lint.analysis.closed_forms.form_records import ClosedForm
from nparam_lint.analysis.closed_forms.form_writer import factored

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


def check(make, base, forms, least: int = 12) -> None:
    """The forms, and what is written of them, at arguments far from those of the base."""
    dice, tried = random.Random(11), 0
    order = list(base)
    pinned = {name for rule in forms[0].rules if rule.shown for name in rule.names}
    for turn in range(160):
        point = dict(base)
        for name, value in base.items():
            if name not in forms[0].fixed.keys() | pinned:
                high = 14 if value < 16 else (6 * value if turn % 4 else 90 * value)
                point[name] = dice.randint(1, dice.randint(1, high))
        own = [form for form in forms if holds(form, point)]
        try:
            real = count(make, **point)
        except (ValueError, AssertionError, RuntimeError):
            continue
        for form in own:
            assert told(form, order, point) == [real] * 4, (point, [*map(str, form.rules)])
        tried += bool(own)
        if tried == least:
            return
    assert tried >= least // 2


PART = st.tuples(st.sampled_from(sorted(PARTS)), *[st.sampled_from(sorted(WIDTHS))] * 2)


def check_any(parts) -> None:
    forms = all_derived(model(parts), **BASE)
    if isinstance(forms[0], ClosedForm):
        check(model(parts), BASE, forms)


def examples(number: int):
    return settings(max_examples=number, database=None, suppress_health_check=list(HealthCheck))


@pytest.mark.thorough
@examples(2)
@given(st.lists(PART, min_size=1, max_size=3))
def test_a_form_is_right_everywhere_or_there_is_none(parts):
    check_any(parts)


@pytest.mark.thorough
@examples(20)
@given(st.lists(PART, min_size=1, max_size=3))
def test_many_a_form_is_right_everywhere_or_there_is_none(parts):
    check_any(parts)


# Those that take long, and are like others.
AT_NIGHT = {
    *"attention encoder gru levels lstm nested projected shortcut tied widths".split(),
    "half as deep",
}


@pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=pytest.mark.thorough) if k in AT_NIGHT else k for k in PARTS]
)
def test_every_part_alone_has_a_form(kind):
    make = model([(kind, "a", "b")])
    forms = all_derived(make, **BASE)
    assert isinstance(forms[0], ClosedForm), forms
    check(make, BASE, forms)


@pytest.mark.parametrize("width", WIDTHS)
def test_every_width_alone_has_a_form(width):
    make = model([("linear", width, "b")])
    forms = all_derived(make, **BASE)
    assert isinstance(forms[0], ClosedForm), forms
    check(make, BASE, forms)


def divisible(value: float, divisor: int) -> int:
    return max(divisor, int(value + divisor / 2) // divisor * divisor)


def test_a_bound_that_only_unusual_arguments_come_near_is_found():
    def make(d, divisor):
        return nn.Linear(divisible(d, divisor), divisible(6 * d, divisor))

    forms = all_derived(make, d=32, divisor=8)
    check(make, {"d": 32, "divisor": 8}, forms)


def heads(dim, heads, dim_head):
    """One head as wide as the model needs no projection."""
    inner = heads * dim_head
    parts = [nn.Linear(dim, 3 * inner, bias=False)]
    if heads != 1 or dim != dim_head:
        parts.append(nn.Linear(inner, dim))
    return Holder(parts)


def test_both_sides_of_a_decision_have_a_form():
    base = {"dim": 64, "heads": 8, "dim_head": 32}
    forms = all_derived(heads, **base)
    assert [(factored(f.total, list(base)), [*map(str, f.rules)]) for f in forms] == [
        ("dim*(4*heads*dim_head + 1)", ["heads != 1 or dim != dim_head"]),
        ("3*dim*dim_head", ["dim == dim_head", "heads == 1"]),
    ]
    assert all(form.is_proved and not form.requirements for form in forms)
    check(heads, base, forms)


def hidden(dim, ratio, other):
    """What a feed-forward layer is often given: no width means the same width."""
    return Holder(nn.Linear(dim, int(dim * r) or dim) for r in (ratio, other))


def test_what_a_share_must_not_vanish_for_limits_the_form():
    base = {"dim": 64, "ratio": 0.5, "other": 4.0}
    forms = all_derived(hidden, **base)
    assert [str(rule) for rule in forms[0].limits] == [
        "floor(dim*ratio) != 0",
        "floor(dim*other) != 0",
    ]
    check(hidden, base, forms)


def test_a_whole_share_must_not_vanish_either():
    def halved(dim, layers):
        return stack(lambda: nn.Linear(7, dim // 4 or 9), layers)

    forms = all_derived(halved, dim=64, layers=2)
    texts = [(factored(f.total, ["dim", "layers"]), [*map(str, f.rules)]) for f in forms]
    assert texts == [("8*layers*(dim//4)", ["dim >= 4"]), ("72*layers", ["dim <= 3"])]
    check(halved, {"dim": 64, "layers": 2}, forms)


def test_what_zero_turns_off_limits_the_form():
    form = derived(nn.LSTM, input_size=64, hidden_size=128, num_layers=2, proj_size=16)
    assert [str(rule) for rule in form.limits] == ["proj_size > 0"]
    assert [str(rule) for rule in form.requirements] == ["hidden_size > proj_size"]
