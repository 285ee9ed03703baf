"""Unknowns that meet a budget, against trying everything."""

from __future__ import annotations

import time
from itertools import product

import pytest
from case_books import cases_beside
from hypothesis import given, settings
from hypothesis import strategies as st

from nparam_lint.analysis.closed_forms.arguments import rules_of, told_apart
from nparam_lint.analysis.closed_forms.form_writer import factored
from nparam_lint.analysis.closed_forms.requirements import Requirements
from nparam_lint.analysis.closed_forms.search import Aim, Searching, Unknown
from nparam_lint.ground.notation import FormulaError
from nparam_lint.ground.notation.expression import parse_formula

BOTH = frozenset(("n", "d"))


def count(n, d):
    return n * (12 * d**2 + 13 * d) + 100 * d


def asked(*conditions):
    rules = [rule for text in conditions for rule in rules_of(text)]
    return Requirements({}, ["n", "d"], {}, rules)


def search(count, requirements, unknowns, growing, budget, goal, number, **more):
    aim = Aim(budget, goal, number, **more)
    return searched(Searching(count, requirements, unknowns, growing, aim))


def searched(search):
    search.run()
    return search


def every(budget, holds, goal, high):
    """How far all solutions are off, the best first, by brute force."""
    points = [(n, d) for n, d in product(range(1, high + 1), repeat=2) if holds(n, d)]
    off = [count(*point) - budget for point in points]
    if goal != "closest":
        off = [one for one in off if (one <= 0 if goal == "under" else one == 0)]
    return sorted(map(abs, off))


@settings(max_examples=40)
@given(
    budget=st.integers(1, 200_000),
    goal=st.sampled_from(["closest", "under", "exact"]),
    step=st.sampled_from([1, 2, 3, 8]),
    divided=st.booleans(),
    growing=st.sampled_from([BOTH, frozenset("d"), frozenset("n"), frozenset()]),
    number=st.integers(1, 6),
)
def test_those_found_are_the_best_of_all(budget, goal, step, divided, growing, number):
    high = 40
    requirements = asked(f"d % {step} == 0", *(["d % n == 0"] if divided else []))
    unknowns = [Unknown("n", 1, high), Unknown("d", 1, high)]
    found = search(count, requirements, unknowns, growing, budget, goal, number)
    best = every(budget, lambda n, d: d % step == 0 and not (divided and d % n), goal, high)
    assert [abs(s.count - budget) for s in found.solutions] == best[:number]
    assert all(s.count == count(**s.point) for s in found.solutions)
    assert len({tuple(s.point.values()) for s in found.solutions}) == len(found.solutions)
    assert not found.is_cut


def test_what_cannot_be_nearer_is_not_looked_at():
    unknowns = [Unknown("n", 1, 5000), Unknown("d", 1, 5000)]
    found = search(count, asked(), unknowns, BOTH, 1_000_000, "closest", 3)
    assert count(1, found.combinations) < 1_010_000
    assert found.combinations < 300  # of 5,000


def test_combinations_that_a_condition_forbids_are_not_looked_at():
    unknowns = [Unknown("n", 1, 300), Unknown("d", 1, 5000)]
    found = search(count, asked("n % 60 == 0"), unknowns, BOTH, 100_000_000, "closest", 3)
    assert found.combinations == 5


def test_what_there_was_no_time_for_is_said():
    unknowns = [Unknown("n", 1, 10**9, base=6), Unknown("d", 1, 10**9, base=6)]
    until = time.monotonic() + 0.2
    growing = frozenset("d")
    found = search(
        lambda n, d: n * d, asked("n > 5"), unknowns, growing, 36, "closest", 3, until=until
    )
    assert found.is_cut
    assert time.monotonic() - until < 1
    assert dict(found.solutions[0].point) == {"n": 6, "d": 6}


def test_what_makes_no_difference_meets_the_conditions():
    unknowns, heads = [Unknown("n", 2, 2), Unknown("d", 1, 100)], Unknown("heads", 2, 5, base=4)
    requirements = Requirements({}, ["n", "d", "heads"], {}, rules_of("d % heads == 0"))
    aim = Aim(count(2, 49), "closest", 4)
    found = searched(Searching(count, requirements, unknowns, BOTH, aim, [heads]))
    assert [(one.point["d"], one.point["heads"]) for one in found.solutions] == [
        (48, 4),
        (50, 5),
        (51, 3),
        (46, 2),
    ]


# --- limits -----------------------------------------------------------------------------------


def test_one_without_limits_needs_none():
    unknowns = [Unknown("n", 1, 5, base=2), Unknown("d", base=8)]
    found = search(count, asked(), unknowns, BOTH, count(5, 3000), "exact", 1)
    assert found.limits == {}
    assert found.solutions[0].point == {"n": 5, "d": 3000}


def test_what_gives_less_is_looked_at_around_the_call():
    found = search(
        lambda n: 100_000 // n, asked(), [Unknown("n", base=8)], frozenset(), 9_000, "closest", 2
    )
    assert found.limits == {"n": (8, 32)}
    assert [s.count for s in found.solutions] == [9_090, 8_333]


def test_of_equally_good_ones_the_most_usual_comes_first():
    unknowns = [Unknown("n", 1, 64, base=8), Unknown("d", 1, 64, base=8)]
    found = search(lambda n, d: n * d, asked(), unknowns, BOTH, 64, "exact", 3)
    assert [dict(s.point) for s in found.solutions] == [
        {"n": 8, "d": 8},
        {"n": 4, "d": 16},
        {"n": 16, "d": 4},
    ]


# --- what was asked ---------------------------------------------------------------------------


@pytest.mark.parametrize(("book", "case"), cases_beside(__file__, "conditions"))
def test_what_was_asked_is_told_apart(book, case, request):
    names, text = case.asked.split(": ")
    given = {name: Unknown(name, base=8) for name in names.split()}
    found = told_apart(given, rules_of(text))
    said = [f"{name} = {factored(tie, [])}" for name, tie in found.ties.items()]
    for name, unknown in found.unknowns.items():
        ends = ("" if end is None else end for end in (unknown.low, unknown.high))
        said.append(f"{name}: {'..'.join(map(str, ends))}")
    said += [rule.text for rule in found.rules]
    book.check(case.number, "\n".join(said), update=request.config.getoption("update"))


@pytest.mark.parametrize(
    "text",
    [
        "d % n == 0",
        "d % (8*n) != 4",
        "(d % 8) + n == 9",
        "d // (n - 2) > 3",  # where n is 1, it divides by less than nothing
        "d // (n - 2) == 0",
        "d / (n - 2) > 3",
        "d / 4 > n",
        "2.5 <= d <= 30.0",
        "1 < n < d < 30",
        "d in (8, 16) or n == 4",
        "not d < 2**n",
        "min(d, 2*n) == ceil(d/3) and max(n, 2) != 4",
        "d == d",
        "d < d",
    ],
)
def test_a_condition_holds_where_its_formula_does(text):
    formula, requirements = parse_formula(text), asked(text)
    for n, d in product(range(1, 10), range(1, 40)):
        try:
            holds = bool(formula.evaluate({"n": n, "d": d}))
        except FormulaError:
            holds = False
        assert requirements.hold({"n": n, "d": d}) is holds
