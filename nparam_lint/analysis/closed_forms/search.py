"""Whole numbers for some arguments with which a count meets a budget, the best first."""

from __future__ import annotations

import heapq
import time
from bisect import bisect_left, bisect_right
from fractions import Fraction
from itertools import count as count_up
from itertools import product
from math import inf
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from nparam_lint.analysis.closed_forms import limits
from nparam_lint.analysis.closed_forms.compiled_form import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence

    from nparam_lint.analysis.closed_forms.requirements import Requirements, Whole

Goal = Literal["closest", "under", "exact"]


class Unknown(Struct, frozen=True):
    """`high`: None if no limits were given, then `most` is the largest value that is tried; `base`:
    the value in the call."""

    name: str
    low: int = 1
    high: int | None = None
    step: int = 1
    base: int = 1
    most: int = limits.MOST_VALUE


class Aim(Struct, frozen=True):
    """What to look for: so many (`number`) solutions. `is_free`: without limits that were not asked
    for; `until`: by the clock (`time.monotonic`), when the search ends."""

    budget: int
    goal: Goal
    number: int
    is_free: bool = False
    until: float = inf


class Solution(Struct, frozen=True):
    """`point`: the unknowns; `count`: what they give."""

    point: Mapping[str, int]
    count: int


# --- limits -----------------------------------------------------------------------------------


def limited(
    count: Callable[..., int], unknowns: Sequence[Unknown], growing: Container[str], aim: Aim
) -> list[Unknown]:
    """The unknowns, each `base` as in a model of the call's proportions that meets the budget.
    From there, those without limits may be half or twice as large where there are several: what
    meets a budget by one layer of ten thousand units is of no use. A single one needs no limit
    where more of it gives more, since the budget sets it."""
    free = [u.name for u in unknowns if u.high is None]

    def scaled(share: int) -> list[int]:
        return [
            max(1, (u.base * share + limits.FINE // 2) // limits.FINE) if u.high is None else u.base
            for u in unknowns
        ]

    def total(share: int) -> int:
        return count(*scaled(share))

    grows = all(name in growing for name in free)
    if grows:
        share = max(1, _last(total, 1, limits.MOST_VALUE * limits.FINE, aim.budget))
    else:
        shares = [limits.FINE << step >> limits.DOUBLED for step in range(2 * limits.DOUBLED + 1)]
        share = min(shares, key=lambda share: abs(total(share) - aim.budget))
    bases = zip(unknowns, scaled(share), strict=True)
    based = [replace(unknown, base=max(base, 1)) for unknown, base in bases]
    is_narrow = not aim.is_free and (len(free) > 1 or not grows)
    return [around(unknown) for unknown in based] if is_narrow else based


def around(unknown: Unknown) -> Unknown:
    """From half to twice its base, where it has no limits."""
    if unknown.high is not None:
        return unknown
    low = max(unknown.low, unknown.base // limits.WIDE)
    return replace(unknown, low=low, high=min(max(low, unknown.base) * limits.WIDE, unknown.most))


def _last(count: Callable[[int], int], low: int, high: int, most: int) -> int:
    """The largest number between `low` and `high` that gives no more than `most`; `low` - 1 where
    none does."""
    step = 1
    while low + step <= high and count(low + step) <= most:
        step *= 2
    return bisect_right(range(high + 1), most, low, min(low + step, high + 1), key=count) - 1


# --- by a closed form -------------------------------------------------------------------------


class Searching:
    """Looks for the best solutions; of equally good ones, those nearest to the proportions of the
    call. `count`: of the unknowns, in their order; `growing`: those of which more never gives less:
    the one among them that ranges widest is found by bisection for all values of the others, and
    what cannot be nearer is left out. `passive`: unknowns that only conditions are about.

    `solutions`: the best first; `combinations`: so many of all unknowns but the one that is solved
    for were looked at; `is_cut`: there were more than there was time for; `limits`: of the unknowns
    that had none."""

    def __init__(
        self,
        count: Callable[..., int],
        requirements: Requirements,
        unknowns: Sequence[Unknown],
        growing: Container[str],
        aim: Aim,
        passive: Sequence[Unknown] = (),
    ) -> None:
        self.requirements, self.aim, self.budget = requirements, aim, aim.budget
        self.count, self.growing = count, growing
        self.unknowns = limited(count, unknowns, growing, aim)
        pairs = zip(self.unknowns, unknowns, strict=True)
        scales = [Fraction(u.base, was.base) for u, was in pairs if was.high is None and was.base]
        scale = max(scales, default=Fraction(1))
        self.passive = [around(replace(u, base=max(1, round(u.base * scale)))) for u in passive]
        free = {u.name for u in (*unknowns, *passive) if u.high is None}
        self.limits = {
            u.name: (u.low, u.high)
            for u in (*self.unknowns, *self.passive)
            if u.high and u.name in free
        }
        self.values = {u.name: u.low for u in self.unknowns}  # what is open has its least
        self.ranges = {u.name: range(u.low, self.highest(u) + 1) for u in self.unknowns}
        by_width = sorted(self.ranges, key=lambda name: (len(self.ranges[name]), name))
        self.solved = next((name for name in reversed(by_width) if name in growing), "")
        self.order = [name for name in by_width if name != self.solved]
        names = [*self.order, self.solved] if self.solved else self.order
        # From which place on all that is still open grows.
        self.bounded = [all(n in growing for n in names[place:]) for place in range(len(names) + 1)]
        self.bases = {u.name: u.base for u in self.unknowns}
        self.choices = [_nearest_first(u) for u in self.passive]
        self.best: list[tuple[int, Fraction, int, Solution]] = []
        self.turn = count_up()
        self.solutions: list[Solution] = []
        self.combinations, self.is_cut = 0, False

    def count_of(self, name: str) -> Callable[[int], int]:
        """The count as a function of one unknown, the others as they are."""
        values, place = list(self.values.values()), list(self.values).index(name)
        before, after = values[:place], values[place + 1 :]
        return lambda value: self.count(*before, value, *after)

    def highest(self, unknown: Unknown) -> int:
        """The largest value that is of use, all others being at their least."""
        high = unknown.most if unknown.high is None else unknown.high
        if unknown.name not in self.growing:
            return high
        last = _last(self.count_of(unknown.name), unknown.low, high, limits.BEYOND * self.budget)
        return min(high, max(last, unknown.low + limits.LEAST_VALUES))

    def run(self) -> None:
        self.is_cut = any(len(values) == limits.PASSIVE_VALUES for values in self.choices)
        try:
            if self.requirements.hold({}):
                self.descend(0, {})
        except TimeoutError:
            self.is_cut = True
        best = sorted(self.best, reverse=True)  # no two are of one turn
        self.solutions = [solution for *_, solution in best]

    @property
    def reach(self) -> int | None:
        """How far from the budget a solution may be; None for any distance."""
        if self.aim.goal == "exact":
            return 0
        return -self.best[0][0] if len(self.best) == self.aim.number else None

    def look_at_the_clock(self) -> None:
        if time.monotonic() > self.aim.until:
            raise TimeoutError

    def descend(self, place: int, fixed: dict[str, int]) -> None:
        """Give the unknowns from a place on all values that may be of use, those near the
        proportions of the call first: they are the most likely to be good."""
        if place == len(self.order):
            self.solve(fixed)
            return
        name = self.order[place]
        values = self.ranges[name]
        middle = bisect_left(values, self.bases[name])
        for side in (values[middle:], values[:middle][::-1]):
            for value in side:
                self.look_at_the_clock()
                self.values[name] = value
                if self.bounded[place + 1] and self.is_beyond():
                    if name in self.growing and side.step > 0:
                        break
                    continue
                point = {**fixed, name: value}
                if self.completed(point) is not None:
                    self.descend(place + 1, point)
        self.values[name] = values.start

    def is_beyond(self) -> bool:
        """Whether even the smallest values of the open unknowns give too much."""
        excess = self.count(*self.values.values()) - self.budget
        reach = 0 if self.aim.goal != "closest" else self.reach
        return reach is not None and excess > reach

    def solve(self, fixed: dict[str, int]) -> None:
        """The nearest values of the last unknown that are allowed, below the budget and above."""
        self.combinations += 1
        if not self.solved:
            self.offer(fixed, self.count(*self.values.values()))
            return
        values, count = self.ranges[self.solved], self.count_of(self.solved)
        ideal = _last(count, values.start, values.stop - 1, self.budget)
        self.walk(fixed, count, range(ideal, values.start - 1, -1))
        if self.aim.goal == "closest":
            self.walk(fixed, count, range(ideal + 1, values.stop))

    def walk(self, fixed: Whole, count_of: Callable[[int], int], values: Iterable[int]) -> None:
        """Away from the budget, until it is too far; of values that give the same, one is taken."""
        last = None
        for value in values:
            count = count_of(value)
            if self.reach is not None and abs(count - self.budget) > self.reach:
                return
            if count != last and self.offer({**fixed, self.solved: value}, count):
                last = count

    def offer(self, point: Whole, count: int) -> bool:
        """Whether this is a solution."""
        distance, reach = abs(count - self.budget), self.reach
        is_beyond = count == NOWHERE or (self.aim.goal == "under" and count > self.budget)
        if is_beyond or (reach is not None and distance > reach):
            return False
        full = self.completed(point)
        if full is None:
            return False
        # Of equally good ones that with the usual proportions stays, then the first.
        item = (-distance, -self.oddness(point), -next(self.turn), Solution(full, count))
        push = heapq.heappush if len(self.best) < self.aim.number else heapq.heappushpop
        push(self.best, item)
        return True

    def completed(self, point: Whole) -> dict[str, int] | None:
        """With values for the passive unknowns, near those in the call, so that all conditions hold
        that can be checked."""
        for values in product(*self.choices):
            self.look_at_the_clock()
            full = {**point, **{u.name: v for u, v in zip(self.passive, values, strict=True)}}
            if self.requirements.hold(full):
                return full
        return None

    def oddness(self, point: Whole) -> Fraction:
        """By how much the unknown that is furthest from the proportions differs from them."""
        pairs = ((point[name], base) for name, base in self.bases.items())
        ratios = (Fraction(max(pair), max(min(pair), 1)) for pair in pairs)
        return max(ratios, default=Fraction(1))


def _nearest_first(unknown: Unknown) -> list[int]:
    values = range(unknown.low, (unknown.high or unknown.low) + 1)
    return sorted(values[: limits.PASSIVE_VALUES], key=lambda value: abs(value - unknown.base))
