"""Whole numbers with which a count meets a budget, where there is no closed form of it."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.search import DOUBLED, FINE, Candidate, Search, around

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from nparam_lint.analysis.closed_forms.requirements import Requirements
    from nparam_lint.analysis.closed_forms.search import Aim, Unknown, Whole

    CountAll = Callable[[Sequence[Whole]], Sequence[int | None]]

QUICK = 1.0  # seconds for builds that were asked for together: then more are the next time
BUILT = 64  # combinations, where every count takes a build
NARROW = 8  # values that are built at a time between two that enclose the budget


class SearchByBuilding:
    """The best of what was built, where there is no closed form: the unknown that ranges widest in
    steps of a quarter, then ever closer between the two that enclose the budget. `count_all` gives
    None where the model refuses the arguments."""

    def __init__(
        self,
        count_all: CountAll,
        requirements: Requirements,
        unknowns: Sequence[Unknown],
        aim: Aim,
    ) -> None:
        self.count_all, self.requirements = count_all, requirements
        self.aim, self.budget = aim, aim.budget
        self.limits = self.limits_of([u.name for u in unknowns if u.high is None], unknowns)
        self.ranges = {
            u.name: range(low, (high or low) + 1)
            for u in unknowns
            for low, high in [self.limits.get(u.name, (u.low, u.high))]
        }
        self.solved = max(self.ranges, key=lambda name: len(self.ranges[name]))
        others = {n: values for n, values in self.ranges.items() if n != self.solved}
        every = math.prod(len(values) for values in others.values())
        self.cut = every > BUILT
        places = [place * every // BUILT for place in range(BUILT)] if self.cut else range(every)
        self.fixed = [_nth(others, place) for place in places]
        self.counts: dict[tuple[int, int], int | None] = {}  # of (combination, value)

    def limits_of(
        self, free: Sequence[str], unknowns: Sequence[Unknown]
    ) -> dict[str, tuple[int, int]]:
        """The same limits as where there is a closed form, but for every unknown without any."""
        known = {u.name: u.base for u in unknowns}

        def scaled(share: int) -> dict[str, int]:
            return known | {name: max(1, known[name] * share // FINE) for name in free}

        bases = scaled(self.share(scaled)) if free else known
        limited = {u.name: around(replace(u, base=bases[u.name])) for u in unknowns}
        return {name: (u.low, u.high or u.low) for name, u in limited.items() if name in free}

    def share(self, scaled: Callable[[int], Whole]) -> int:
        """How much of the call's proportions has about the budget: doubled or halved until it is
        passed."""
        now, larger = FINE, None
        for step in range(DOUBLED + 1):
            if self.aim.is_over:
                break
            share = FINE >> step if larger is False else FINE << step
            (count,) = self.count_all([scaled(share)])
            if count is None:
                continue
            if larger is None:
                larger = count < self.budget
            now = share
            if (count < self.budget) is not larger:
                break
        return now

    def run(self) -> Search:
        goal, values = self.aim.goal, self.ranges[self.solved]
        steps = list(_quarters(values.start, values.stop - 1))
        self.look([(place, value) for place in range(len(self.fixed)) for value in steps])
        places = range(len(self.fixed))
        while between := [(place, value) for place in places for value in self.between(place)]:
            if self.aim.is_over:
                break
            self.look(between)
        most = math.inf if goal == "closest" else self.budget
        least = self.budget if goal == "exact" else 0
        found = []
        for (place, value), count in self.counts.items():
            if count is not None and least <= count <= most:
                point = {**self.fixed[place], self.solved: value}
                found.append(Candidate({n: point[n] for n in self.ranges}, count))
        found.sort(key=lambda one: (abs(one.count - self.budget), *one.point.values()))
        best = tuple(found[: self.aim.number])
        return Search(best, len(self.fixed), self.cut or self.aim.is_over, self.limits)

    def look(self, wanted: Sequence[tuple[int, int]]) -> None:
        """Build what is allowed."""
        points = {(p, v): {**self.fixed[p], self.solved: v} for p, v in wanted}
        self.counts.update(dict.fromkeys(points))
        there = [key for key, point in points.items() if self.requirements.hold(point)]
        together = 2
        while there and not self.aim.is_over:
            some, there = there[:together], there[together:]
            start = time.monotonic()
            self.counts.update(zip(some, self.count_all([points[k] for k in some]), strict=True))
            together = together * 2 if time.monotonic() - start < QUICK else 2

    def between(self, place: int) -> list[int]:
        """Values that were not built, between the nearest two that enclose the budget."""
        known = sorted((v, n) for (p, v), n in self.counts.items() if p == place and n is not None)
        below = max((v for v, n in known if n <= self.budget), default=None)
        above = min((v for v, n in known if n > self.budget and v > (below or 0)), default=None)
        if below is None or above is None:
            return []
        new = [v for v in range(below + 1, above) if (place, v) not in self.counts]
        return new[:: max(1, len(new) // NARROW)]


def _nth(ranges: Mapping[str, range], place: int) -> dict[str, int]:
    """One of the combinations of all values."""
    found = {}
    for name, values in ranges.items():
        place, index = divmod(place, len(values))
        found[name] = values[index]
    return found


def _quarters(low: int, high: int) -> Iterator[int]:
    value = low
    while value <= high:
        yield value
        value = max(value + 1, value * 5 // 4)
