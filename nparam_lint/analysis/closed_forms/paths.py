"""The paths that a constructor takes: a tree of its decisions, all sides of which are built; and
arguments that meet conditions, for the other side of a decision, or to verify a form."""

from __future__ import annotations

import random
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING

from msgspec import Struct, field

from nparam_lint.analysis.closed_forms import limits
from nparam_lint.analysis.closed_forms.compiled_form import NOWHERE, compiled
from nparam_lint.analysis.closed_forms.conditions import truth_of, truth_of_all
from nparam_lint.analysis.closed_forms.implications import contradict

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterator, Sequence

    from nparam_lint.analysis.closed_forms.conditions import Condition
    from nparam_lint.analysis.closed_forms.observations import Point, Value, Variable
    from nparam_lint.analysis.closed_forms.traced_runs import Run, Tracer

_SMALL = range(1, 33)
_LOW = range(6)
_LARGE = (48, 56, 64, 96, 97, 101, 112, 128, 160, 192, 224, 255, 256, 257, 320, 384, 512, 768, 1000)
_HUGE = (1024, 2048, 3000, 4096, 8192, 10_000, 30_000, 32_768, 65_536, 100_000)
_FLOATS = (0.25, 0.5, 0.75, 1.0, 1.3, 1.5, 2.0, 2.67, 3.0, 4.0, 0.1, 1 / 3, 0.001)
_FACTORS = (Fraction(1, 4), Fraction(1, 2), Fraction(2), Fraction(3), Fraction(4), Fraction(8))


# --- the tree ---------------------------------------------------------------------------------


class Diverged(Exception):
    """Two builds took the same decisions and then went other ways."""

    def __init__(self, first: Run, second: Run) -> None:
        super().__init__()
        self.runs = first, second


class PathNode(Struct, eq=False):
    """A decision with both its sides, or a path's end with the runs that came there. `conditions`:
    those on the way to it."""

    conditions: list[Condition] = field(default_factory=list)
    decision: Condition | None = None
    sides: dict[bool, PathNode] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)
    is_out_of_reach: bool = False  # no point was found there
    is_impossible: bool = False  # its conditions contradict each other

    def decide(self, condition: Condition) -> None:
        """Become a decision."""
        self.decision = condition
        self.sides = {
            True: PathNode([*self.conditions, condition]),
            False: PathNode([*self.conditions, condition.negated]),
        }

    @property
    def is_refused(self) -> bool:
        return all(run.error is not None for run in self.runs)

    def ends(self) -> Iterator[PathNode]:
        """All of them at or below it, also where nothing was built."""
        todo = [self]
        while todo:
            node = todo.pop()
            todo += reversed(node.sides.values())
            if node.decision is None:
                yield node

    def runs_below(self) -> list[Run]:
        """The runs that ended at or below it, those that were not refused first."""
        below = (run for end in self.ends() for run in end.runs)
        return sorted(below, key=lambda run: run.error is not None)


class PathTree:
    """`ignored`: places of decisions that are part of a loop, and are fitted instead."""

    def __init__(self, tracer: Tracer, ignored: frozenset[str]) -> None:
        self.tracer, self.ignored = tracer, ignored
        self.root = PathNode()

    def insert(self, run: Run) -> None:
        """Raises Diverged."""
        node = self.root
        for condition in (c for c, at in run.decisions.items() if at not in self.ignored):
            if node.decision is None:
                if not node.is_refused:
                    raise Diverged(node.runs[0], run)
                early, node.runs = node.runs, []  # refused before they came here
                node.decide(condition)
                for refused in early:
                    node.sides[truth_of(condition)(refused.point)].runs.append(refused)
            if node.decision not in (condition, condition.negated):
                raise Diverged(node.runs_below()[0], run)
            node = node.sides[node.decision == condition]
        if node.decision is not None and run.error is None:
            raise Diverged(node.runs_below()[0], run)
        while node.decision is not None:  # refused, where others went on
            node = node.sides[truth_of(node.decision)(run.point)]
        node.runs.append(run)

    def leaves(self) -> list[PathNode]:
        return [end for end in self.root.ends() if end.runs]

    def missing(self) -> list[PathNode]:
        """Sides that nothing was built on, though arguments may lead there."""
        return [end for end in self.root.ends() if not end.runs and not end.is_impossible]

    def explore(self, search: PointSearch) -> None:
        """Build on all sides, as far as points are found and within limits.LEAVES."""
        for _ in range(limits.ROUNDS):
            ends = [end for end in self.missing() if not end.is_out_of_reach]
            points = []
            for end in ends[: max(0, limits.LEAVES - len(self.leaves()))]:
                end.is_impossible = contradict(end.conditions, self.tracer.least)
                point = search.satisfying(end.conditions, self.neighbour(end).point)
                end.is_out_of_reach = point is None
                if point is not None:
                    points.append((end, point))
            if not points or self.tracer.is_late():
                return
            runs = self.tracer.build([point for _, point in points])
            for (end, _), run in zip(points, runs, strict=True):
                end.is_out_of_reach = run is None
                if run is not None:
                    self.insert(run)

    def neighbour(self, end: PathNode) -> Run:
        """A run that took the same decisions as far as possible."""
        node, runs = self.root, self.root.runs_below()
        for condition in end.conditions:
            node = node.sides[node.decision == condition]
            runs = node.runs_below() or runs
        return runs[0]


# --- points -----------------------------------------------------------------------------------


class PointSearch:
    """`repeated`: variables that count loops: large values would only take long."""

    def __init__(self, tracer: Tracer, repeated: Container[str]) -> None:
        self.tracer, self.repeated = tracer, repeated
        self.random = random.Random(0)

    def pool(self, variable: Variable) -> list[Value]:
        """The values that a variable is tried with, those near its base first."""
        constants = sorted(self.tracer.constants)[: limits.NEAR]
        base, least = variable.base, self.tracer.least[variable.name]
        if isinstance(base, float):
            floats = [base, *(base * float(f) for f in _FACTORS), *_FLOATS]
            return list(dict.fromkeys(v for v in floats if v > 0))
        if not isinstance(base, int):
            return [base]
        bases = [v for v in self.tracer.base.values() if type(v) is int]
        values = [base, base + 1, base - 1, *(int(base * f) for f in _FACTORS), 2 * base + 1]
        values += [c + step for c in constants for step in (0, 1, -1)]
        values += [*_SMALL, *bases, *_LARGE, *_HUGE, *(n * b for n in (2, 4) for b in bases)]
        most = max(limits.REPETITIONS, base) if variable.name in self.repeated else inf
        return list(dict.fromkeys(v for v in values if least <= v <= most))

    def satisfying(self, conditions: Sequence[Condition], near: Point) -> dict[str, Value] | None:
        """A point that meets all conditions, near to one that meets all but the last."""
        if contradict(conditions, self.tracer.least):
            return None
        goal, meets = conditions[-1], truth_of_all(conditions)
        variables = {v.name: v for v in self.tracer.variables}
        names = [n for n in variables if any(n in c.names for c in conditions)]
        goals = sorted(goal.names, key=lambda name: (name in self.repeated, names.index(name)))
        points = [dict(near)]
        for name in goals:
            values = [*self.pool(variables[name]), *self.solver(goal, name)(near)]
            points += ({**near, name: value} for value in values)
        point = next(filter(meets, points), None)
        return point or next(iter(self.spread(conditions, near, 1, names)), None)

    def solver(self, goal: Condition, name: str) -> Callable[[Point], list[Value]]:
        """The values of a whole variable near where a condition is met as an equality, if it is
        linear there."""
        if not goal.is_whole or name not in self.tracer.whole:
            return lambda _: []
        names = sorted(goal.form.names)
        value, least = compiled(goal.form, names), self.tracer.least[name]

        def solve(point: Point) -> list[Value]:
            now = point[name]
            try:
                start = value(*(point[n] for n in names))
                step = value(*(point[n] + (n == name) for n in names)) - start  # type: ignore[operator]
            except (ArithmeticError, ValueError, TypeError):
                return []
            if not step or abs(start) >= NOWHERE or abs(step) >= NOWHERE:
                return []
            root = int(now - start // step)  # type: ignore[operator]
            return [v for v in (root, root + 1, root - 1) if v >= least]

        return solve

    def spread(
        self, conditions: Sequence[Condition], near: Point, number: int, names: Collection[str]
    ) -> list[dict[str, Value]]:
        """Points in general position that meet all conditions, some of them near the edges.
        `names`: of what is varied."""
        pools = {v.name: self.pool(v) for v in self.tracer.variables if v.name in names}
        for name, pool in pools.items():
            base = self.tracer.base[name]
            if isinstance(base, int):  # where a table grows with the square, it takes minutes
                most = max(limits.FURTHEST * base, 64, *self.tracer.constants) + 1
                pools[name] = [value for value in pool if value <= most]  # type: ignore[operator]
        meets = truth_of_all(conditions)
        edges = [
            (c, [(name, self.solver(c, name)) for name in sorted(c.names & pools.keys())])
            for c in conditions
            if c.operation == "==" or c is conditions[-1]
        ]
        points: list[dict[str, Value]] = []
        for tries in range(limits.RANDOM):
            share = (1.0, 0.5, 0.25, 1.0)[tries % 4]
            point = dict(near)
            for name, values in pools.items():
                if tries % 4 == 3:  # where what is small is made in another way
                    values = [v for v in values if v in _LOW] or values
                if self.random.random() < share:
                    point[name] = self.random.choice(values)
            for condition, solvers in edges:
                if solvers and (condition.operation == "==" or tries % 2):
                    name, solve = self.random.choice(solvers)
                    for value in solve(point)[:1]:
                        point[name] = value
            if meets(point) and point not in points:
                points.append(point)
            if len(points) == number:
                break
        return points
