"""Whole numbers for some arguments with which a count meets a budget, the best first."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import count as count_up
from typing import TYPE_CHECKING, Literal

from nparam_lint.analysis.closed_forms.compiled_form import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence

    from nparam_lint.analysis.closed_forms.requirements import Requirements

    Whole = Mapping[str, int]

Goal = Literal["closest", "under", "exact"]

MOST = 1 << 24  # the largest value that is tried for an unknown without a limit
BEYOND = 4  # times the budget: what is larger is not looked at
LEAST = 128  # values of an unknown that are tried anyway: smaller ones may not be allowed
WIDE = 2  # times more or less than in the proportions of the call; published families keep to it
FINE = 1 << 16  # steps between them and nothing
DOUBLED = 10  # times, or halved: where more need not give more, or where every count takes a build
COMBINATIONS = 200_000  # of the other unknowns that are solved for
WALKED = 1_000_000  # values that are tried because those nearer were not allowed


@dataclass(frozen=True, slots=True)
class Unknown:
    """`high`: None if no limits were given; `base`: the value in the call."""

    name: str
    low: int = 1
    high: int | None = None
    base: int = 1


@dataclass(frozen=True, slots=True)
class Candidate:
    """`point`: the unknowns; `count`: what they give."""

    point: Mapping[str, int]
    count: int


@dataclass(frozen=True, slots=True)
class Search:
    """What was found. `combinations`: of all unknowns but the one that is solved for, so many of
    which had to be looked at; `solved`: that one, "" where all values of all were tried; `cut`:
    whether there were more than could be looked at; `limits`: of the unknowns that had none."""

    candidates: tuple[Candidate, ...]
    combinations: int
    solved: str
    cut: bool = False
    limits: Mapping[str, tuple[int, int]] = field(default_factory=dict)


# --- limits -----------------------------------------------------------------------------------


def limited(
    count: Callable[..., int], unknowns: Sequence[Unknown], growing: Container[str], budget: int
) -> list[Unknown]:
    """The unknowns, each `base` as in a model of the call's proportions that meets the budget.
    From there, those without limits may be half or twice as large where there are several: what
    meets a budget by one layer of ten thousand units is of no use. A single one needs no limit
    where more of it gives more, since the budget sets it."""
    free = [u.name for u in unknowns if u.high is None]

    def scaled(share: int) -> list[int]:
        return [
            max(1, (u.base * share + FINE // 2) // FINE) if u.name in free else u.base
            for u in unknowns
        ]

    def off(share: int) -> int:
        return abs(count(*scaled(share)) - budget)

    grows = all(name in growing for name in free)
    if grows:
        most = MOST * FINE
        share = max(1, _last(lambda share: count(*scaled(share)), 1, most, budget)) if free else 1
    else:
        share = min((FINE << step >> DOUBLED for step in range(2 * DOUBLED + 1)), key=off)
    found = []
    for unknown, base in zip(unknowns, scaled(share), strict=True):
        unknown = replace(unknown, base=max(base, 1))
        if unknown.high is None and (len(free) > 1 or not grows):
            low, high = max(1, unknown.base // WIDE), unknown.base * WIDE
            unknown = replace(unknown, low=low, high=high)
        found.append(unknown)
    return found


def _last(count: Callable[[int], int], low: int, high: int, most: int) -> int:
    """The largest number between `low` and `high` that gives no more than `most`; `low` - 1 where
    none does."""
    step = 1
    while low + step <= high and count(low + step) <= most:
        step *= 2
    return bisect_right(range(high + 1), most, low, min(low + step, high + 1), key=count) - 1


# --- by a closed form -------------------------------------------------------------------------


class _Enough(Exception):
    """There are more combinations than can be tried."""


class Searching:
    """Looks for the best `number` of solutions; of equally good ones, those nearest to the
    proportions of the call. `count`: of the unknowns, in their order; `growing`: those of which
    more never gives less: the one among them that ranges widest is found by bisection for all
    values of the others, and what cannot be nearer is left out."""

    def __init__(
        self,
        count: Callable[..., int],
        requirements: Requirements,
        unknowns: Sequence[Unknown],
        growing: Container[str],
        budget: int,
        goal: Goal,
        number: int,
    ) -> None:
        self.requirements, self.budget, self.goal, self.number = requirements, budget, goal, number
        self.count, self.growing = count, growing
        self.unknowns = limited(count, unknowns, growing, budget)
        without = {u.name for u in unknowns if u.high is None}
        free = [u for u in self.unknowns if u.name in without]
        self.limits = {u.name: (u.low, u.high) for u in free if u.high}
        self.values = {u.name: u.low for u in self.unknowns}  # what is open has its least
        self.ranges = {u.name: range(u.low, self.highest(u) + 1) for u in self.unknowns}
        by_width = sorted(self.ranges, key=lambda name: (len(self.ranges[name]), name))
        self.solved = next((name for name in reversed(by_width) if name in growing), "")
        self.order = [name for name in by_width if name != self.solved]
        rest = [*self.order, self.solved] if self.solved else self.order
        # From which place on all that is still open grows.
        self.bounded = [all(n in growing for n in rest[place:]) for place in range(len(rest) + 1)]
        self.bases = {u.name: u.base for u in self.unknowns}
        self.best: list[tuple[int, Fraction, int, Candidate]] = []
        self.turn = count_up()
        self.seen = self.walked = 0

    def count_of(self, name: str) -> Callable[[int], int]:
        """The count as a function of one unknown, the others as they are."""
        values, place = list(self.values.values()), list(self.values).index(name)
        before, after = values[:place], values[place + 1 :]
        return lambda value: self.count(*before, value, *after)

    def highest(self, unknown: Unknown) -> int:
        """The largest value that is of use, all others being at their least."""
        high = MOST if unknown.high is None else unknown.high
        if unknown.name not in self.growing:
            return high
        last = _last(self.count_of(unknown.name), unknown.low, high, BEYOND * self.budget)
        return min(high, max(last, unknown.low + LEAST))

    def run(self) -> Search:
        try:
            self.descend(0, {})
            cut = False
        except _Enough:
            cut = True
        found = sorted(self.best, reverse=True)  # no two are of one turn
        return Search(tuple(s for *_, s in found), self.seen, self.solved, cut, self.limits)

    @property
    def reach(self) -> int | None:
        """How far from the budget a solution may be; None for any distance."""
        if self.goal == "exact":
            return 0
        return -self.best[0][0] if len(self.best) == self.number else None

    def descend(self, place: int, fixed: dict[str, int]) -> None:
        """Give the unknowns from a place on all values that may be of use."""
        if place == len(self.order):
            self.solve(fixed)
            return
        name = self.order[place]
        least = self.ranges[name].start
        for value in self.steps(fixed, name):
            self.values[name] = value
            if self.bounded[place + 1] and self.is_beyond():
                if name in self.growing:
                    break
                continue
            point = {**fixed, name: value}
            if self.requirements.hold(point):
                self.descend(place + 1, point)
        self.values[name] = least

    def steps(self, fixed: Whole, name: str) -> range:
        """The values of an unknown that the multiples allow."""
        values, step = self.ranges[name], self.requirements.step(fixed, name)
        return range(-(-values.start // step) * step, values.stop, step) if step else range(0)

    def is_beyond(self) -> bool:
        """Whether even the smallest values of the open unknowns give too much."""
        excess = self.count(*self.values.values()) - self.budget
        reach = 0 if self.goal != "closest" else self.reach
        return reach is not None and excess > reach

    def solve(self, fixed: dict[str, int]) -> None:
        """The nearest values of the last unknown that are allowed, below the budget and above."""
        self.seen += 1
        if self.seen > COMBINATIONS:
            self.seen -= 1
            raise _Enough
        if not self.solved:
            self.offer(fixed, self.count(*self.values.values()))
            return
        values = self.steps(fixed, self.solved)
        if not values:
            return
        count = self.count_of(self.solved)
        ideal = _last(lambda index: count(values[index]), 0, len(values) - 1, self.budget)
        self.walk(fixed, count, values[ideal::-1] if ideal >= 0 else ())
        if self.goal == "closest":
            self.walk(fixed, count, values[ideal + 1 :])

    def walk(self, fixed: Whole, count_of: Callable[[int], int], values: Iterable[int]) -> None:
        """Away from the budget, until it is too far."""
        for value in values:
            count = count_of(value)
            if self.reach is not None and abs(count - self.budget) > self.reach:
                return
            self.walked += 1
            if self.walked > WALKED:
                raise _Enough
            point = {**fixed, self.solved: value}
            if self.requirements.hold(point):
                self.offer(point, count)

    def offer(self, point: Whole, count: int) -> None:
        distance, reach = abs(count - self.budget), self.reach
        beyond = count == NOWHERE or (self.goal == "under" and count > self.budget)
        if beyond or (reach is not None and distance > reach):
            return
        # Of equally good ones that with the usual proportions stays, then the first.
        item = (
            -distance,
            -self.oddness(point),
            -next(self.turn),
            Candidate({n: point[n] for n in self.ranges}, count),
        )
        (heapq.heappush if len(self.best) < self.number else heapq.heappushpop)(self.best, item)

    def oddness(self, point: Whole) -> Fraction:
        """By how much the unknown that is furthest from the proportions differs from them."""
        pairs = ((value, self.bases[name]) for name, value in point.items())
        return max(Fraction(max(pair), max(min(pair), 1)) for pair in pairs)
