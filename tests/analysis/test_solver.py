"""Arguments for a budget: of models that are built in this process, and on the page."""

from __future__ import annotations

import inspect
import json
import math
from itertools import product

import pytest
from case_books import cases_beside
from constructors import linears
from msgspec.structs import replace
from torch import nn
from torch_models import InProcess

from nparam_lint.analysis.closed_forms.arguments import rules_of
from nparam_lint.analysis.closed_forms.search import Unknown
from nparam_lint.analysis.documents.solve_document import solve_document
from nparam_lint.analysis.solutions import CaseForm, Met, Question, Solutions, Solved
from nparam_lint.analysis.solver import answers_of
from nparam_lint.analysis.varied import range_of
from nparam_lint.count.measured import Measured, VariableRow
from nparam_lint.ground.errors import UsageError
from nparam_lint.report import Options
from nparam_lint.report.formats import render


def gpt(n_layer=2, n_embd=32, n_head=4, vocab=100):
    assert n_embd % n_head == 0
    return linears((vocab, n_embd), *[(n_embd + 1, 3 * n_embd)] * n_layer)


def gpt_count(n_layer, n_embd):
    return 100 * n_embd + n_layer * (3 * n_embd**2 + 3 * n_embd)


def encoder(width=256, depth=4, hidden=1024, heads=4):
    assert width % heads == 0
    block = (width, 4 * width), (width, hidden), (hidden, width)
    return linears((1000, width), *block * depth)


def wide(d_model=16, d_ff=64, extra=None, spare=1):  # noqa: ARG001
    return nn.ModuleList([nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)])


def with_a_floor(d=64):
    return nn.ModuleList([nn.Embedding(1000, 5), nn.Linear(d, d)])


def shortcut(cin=64, cout=64):
    return linears((cin, cout), (cin, cout), *[(cin, 4 * cout)] * (cin != 4 * cout))


def common(a=24, b=36):
    assert math.gcd(a, b) == 12
    return nn.Linear(a, b)


def rounded(d=512, multiple=16, scale=1.3):
    return linears((d, multiple * math.ceil(int(scale * int(8 * d / 3)) / multiple)))


def in_a_text(n=16):
    return nn.Linear(int(str(n)), 3)


def last_digit(n=16, d=4):
    return linears((n * n + int(str(n)[-1]), 3), (d, 3 * (d + 1)))


def only_a_digit(n=16):
    return linears((n * n + int(str(n)[-1]), 3))


def strict(d_model=16, d_ff=64, n_layer=2, mode=2):
    if d_ff != 4 * d_model:
        raise ValueError("d_ff must be 4*d_model")
    if mode != 2:
        raise ValueError("mode must be 2")
    return nn.ModuleList(nn.Linear(d_model, d_ff) for _ in range(n_layer))


def solved(make, budget, vary, where="", goal="closest", number=5, *, is_free=False):
    """`vary`: names, or `name=1..24`."""
    unknowns = {}
    for name, _, limits in (text.partition("=") for text in vary.split()):
        values = range_of(limits, name)
        ends = () if values is None else (values.start, values.stop - 1, values.step)
        unknowns[name] = Unknown(name, *ends)
    rules = rules_of(where) if where else []
    question = Question([budget], unknowns, rules, goal, number, is_free)
    parameters = inspect.signature(make).parameters.values()
    rows = tuple(VariableRow(p.name, p.default) for p in parameters)
    first = Measured(f"{make.__name__}()", (), variables=rows)
    (answer,) = answers_of(question, f"nets.py::{make.__name__}", InProcess(make), first)
    return answer


def values_of(answer):
    return [point.values for point in answer.points]


@pytest.mark.parametrize(("book", "case"), cases_beside(__file__, "answers"))
def test_what_is_answered(book, case, request):
    asked, goal, *more = case.asked.split("; ")
    name, _, vary = asked.partition(": ")
    goal, _, budget = goal.removeprefix("closest to").rpartition(" ")
    where = "".join(text.removeprefix("where ") for text in more if text.startswith("where "))
    given = {"goal": {"": "closest", "exactly": "exact"}.get(goal, goal), "is_free": "free" in more}
    try:
        said = told(solved(globals()[name], int(budget), vary, where, **given))
    except UsageError as error:
        said = str(error)
    book.check(case.number, said, update=request.config.getoption("update"))


def told(answer):
    if answer.reason:
        return answer.reason
    lines = [f"{point.call}: {point.count:,}" for point in answer.points[:2]]
    lines += [f"form: {f.form}" + (f" where {f.where}" if f.where else "") for f in answer.forms]
    lines += [f"nearer: {answer.nearer.call}: {answer.nearer.count:,}"] if answer.nearer else []
    limits = (f"{name} {low}..{high}" for name, (low, high) in answer.limits.items())
    idle = (f"{name}={value}" for name, value in answer.idle.items())
    lines += [
        f"{head}: {text}"
        for head, text in (("limits", ", ".join(limits)), ("idle", ", ".join(idle)))
        if text
    ]
    return "\n".join([*lines, *(f"doubt: {doubt}" for doubt in answer.doubts)])


def test_several_unknowns_and_what_the_model_asks():
    answer = solved(gpt, 1_000_000, "n_embd n_layer=1..12")
    assert answer.forms == (CaseForm("n_embd*(3*n_layer*(n_embd + 1) + vocab)"),)
    every = product(range(1, 13), range(4, 2000, 4))
    best = min(abs(gpt_count(n, d) - 1_000_000) for n, d in every)
    assert abs(answer.points[0].count - 1_000_000) == best
    for point in answer.points:
        assert point.count == gpt_count(**point.values)
        assert point.values["n_embd"] % 4 == 0
        assert point.values["n_layer"] <= 12


def test_several_without_limits_keep_to_the_proportions_of_the_call():
    answer = solved(encoder, 5_000_000, "width depth hidden heads")
    assert answer.limits.keys() == {"width", "depth", "hidden", "heads"}
    for values in values_of(answer):
        assert values["width"] % values["heads"] == 0
        for name, (low, high) in answer.limits.items():
            assert low <= values[name] <= high
    free = solved(encoder, 5_000_000, "width hidden", is_free=True)
    assert free.limits == {}
    assert abs(free.points[0].count - 5_000_000) < 100


def test_exactly_the_budget():
    answer = solved(gpt, gpt_count(5, 64), "n_embd n_layer=1..12", goal="exact")
    assert {"n_embd": 64, "n_layer": 5} in values_of(answer)


def test_floats_of_the_call_are_followed():
    answer = solved(rounded, 123_456, "d=1..300 multiple=1..20")
    sizes = product(range(1, 301), range(1, 21))
    counts = [d * m * math.ceil(int(1.3 * int(8 * d / 3)) / m) for d, m in sizes]
    assert answer.points[0].count in counts
    best = min(abs(count - 123_456) for count in counts)
    assert abs(answer.points[0].count - 123_456) == best
    assert answer.doubts == ()


def test_conditions_may_have_functions_of_numbers():
    for values in values_of(solved(common, 5000, "a b")):
        assert math.gcd(*values.values()) == 12


# --- the page ---------------------------------------------------------------------------------


def found(target, budget, form, *rows, **more):
    points = [Met(values, count, f"{target}(…)") for values, count in rows]
    return Solved(f"nets.py::{target}", budget, "", form, tuple(points), **more)


DEEP = found(
    "Deep",
    100_000,
    (CaseForm("3*d*n"),),
    ({"d": 64, "n": 520}, 99_840),
    ({"d": 63, "n": 530}, 100_170),
)
WIDE = found(
    "Wide", 100_000, (), ({"d": 100, "n": 330}, 99_000), doubts=("why",), limits={"d": (50, 200)}
)
NONE = Solved("nets.py::None_", 100_000, reason="the model cannot be built")
LONG = found(
    "Long",
    100_000,
    (CaseForm("a*b"),),
    ({"a_long_name": 12, "another": 3, "a_third_name": 40}, 100_000),
)


def test_arguments_that_are_shared_are_columns_and_others_are_named_in_each_row(expected):
    page = Solutions("closest", (100_000,), (DEEP, WIDE, NONE))
    shared, wider = (
        render("text", solve_document(page), Options(width=width, verbose=1)) for width in (80, 120)
    )
    assert shared == wider
    more = replace(DEEP, budget=200_000, points=(), reason="why")
    long = replace(LONG, budget=200_000, points=(Met(LONG.points[0].values, 200_020, ""),))
    page = Solutions("under", (100_000, 200_000), (DEEP, LONG, more, long))
    shown = render("text", solve_document(page), Options(width=72))
    expected({"shared arguments": shared, "other arguments": shown})
    assert max(map(len, shown.splitlines())) <= 72


def test_a_document_has_every_target_for_every_budget():
    page = Solutions("closest", (100_000, 200_000), (DEEP, replace(DEEP, budget=200_000)))
    document = json.loads(render("json", solve_document(page), Options()))
    assert (document["budget"], document["budgets"]) == (None, [100_000, 200_000])
    assert [one["budget"] for one in document["targets"]] == [100_000, 200_000]
    assert document["targets"][0]["points"][0] == {
        "values": {"d": 64, "n": 520},
        "count": 99_840,
        "call": "Deep(…)",
    }
    one = Solutions("closest", (100_000,), (WIDE,))
    assert json.loads(render("json", solve_document(one), Options()))["budget"] == 100_000
