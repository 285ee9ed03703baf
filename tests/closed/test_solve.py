"""Unknowns that meet a budget, against trying everything."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nparam_lint.closed.solve import Unknown, search


def count(point):
    return point["n"] * (12 * point["d"] ** 2 + 13 * point["d"]) + 100 * point["d"]


def always(_):
    return True


def every(budget, allowed, goal, high):
    """All solutions in the order of their worth, by brute force."""
    points = [{"n": n, "d": d} for n, d in product(range(1, high + 1), repeat=2)]
    found = [(abs(count(p) - budget), count(p)) for p in points if allowed(p)]
    if goal == "under":
        found = [item for item in found if item[1] <= budget]
    if goal == "exact":
        found = [item for item in found if not item[0]]
    return sorted(found)


@settings(max_examples=60, deadline=None)
@given(
    budget=st.integers(130, 200_000),
    goal=st.sampled_from(["closest", "under", "exact"]),
    step=st.sampled_from([1, 2, 3, 8]),
)
def test_the_best_is_the_best_of_all(budget, goal, step):
    def allowed(point):
        return point["d"] % step == 0

    high = 60
    unknowns = [Unknown("n", 1, high), Unknown("d", 1, high)]
    try:
        found = search(count, allowed, unknowns, budget, goal, 3)
    except ValueError:
        assert not every(budget, always, goal, high)
        return
    best = every(budget, allowed, goal, high)
    assert bool(found.solutions) == bool(best)
    if best:
        first = found.solutions[0]
        assert abs(first.count - budget) == best[0][0]
        assert count(first.point) == first.count
        assert allowed(first.point)
    worths = [abs(s.count - budget) for s in found.solutions]
    assert worths == sorted(worths)


def test_an_exact_hit_is_found_among_many():
    goal = count({"n": 24, "d": 1024})
    found = search(count, always, [Unknown("n"), Unknown("d")], goal, "exact", 5)
    assert {"n": 24, "d": 1024} in [dict(s.point) for s in found.solutions]
    assert found.solved == "d" or found.solved == "n"


def test_a_budget_below_the_smallest_is_refused():
    with pytest.raises(ValueError, match="even the smallest has 125"):
        search(count, always, [Unknown("n"), Unknown("d")], 10, "under", 3)


def test_limits_are_kept():
    unknowns = [Unknown("n", 2, 4), Unknown("d", 8, 16)]
    found = search(count, always, unknowns, 10**9, "closest", 3)
    assert dict(found.solutions[0].point) == {"n": 4, "d": 16}
