"""Arguments for a budget: of models that are built in this process, and on the page."""

from __future__ import annotations

import inspect
import json
import math
from itertools import product

import pytest
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


def test_one_condition_says_all():
    """A tie, limits, and what must hold besides."""
    where = "d_ff == 4*d_model and 100 <= d_model <= 1024 and d_model % 8 == 0"
    answer = solved(wide, 100_000, "d_model d_ff", where, number=2)
    assert values_of(answer) == [{"d_model": 112, "d_ff": 448}, {"d_model": 104, "d_ff": 416}]
    assert (answer.limits, answer.doubts) == ({}, ())


@pytest.mark.parametrize(
    ("tie", "d_ff"),
    [
        ("d_ff == trunc(8*d_model/3)", 298),
        ("abs(4*d_model) == d_ff", 448),
        ("d_ff == (4*d_model if d_model > 100 else d_model)", 448),
    ],
)
def test_what_is_no_polynomial_ties_too(tie, d_ff):
    answer = solved(wide, 2 * 112 * d_ff + 112 + d_ff, "d_model", tie)
    assert values_of(answer)[0] == {"d_model": 112, "d_ff": d_ff}


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


def test_what_only_the_defaults_forbid_is_said():
    question = gpt, gpt_count(5, 4), "n_embd n_layer"
    assert solved(*question, goal="exact").reason == (
        f"no arguments within the defaults give 700; the nearest give {gpt_count(2, 4)} (-180): "
        "gpt(n_embd=4); with --free: gpt(n_layer=5, n_embd=4) has 700"
    )
    nearer = Met({"n_embd": 4, "n_layer": 5}, 700, "gpt(n_layer=5, n_embd=4)")
    assert solved(*question, number=1).nearer == nearer
    assert solved(*question, goal="exact", is_free=True).points[0] == nearer


@pytest.mark.parametrize(
    ("make", "budget", "more", "reason"),
    [
        (
            with_a_floor,
            10,
            {},
            "no arguments come within 5 % of 10; 5,000 do not depend on d",
        ),
        (
            with_a_floor,
            10,
            {"goal": "exact"},
            "no arguments give 10; the nearest give 5,002 (+4,992): with_a_floor(d=1); 5,000 do "
            "not depend on d",
        ),
        (
            with_a_floor,
            10,
            {"goal": "under"},
            "no arguments give 10 or less; the nearest give 5,002 (+4,992): with_a_floor(d=1); "
            "5,000 do not depend on d",
        ),
        (
            with_a_floor,
            1_000_000,
            {"where": "d < 9"},
            "no arguments come within 5 % of 1,000,000",
        ),
        (
            gpt,
            50,
            {"goal": "under", "vary": "n_embd"},
            "no arguments give 50 or less; the nearest give 520 (+470): gpt(n_embd=4)",
        ),
        (
            gpt,
            gpt_count(5, 64) + 1,
            {"goal": "exact", "vary": "n_embd n_layer=1..12"},
            "no arguments give 68,801; the nearest give 68,800 (-1): gpt(n_layer=5, n_embd=64)",
        ),
        (
            gpt,
            1_000_000,
            {"vary": "n_embd=5..7 n_layer=1..3"},
            "nothing meets n_embd % n_head == 0 with n_embd 5..7, n_layer 1..3; next: other "
            "limits, as in --vary n_embd=1..4096",
        ),
    ],
)
def test_a_budget_that_cannot_be_met(make, budget, more, reason):
    assert solved(make, budget, **{"vary": "d"} | more).reason == reason


def test_exactly_the_budget():
    answer = solved(gpt, gpt_count(5, 64), "n_embd n_layer=1..12", goal="exact")
    assert {"n_embd": 64, "n_layer": 5} in values_of(answer)


def test_all_cases_of_a_form_are_searched():
    answer = solved(shortcut, 256 * 64 * 2, "cin", goal="exact")
    assert values_of(answer) == [{"cin": 256}]
    assert answer.forms == (
        CaseForm("6*cin*cout", "cin != 4*cout"),
        CaseForm("2*cin*cout", "cin == 4*cout"),
    )


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


def test_what_the_model_ties_follows():
    points = values_of(solved(strict, 100_000, "d_model n_layer=1..4"))
    assert [*points[0]] == ["d_model", "n_layer", "d_ff"]
    assert all(values["d_ff"] == 4 * values["d_model"] for values in points)


def test_what_makes_no_difference_is_left_alone():
    answer = solved(wide, 5000, "d_ff spare", number=1)
    assert (values_of(answer), answer.idle) == ([{"d_ff": 151}], {"spare": 1})


def test_what_is_not_known_for_certain_is_a_doubt():
    unproved = "the closed form is verified, not proved: others may be nearer"
    assert solved(in_a_text, 10_000, "n").doubts == (unproved,)
    answer = solved(last_digit, 10_000, "d")
    assert values_of(answer)[0] == {"d": 55}
    left_out = "some paths of the constructor have no closed form: others may be nearer there"
    assert answer.doubts == (left_out,)


def only_a_digit(n=16):
    return linears((n * n + int(str(n)[-1]), 3))


@pytest.mark.parametrize(
    ("make", "vary", "why"),
    [
        (only_a_digit, "n", "no closed form found; n could not be followed: a loop or an index"),
        (last_digit, "n d", "a closed form was only found for n=16 (its value)"),
    ],
)
def test_without_a_closed_form_there_is_no_answer(make, vary, why):
    answer = solved(make, 10_000, vary)
    values = ",".join(f"{name}=…" for name in vary.split())
    step = f"next: count candidates: nparam-lint sweep nets.py::{make.__name__} --vary {values}"
    assert (answer.points, answer.reason) == ((), f"{why}; {step}")


@pytest.mark.parametrize(
    ("make", "vary", "where", "message"),
    [
        (gpt, "n_head", "", "n_head makes no difference to the count of gpt()"),
        (strict, "mode", "", "mode cannot be varied in strict(): ValueError: mode must be 2"),
        (
            gpt,
            "depth",
            "",
            "nets.py::gpt has no argument depth; whole numbers that it has: n_layer, n_embd",
        ),
        (wide, "extra", "", "extra is None in wide(), expected a whole number; give it one"),
        (gpt, "n_embd", "vocab == 4*nembd", "whole number 'nembd'; did you mean n_embd?"),
        (gpt, "n_embd", "n_embd % x == 0", "whole number 'x'; it has n_layer, n_embd"),
    ],
)
def test_what_cannot_be_asked_of_a_model(make, vary, where, message):
    with pytest.raises(UsageError) as error:
        solved(make, 1_000_000, vary, where)
    assert message in str(error.value)


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

SHARED = """\
closest to 100,000 parameters

model      d    n    parameters     off
───────  ───  ───  ────────────  ──────  ───────
Deep      64  520        99,840    -160  -0.16 %
          63  530       100,170    +170  +0.17 %
Wide     100  330        99,000  -1,000  -1.00 %
None_                         –

– None_: the model cannot be built

nets.py::Deep
  3*d*n
  best: Deep(…)
        Deep(…)

nets.py::Wide
  best: Wide(…)

nets.py::None_

Deep: each was built; no others are nearer
Wide: each was built; why

defaults (--free lifts them):
  Wide: d=50..200: half to twice the call's proportions
"""


@pytest.mark.parametrize("width", [80, 120])
def test_shared_arguments_are_columns(width):
    page = Solutions("closest", (100_000,), (DEEP, WIDE, NONE))
    assert render("text", solve_document(page), Options(width=width, verbose=1)) == SHARED


NARROW = """\
no more than 100,000 and 200,000 parameters

model    arguments                   parameters    off
───────  ────────────────────────  ────────────  ─────  ───────
100,000
  Deep   d=64 n=520                      99,840   -160  -0.16 %
         d=63 n=530                     100,170   +170  +0.17 %
  Long   a_long_name=12 another=3       100,000  exact
         a_third_name=40
200,000
  Deep                                        –
  Long   a_long_name=12 another=3       200,020    +20  +0.01 %
         a_third_name=40

– Deep at 200,000: why

each was built; no others are nearer
"""


def test_other_arguments_are_named_in_each_row():
    more = replace(DEEP, budget=200_000, points=(), reason="why")
    long = replace(LONG, budget=200_000, points=(Met(LONG.points[0].values, 200_020, ""),))
    page = Solutions("under", (100_000, 200_000), (DEEP, LONG, more, long))
    shown = render("text", solve_document(page), Options(width=72))
    assert shown == NARROW
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
