"""Builds at points that are chosen to show what a count depends on, and what was seen there."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, islice, product
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.constraints import ORDERED, Constraint, explain
from nparam_lint.analysis.closed_forms.observations import (
    BuildHistory,
    Built,
    Point,
    Value,
    Variable,
    differs,
    exactly,
    written,
)
from nparam_lint.analysis.closed_forms.sample_points import Sampler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from nparam_lint.records import NotMeasured

DRAWN = 8  # points that are drawn for one that was not yet built
TIED = 8  # arguments that cannot be varied alone, of which all threes are tried together
ROUNDS = 4  # of more points, where those so far do not suffice


@dataclass(slots=True)
class Seen:
    """Points that were built, the base first, and what was built. `influence`: for each variable,
    the indices of the points that differ from the base in it alone."""

    points: list[dict[str, Value]]
    builds: list[Built]
    influence: dict[str, list[int]]

    def within(self, limits: Sequence[Constraint]) -> Seen:
        """What was seen where these hold."""
        if not limits:
            return self
        return self.where(lambda point: all(limit.holds(exactly(point)) for limit in limits))

    def where(self, condition: Callable[[Point], bool]) -> Seen:
        """What was seen at the points that meet a condition."""
        kept = [index for index, point in enumerate(self.points) if condition(point)]
        moved = {index: now for now, index in enumerate(kept)}
        return Seen(
            [self.points[index] for index in kept],
            [self.builds[index] for index in kept],
            {n: [moved[i] for i in indices if i in moved] for n, indices in self.influence.items()},
        )


class Experiments:
    """The builds for one form. `rules`: the model's known requirements; `limits`: the form is only
    searched for within these."""

    def __init__(self, history: BuildHistory, variables: Sequence[Variable]) -> None:
        self.history = history
        ((self.base, first),) = history.build([{}])
        assert isinstance(first, Built)
        self.first = first
        self.numbers = [v for v in variables if v.is_number]
        at = exactly(self.base)
        self.exactly = {v.name: at[v.name] for v in self.numbers}
        self.seen = Seen([self.base], [first], {v.name: [] for v in self.numbers})
        self.refused: list[tuple[Point, NotMeasured]] = []
        self.sampler = Sampler()
        self.limits: list[Constraint] = []

    def ask(self, points: Iterable[Point]) -> list[int]:
        """Build at these points; gives the indices of those that were built."""
        done, seen = [], self.seen.points
        for point, outcome in self.history.build(points):
            if not isinstance(outcome, Built):
                self.refused.append((point, outcome))
                continue
            if point not in seen:
                seen.append(point)
                self.seen.builds.append(outcome)
            done.append(seen.index(point))
        return done

    def along(self, wanted: Mapping[str, Sequence[Value]]) -> None:
        """Vary each variable alone."""
        self.ask({name: value} for name, values in wanted.items() for value in values)
        for index, point in enumerate(self.seen.points):
            changed = [name for name, value in point.items() if differs(value, self.base[name])]
            known = self.seen.influence.get(changed[0]) if len(changed) == 1 else None
            if known is not None and index not in known:
                known.append(index)

    def together(self) -> None:
        """What cannot be varied alone may follow others (`d_ff = 4*d_model`): vary two of them,
        then three."""
        for number in (2, 3):
            stuck = [name for name in self.exactly if not self.seen.influence[name]]
            others = self.exactly if number == 2 else stuck[:TIED]
            groups = [g for g in combinations(others, number) if set(g) & set(stuck)]
            done = self.ask(
                {name: written(self.exactly[name] * factor) for name in group}
                for group in groups
                for factor in (2, 3)
            )
            for index, name in product(done, stuck):
                if differs(self.seen.points[index][name], self.base[name]):
                    self.seen.influence[name].append(index)

    def learn_rules(self) -> None:
        # A process that died or took too long says nothing about arguments.
        refused = [point for point, why in self.refused if why.code != "NPL005"]
        built, no = (
            [{name: known[name] for name in self.exactly} for known in map(exactly, points)]
            for points in (self.seen.points, refused)
        )
        whole = {v.name for v in self.numbers if isinstance(v.base, int)}
        self.sampler.rules = [*explain(built, no, self.exactly, whole), *self.limits]

    @property
    def rules(self) -> list[Constraint]:
        return self.sampler.rules

    @property
    def varied(self) -> list[Variable]:
        return self.sampler.variables

    @property
    def tied(self) -> set[str]:
        """What follows others in every model."""
        return {rule.left for rule in self.rules if rule.kind == "=="}

    def forget(self, names: Iterable[str]) -> None:
        """Leave out what was built with other values of these."""
        base = self.base
        self.seen = self.seen.where(
            lambda point: not any(differs(point[name], base[name]) for name in names)
        )

    def differ(self, name: str, *, named: bool = True) -> bool:
        """Whether varying this one alone ever made a difference; if not `named`, whatever the
        parameters are called."""

        def shapes(built: Built) -> object:
            return [(t.name, t.shape) for t in built.tensors] if named else built.sizes

        builds = (self.seen.builds[index] for index in self.seen.influence[name])
        return any(shapes(built) != shapes(self.first) for built in builds)

    def why_fixed(self, name: str) -> str:
        base = self.base[name]
        reasons = (why.reason for point, why in self.refused if differs(point[name], base))
        return next(reasons, "it has no other values")

    def scatter(self, number: int) -> None:
        """Build at points in general position, learning from refusals how to choose them."""
        done = 0
        for _ in range(4 if self.varied else 0):
            new: list[Point] = []
            for point in islice(self.sampler.scattered(), DRAWN * number):
                if point not in new and {**self.base, **point} not in self.seen.points:
                    new.append(point)
                if len(new) == number - done:
                    break
            done += len(self.ask(new))
            self.learn_rules()
            if done >= number * 3 // 4:
                break

    def doubt_rules(self) -> None:
        """Build what comparisons forbid: of several that explain the same refusals, one alone is
        what the model asks."""
        for _ in range(ROUNDS):
            forbidden = [
                {rule.left: written(rule.bound(self.exactly) + 1)}
                for rule in self.rules
                if rule.kind in ORDERED
            ]
            if not self.ask(forbidden):
                return
            self.learn_rules()
