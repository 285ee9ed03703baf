"""Whole numbers for some arguments with which a count meets a budget, the best first."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count as count_up
from itertools import product
from typing import Literal

Goal = Literal["closest", "under", "exact"]
Whole = Mapping[str, int]

MOST = 1 << 24  # the largest value that is tried for an unknown
BEYOND = 4  # times the budget: what is larger is not looked at
LEAST = 128  # values of an unknown that are looked at even so: the smaller may not be allowed
NEAR = 4096  # steps from the ideal value to one that is allowed
COMBINATIONS = 200_000  # of the other unknowns
BUILT = 64  # the same, where every count takes a build
FEW = 8  # values of an unknown without a limit, where every count takes a build
WIDEST = 1 << 14  # the largest value that is built


@dataclass(frozen=True, slots=True)
class Unknown:
    """`high`: None where the budget sets the limit."""

    name: str
    low: int = 1
    high: int | None = None


@dataclass(frozen=True, slots=True)
class Solution:
    """`point`: the unknowns; `count`: what they give."""

    point: Mapping[str, int]
    count: int


@dataclass(frozen=True, slots=True)
class Search:
    """What was found. `combinations`: of all unknowns but the one that is solved for, all of which
    were looked at; `solved`: that one; `cut`: whether there were more than could be looked at."""

    solutions: tuple[Solution, ...]
    combinations: int
    solved: str
    cut: bool = False


def search(
    count: Callable[[Whole], int],
    allowed: Callable[[Whole], bool],
    unknowns: Sequence[Unknown],
    budget: int,
    goal: Goal,
    number: int,
) -> Search:
    """The best `number` of solutions. For all values of the other unknowns, the one that ranges
    widest is found by bisection: more of it must not give less. Raises ValueError where even the
    smallest values exceed the budget."""
    least = {unknown.name: unknown.low for unknown in unknowns}
    if goal != "closest" and count(least) > budget:
        raise ValueError(f"even the smallest has {count(least):,}")
    ranges = {u.name: range(u.low, _highest(count, u, least, budget) + 1) for u in unknowns}
    solved = max(ranges, key=lambda name: (len(ranges[name]), name))
    others = {name: values for name, values in ranges.items() if name != solved}
    best: list[tuple[int, int, Solution]] = []
    seen, turn = 0, count_up()
    for seen, values in enumerate(product(*others.values()), 1):
        if seen > COMBINATIONS:
            break
        fixed = dict(zip(others, values, strict=True))
        for point in _near(count, allowed, fixed, solved, ranges[solved], budget, goal):
            found = Solution(point, count(point))
            worth = -abs(found.count - budget)
            if goal != "exact" or not worth:
                # Of equally good ones the first stays: that with the smaller numbers.
                item = (worth, -next(turn), found)
                (heapq.heappush if len(best) < number else heapq.heappushpop)(best, item)
    best.sort(key=lambda item: item[:2], reverse=True)
    return Search(tuple(s for *_, s in best), seen, solved, seen > COMBINATIONS)


def _highest(count: Callable[[Whole], int], unknown: Unknown, least: Whole, budget: int) -> int:
    """The largest value that is of use, all others being at their least."""
    high = MOST if unknown.high is None else unknown.high
    last = _last(count, least, unknown.name, unknown.low, high, BEYOND * budget)
    return min(high, max(last, unknown.low + LEAST))


def _last(
    count: Callable[[Whole], int], fixed: Whole, name: str, low: int, high: int, most: int
) -> int:
    """The largest value between `low` and `high` that gives no more than `most`; `low` - 1 where
    none does."""
    step = 1
    while low + step <= high and count({**fixed, name: low + step}) <= most:
        step *= 2
    bottom, top = low - 1, min(low + step, high + 1)
    while top - bottom > 1:
        middle = (bottom + top) // 2
        if count({**fixed, name: middle}) <= most:
            bottom = middle
        else:
            top = middle
    return bottom


def _near(
    count: Callable[[Whole], int],
    allowed: Callable[[Whole], bool],
    fixed: Whole,
    name: str,
    values: range,
    budget: int,
    goal: Goal,
) -> Iterator[dict[str, int]]:
    """The nearest values that are allowed, below the budget and above it."""
    ideal = _last(count, fixed, name, values.start, values.stop - 1, budget)
    sides = [range(ideal, max(values.start, ideal - NEAR) - 1, -1)]
    if goal == "closest":
        sides.append(range(ideal + 1, min(values.stop, ideal + NEAR)))
    for side in sides:
        for value in side:
            point = {**fixed, name: value}
            if allowed(point):
                yield point
                break


def search_built(
    count_all: Callable[[Sequence[Whole]], Sequence[int | None]],
    allowed: Callable[[Whole], bool],
    unknowns: Sequence[Unknown],
    budget: int,
    goal: Goal,
    number: int,
) -> Search:
    """The best of what was built, where there is no closed form: the unknown that ranges widest in
    steps of a quarter, then every value between those that enclose the budget. None for a count
    means that the model refuses the arguments."""
    widths = {u.name: u.high - u.low if u.high is not None else MOST for u in unknowns}
    solved = max(widths, key=lambda name: widths[name])
    ranges = {
        u.name: range(u.low, (u.low + FEW if u.high is None else u.high) + 1)
        for u in unknowns
        if u.name != solved
    }
    every = list(product(*ranges.values()))
    fixed = [dict(zip(ranges, values, strict=True)) for values in every[:BUILT]]
    (own,) = (u for u in unknowns if u.name == solved)
    counts: dict[tuple[int, int], int] = {}

    def look(values: Sequence[tuple[int, int]]) -> None:
        points = [{**fixed[place], solved: value} for place, value in values]
        there = [i for i, point in enumerate(points) if allowed(point)]
        for i, count in zip(there, count_all([points[i] for i in there]), strict=True):
            if count is not None:
                counts[values[i]] = count

    steps = list(_steps(own.low, min(own.high or WIDEST, WIDEST)))
    look([(place, value) for place in range(len(fixed)) for value in steps])
    between: list[tuple[int, int]] = []
    for place in range(len(fixed)):
        known = sorted((v, n) for (p, v), n in counts.items() if p == place)
        below = max((v for v, n in known if n <= budget), default=own.low)
        above = min((v for v, n in known if v > below and n > budget), default=below)
        between += [(place, v) for v in range(below + 1, above) if (place, v) not in counts]
    look(between)
    found = [
        Solution({**fixed[place], solved: value}, count)
        for (place, value), count in counts.items()
        if goal == "closest" or count == budget or (goal == "under" and count < budget)
    ]
    found.sort(key=lambda solution: (abs(solution.count - budget), *solution.point.values()))
    return Search(tuple(found[:number]), len(fixed), solved, len(every) > BUILT)


def _steps(low: int, high: int) -> Iterator[int]:
    value = low
    while value <= high:
        yield value
        value = max(value + 1, value * 5 // 4)
