"""Closed forms of constructors that are hard to follow, against brute force: where the rules of a
form hold, it is right."""

from __future__ import annotations

import inspect
import random
import re

import constructors
import pytest
from torch import nn
from torch_models import all_derived, count, holds, value

from nparam_lint.analysis.closed_forms.form_records import ClosedForm
from nparam_lint.analysis.closed_forms.form_writer import factored

CLASSES = {
    name: one
    for name, one in vars(constructors).items()
    if isinstance(one, type) and issubclass(one, nn.Module) and one is not nn.Module
}
LOOPS = set(
    "n fields depth L groups first every E num_layers levels stages last global_every".split()
)
WIDTHS = (1, 2, 3, 7, 8, 12, 16, 24, 32, 33, 48, 64, 96, 100, 128, 224, 256, 257, 300, 512, 1000)
TRIED = 120  # places at which each form is tried
# Shown at every commit; the others once a night.
QUICK = set(
    "MobileInt Geo Gcd Far AssertPow Lstm DepthTable PatchSet Bottleneck Ratio Kern "
    "Transitions".split()
)


def base_of(make) -> dict[str, object]:
    parameters = inspect.signature(make).parameters.values()
    return {p.name: p.default for p in parameters if type(p.default) in (int, float)}


def drawn(name: str, base: object, dice: random.Random) -> object:
    if isinstance(base, float):
        return dice.choice([0.25, 0.5, 1.0, 1.4, 2.667, 4.0, round(dice.uniform(0.05, 4), 2)])
    if name in LOOPS:
        return dice.randint(1, dice.choice([6, 13]))
    return dice.choice([dice.choice(WIDTHS), dice.randint(1, 64), dice.randint(1, 3000), base])


@pytest.mark.first_cases(5)
@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.thorough) for n in CLASSES]
)
def test_a_form_is_right_wherever_its_rules_hold(name):
    make = CLASSES[name]
    base = base_of(make)
    numbers = {int(n) for n in re.findall(r"\b\d{1,5}\b", inspect.getsource(make))}
    forms = all_derived(make, sorted(numbers - {0, 1}), **base)
    assert all(isinstance(form, ClosedForm) for form in forms), forms
    texts = [factored(form.total, list(base), "python") for form in forms]
    dice, tried, known = random.Random(7), 0, 0
    for _ in range(10 * TRIED):
        point = {n: drawn(n, b, dice) for n, b in base.items()}
        own = [text for form, text in zip(forms, texts, strict=True) if holds(form, point)]
        try:
            real = count(make, **point)
        except (ValueError, AssertionError, RuntimeError, LookupError, ZeroDivisionError):
            continue
        assert [value(text, point) for text in own] == [real] * len(own), point
        tried, known = tried + 1, known + bool(own)
        if tried == TRIED:
            break
    assert known >= 0.9 * tried or any("==" in str(r) for form in forms for r in form.rules)
