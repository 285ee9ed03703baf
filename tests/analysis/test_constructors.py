"""Closed forms of constructors that are hard to follow, against brute force: what is derived is
what their book says, and right wherever its rules hold."""

from __future__ import annotations

import inspect
import random
import re
from functools import cache

import constructors
import pytest
from torch_models import all_derived, held_against

from nparam_lint.analysis.closed_forms.form_records import ClosedForm
from nparam_lint.analysis.closed_forms.form_writer import expanded, factored

BOOK = constructors.BOOK
NUMBERS = {case.name: case.number for case in BOOK.cases}
MAKERS = {name: getattr(constructors, name) for name in NUMBERS}
LITERALS = 4096, 5120, 20, 4  # also of tables
LOOPS = set("n groups fields depth layers first every E num_layers levels stages last".split())
SIZES = (1, 2, 3, 7, 8, 12, 16, 24, 32, 33, 48, 64, 96, 100, 128, 224, 256, 257, 300, 512, 1000)
ENDING = (8, 9, 16, 32, 64, 65, 79, 128)  # of `halving_to_an_end`
# Those that take long, and are like others.
LONG = set(
    "some_from_the_first largest_group in_a_range halving padded encoder_layer lstm_both_ways "
    "every_other dense_net tied_by_chance ends_and_middle".split()
)


def base_of(make):
    return {name: p.default for name, p in inspect.signature(make).parameters.items()}


@cache
def forms_of(name):
    text = BOOK.files["constructors.py"]
    source = re.search(rf"^(?:def|class) {name}\b.*(?:\n .*|\n(?=\n ))*", text, re.MULTILINE)[0]
    numbers = {int(n) for n in re.findall(r"\b\d{1,5}\b", source)} - {0, 1}
    make = MAKERS[name]
    return all_derived(make, [*sorted(numbers), *LITERALS], **base_of(make))


def described(forms):
    for form in forms:
        if not isinstance(form, ClosedForm):
            yield "; ".join([f"– {form.reason}", *(f"{n}: {why}" for n, why in form.lost.items())])
            continue
        text = factored(form.total, [*form.base])
        for word, rules in (("where", form.limits), ("needs", form.requirements)):
            if rules:
                text += f" {word} {', '.join(rule.shown or rule.text for rule in rules)}"
        yield text
    first = forms[0]
    if isinstance(first, ClosedForm):
        if first.idle:
            yield f"no effect: {', '.join(first.idle)}"
        yield from (f"fixed: {name}: {why}" for name, why in first.fixed.items())
        yield from (f"not proved: {why}" for why in first.unproved)


MARKED = [n if n not in LONG else pytest.param(n, marks=pytest.mark.thorough) for n in MAKERS]


@pytest.mark.parametrize("name", MARKED)
def test_what_is_derived(name, request):
    said = "\n".join(described(forms_of(name)))
    BOOK.check(NUMBERS[name], said, update=request.config.getoption("update"))


# constructor -> of its parameters: how many there are, and the shape, or the size of all of them
SHAPES = {
    "lstm": {
        "weight_ih_l0": ("1", "4*hidden_size, input_size"),
        "weight_ih_l*": ("num_layers - 1", "4*hidden_size, hidden_size"),
        "weight_hh_l*": ("num_layers", "4*hidden_size, hidden_size"),
        "bias_ih_l*": ("num_layers", "4*hidden_size"),
        "bias_hh_l*": ("num_layers", "4*hidden_size"),
    },
    "perceptron": {  # first, last and middle are told apart
        "0.weight": ("1", "hidden, inputs"),
        "*.weight": ("layers - 1", "hidden, hidden"),
        "-1.weight": ("1", "outputs, hidden"),
        "*.bias": ("layers", "hidden"),
        "-1.bias": ("1", "outputs"),
    },
    "wider_each_layer": {  # sizes without one shape still have a form
        "*.weight": (
            "n",
            "growth*n**2*floor(ratio*d)/2 + d*n*floor(ratio*d) - growth*n*floor(ratio*d)/2",
        ),
        "*.bias": ("n", "floor(ratio*d)"),
    },
}


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_has_a_form(name):
    form = forms_of(name)[0]
    order = [*form.base]
    assert form.verified >= 8
    assert {
        shape.name: (
            factored(shape.number, order),
            expanded(shape.size, order)
            if shape.shape is None
            else ", ".join(expanded(length, order) for length in shape.shape),
        )
        for shape in form.shapes
    } == SHAPES[name]


def drawn(name, base, dice):
    if isinstance(base, float):
        return dice.choice([0.25, 0.5, 1.0, 1.4, 2.667, 4.0, round(dice.uniform(0.05, 4), 2)])
    if name in LOOPS:
        return dice.randint(1, dice.choice([6, 13]))
    return dice.choice([dice.choice(SIZES), dice.randint(1, 64), dice.randint(1, 3000), base])


def points(name, forms, number):
    """Half of them with what the equations of a form say."""
    base, dice = base_of(MAKERS[name]), random.Random(7)
    for _ in range(number):
        point = {n: drawn(n, value, dice) for n, value in base.items()}
        if name == "halving_to_an_end":
            point["size"] = dice.choice(ENDING)
        rules = dice.choice(forms).rules if dice.random() < 0.5 else ()
        for rule in rules * 2:  # what one of them says, another one may change
            equations = [*rule.solutions.items()]
            if rule.shown:  # one keeps its value
                point.update((n, base[n]) for n in rule.names)
            elif equations:
                argument, form = dice.choice(equations)
                try:
                    value = form.value(point)
                except ArithmeticError:
                    continue
                if value == int(value) > 0:
                    point[argument] = int(value)
        yield point


def check(name, tries):
    forms = [form for form in forms_of(name) if isinstance(form, ClosedForm)]
    if forms:
        known = held_against(MAKERS[name], forms, points(name, forms, 20 * tries), tries)
        assert known >= tries // 4


@pytest.mark.parametrize("name", MARKED)
def test_a_form_is_right_wherever_its_rules_hold(name):
    check(name, 16)


@pytest.mark.thorough
@pytest.mark.parametrize("name", MAKERS)
def test_a_form_is_right_at_many_places(name):
    check(name, 100)
