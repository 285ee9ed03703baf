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
from torch_models import count, derived, told

from nparam_lint.analysis.closed_forms.constraints import repaired
from nparam_lint.analysis.closed_forms.form_writer import factored
from nparam_lint.analysis.closed_forms.observations import exactly
from nparam_lint.analysis.closed_forms.parameter_forms import ClosedForm, NoForm

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


def check(make, base, form, least: int = 25) -> None:
    """The form, and what is written of it, at arguments far from those of the base."""
    dice, tried = random.Random(11), 0
    order = list(base)
    for turn in range(160):
        point = dict(base)
        for name, value in base.items():
            if name not in form.fixed:
                high = 14 if value < 16 else (6 * value if turn % 4 else 90 * value)
                point[name] = dice.randint(1, dice.randint(1, high))
        allowed = repaired(exactly(point), form.rules)
        if allowed is None:
            continue
        point = {name: int(value) for name, value in allowed.items()}
        try:
            real = count(make, **point)
        except (ValueError, AssertionError, RuntimeError):
            continue
        tried += 1
        assert told(form, order, point) == [real] * 4, point
        if tried == least:
            return
    assert tried >= least // 2


PART = st.tuples(st.sampled_from(sorted(PARTS)), *[st.sampled_from(sorted(WIDTHS))] * 2)


def check_any(parts) -> None:
    form = derived(model(parts), **BASE)
    if isinstance(form, ClosedForm):
        check(model(parts), BASE, form)
    else:
        assert form.wrong is not None


def examples(number: int):
    return settings(max_examples=number, database=None, suppress_health_check=list(HealthCheck))


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
AT_NIGHT = set("attention encoder levels nested projected shortcut tied".split()) | {"half as deep"}


@pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=pytest.mark.thorough) if k in AT_NIGHT else k for k in PARTS]
)
def test_every_part_alone_has_a_form(kind):
    make = model([(kind, "a", "b")])
    form = derived(make, **BASE)
    assert isinstance(form, ClosedForm), form
    check(make, BASE, form)


@pytest.mark.parametrize("width", WIDTHS)
def test_every_width_alone_has_a_form(width):
    make = model([("linear", width, "b")])
    form = derived(make, **BASE)
    assert isinstance(form, ClosedForm), form
    check(make, BASE, form)


def divisible(value: float, divisor: int) -> int:
    return max(divisor, int(value + divisor / 2) // divisor * divisor)


def test_a_bound_that_only_unusual_arguments_come_near_is_found():
    def make(d, divisor):
        return nn.Linear(divisible(d, divisor), divisible(6 * d, divisor))

    form = derived(make, d=32, divisor=8)
    assert isinstance(form, ClosedForm)
    check(make, {"d": 32, "divisor": 8}, form)


def heads(dim, heads, dim_head):
    """One head as wide as the model needs no projection."""
    inner = heads * dim_head
    parts = [nn.Linear(dim, 3 * inner, bias=False)]
    if heads != 1 or dim_head != dim:
        parts.append(nn.Linear(inner, dim))
    return Holder(parts)


@pytest.mark.thorough
def test_where_only_the_smallest_value_differs_the_form_says_so():
    base = {"dim": 64, "heads": 8, "dim_head": 32}
    form = derived(heads, **base)
    assert isinstance(form, ClosedForm)
    assert factored(form.total, list(base)) == "dim*(4*heads*dim_head + 1)"
    assert [str(rule) for rule in form.limits] == ["heads >= 2"]
    assert form.requirements == []
    check(heads, base, form)


def hidden(dim, ratio, other):
    """What a feed-forward layer is often given: no width means the same width."""
    return Holder(nn.Linear(dim, int(dim * r) or dim) for r in (ratio, other))


def test_what_a_share_must_not_vanish_for_limits_the_form():
    base = {"dim": 64, "ratio": 0.5, "other": 4.0}
    form = derived(hidden, **base)
    assert isinstance(form, ClosedForm)
    assert [str(rule) for rule in form.limits] == ["dim*other >= 1", "dim*ratio >= 1"]
    assert form.requirements == []
    check(hidden, base, form)


def test_a_whole_share_must_not_vanish_either():
    def halved(dim, layers):
        return stack(lambda: nn.Linear(7, dim // 4 or 9), layers)

    form = derived(halved, dim=64, layers=2)
    assert isinstance(form, ClosedForm)
    assert factored(form.total, ["dim", "layers"]) == "8*layers*(dim//4)"
    assert [str(rule) for rule in form.limits] == ["dim >= 4"]
    check(halved, {"dim": 64, "layers": 2}, form)


def test_what_zero_turns_off_limits_the_form():
    form = derived(nn.LSTM, input_size=64, hidden_size=128, num_layers=2, proj_size=16)
    assert isinstance(form, ClosedForm)
    assert [str(rule) for rule in form.limits] == ["proj_size > 0"]


NOT_CLOSED = {
    "powers": (lambda n: nn.Linear(3**n, 3), {"n": 4}),
    "roots": (lambda d: nn.Linear(int(d**0.5), 3), {"d": 48}),
    "digits": (lambda d: nn.Linear(d.bit_length(), 3), {"d": 48}),
    "stages that treble": (trebling, {"width": 8, "stages": 3}),
}


@pytest.mark.parametrize(
    "name",
    [
        n if n in ("powers", "roots") else pytest.param(n, marks=pytest.mark.thorough)
        for n in NOT_CLOSED
    ],
)
def test_what_is_no_polynomial_has_no_form(name):
    make, base = NOT_CLOSED[name]
    form = derived(make, **base)
    assert isinstance(form, NoForm)
    assert form.wrong is not None
