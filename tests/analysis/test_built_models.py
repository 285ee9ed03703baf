"""What can be varied of models that the worker builds, and forms of all that is counted of them,
held against their counts."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
from case_books import Book
from msgspec.structs import replace
from sample_files import write_files
from torch_models import holds

from nparam_lint.analysis.closed_forms.derive import derive
from nparam_lint.analysis.closed_forms.form_records import ClosedForm
from nparam_lint.analysis.closed_forms.form_writer import factored
from nparam_lint.analysis.closed_forms.observations import exactly, variable_of
from nparam_lint.analysis.model_builder import Model
from nparam_lint.config.session import open_session
from nparam_lint.count.measured import Measured
from nparam_lint.gate.building import count_models
from nparam_lint.gate.judge import selected
from nparam_lint.ground.notation import parse_selected
from nparam_lint.ground.orders import Ask

BOOK = Book(Path(__file__).with_name("built_models.txt"))
VARIED = {case.name: case for case in BOOK.cases if case.options}
FORMS = {case.name: case for case in BOOK.cases if not case.options}
LARGEST = {"n_layer": 5, "groups": 7, "experts": 7, "top_k": 6, "k": 6, "inner": 4, "depth": 9}
TRIED = 40  # places at which each form is tried
MOVING = {  # target and selector -> the module's place at other depths
    "Stack[layers.4]": lambda depth: f"layers.{depth + 1}",
    "Stack[blocks.3, active]": lambda depth: f"blocks.{depth}",
}
# Shown at every commit; the others once a night.
QUICK = ("Words[bytes]", "Words[frozen]", "Stacked[active]", "Stack[blocks.3, active]")


@pytest.fixture(scope="module")
def session(tmp_path_factory, environ):
    top = write_files(tmp_path_factory.mktemp("metrics"), BOOK.files)
    return open_session(top, environ, options={"python": sys.executable, "device": "meta"})


@pytest.fixture
def check(request):
    """Whether the book says so of a case."""
    update = request.config.getoption("update")
    return lambda case, said: BOOK.check(case.number, said, update=update)


def model_of(session, given):
    return Model(session, *parse_selected(given))


@pytest.mark.parametrize("case", VARIED.values(), ids=VARIED)
def test_what_can_be_varied_and_is(session, case, check):
    model = model_of(session, case.target)
    rows = model.first().variables
    arguments = [f"{row.name}={row.value}" for row in rows if type(row.value) is int]
    (built,) = model.build([case.options])
    check(case, f"{', '.join(arguments)}; {built.total}")


def test_modules_that_a_selector_matches_have_one_count(session):
    model = model_of(session, "nets.py::Rows[rows.*]")
    assert model.why_unknown(model.first()) == "its modules have different counts"
    model = model_of(session, "nets.py::Rows(8)[rows.*]")
    assert model.why_unknown(model.first()) is None
    same, other = model.build([{"n": 1, "first": 2}, {"first": 2}])
    assert same.total == 3 * 8
    assert other.reason == "its modules have different counts"


def drawn(base, dice):
    return {
        name: dice.randint(1, LARGEST[name]) if name in LARGEST else dice.randint(1, 99)
        for name in base
    }


@pytest.mark.first_cases(2)
@pytest.mark.parametrize(
    "given", [g if g in QUICK else pytest.param(g, marks=pytest.mark.thorough) for g in FORMS]
)
def test_the_form_of_a_metric_is_its_count(session, given, check):
    model = model_of(session, FORMS[given].target)
    forms = derive(model.history([*map(variable_of, model.first().variables)]), model)
    assert all(isinstance(form, ClosedForm) for form in forms), forms
    base = forms[0].base
    check(FORMS[given], factored(forms[0].total, list(base)))
    dice, known = random.Random(7), 0
    points = [drawn(base, dice) for _ in range(TRIED)]
    candidates = [model.candidate.with_build(vary=tuple(point.items())) for point in points]
    ask = Ask(parameters=True)
    counted = count_models([(candidate, ask) for candidate in candidates], model.source)
    for number, point in enumerate(points):
        measured = counted.measurements[number]
        assert isinstance(measured, Measured)
        place = MOVING[given](point["depth"]) if given in MOVING else model.selector.module
        rows = selected(replace(model.selector, module=place), measured.modules)
        counts = {row.of(model.selector.metric) for row in rows}
        own = [form.total.value(exactly(point)) for form in forms if holds(form, point)]
        assert own in ([], [*counts]), point
        known += bool(own) or None in counts
    assert known >= 0.9 * TRIED
