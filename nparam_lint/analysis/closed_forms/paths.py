"""The paths that a constructor takes: a tree of its decisions, all sides of which are built."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.analysis.closed_forms.conditions import Condition
    from nparam_lint.analysis.closed_forms.point_search import PointSearch
    from nparam_lint.analysis.closed_forms.traced_runs import Run, Tracer

LEAVES = 40  # paths of which the forms are derived
ROUNDS = 12  # of building the other sides of what was met


class Diverged(Exception):
    """Two builds took the same decisions and then went other ways."""

    def __init__(self, one: Run, other: Run) -> None:
        super().__init__()
        self.runs = one, other


@dataclass(eq=False)
class PathNode:
    """A decision with both its sides, or a path's end with the runs that came there. `conditions`:
    those on the way to it."""

    conditions: list[Condition] = field(default_factory=list)
    decision: Condition | None = None
    sides: dict[bool, PathNode] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)
    is_out_of_reach: bool = False  # no point was found there

    def decide(self, condition: Condition) -> None:
        """Become a decision."""
        self.decision = condition
        both = {True: condition, False: condition.negated}
        self.sides = {side: PathNode([*self.conditions, one]) for side, one in both.items()}

    @property
    def is_refused(self) -> bool:
        return all(run.error is not None for run in self.runs)

    def ends(self) -> Iterator[PathNode]:
        """All of them at or below it, also where nothing was built."""
        if self.decision is None:
            yield self
        for side in self.sides.values():
            yield from side.ends()

    def built(self) -> list[Run]:
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
                for one in early:
                    node.sides[self.tracer.test(condition)(one.point)].runs.append(one)
            if node.decision not in (condition, condition.negated):
                raise Diverged(node.built()[0], run)
            node = node.sides[node.decision == condition]
        if node.decision is not None and run.error is None:
            raise Diverged(node.built()[0], run)
        while node.decision is not None:  # refused, where others went on
            node = node.sides[self.tracer.test(node.decision)(run.point)]
        node.runs.append(run)

    def leaves(self) -> list[PathNode]:
        return [end for end in self.root.ends() if end.runs]

    def missing(self) -> list[PathNode]:
        """Sides that nothing was built on, and that may be within reach."""
        return [end for end in self.root.ends() if not end.runs and not end.is_out_of_reach]

    def explore(self, search: PointSearch) -> None:
        """Build on all sides, as far as points are found and within LEAVES."""
        for _ in range(ROUNDS):
            todo = self.missing()[: max(0, LEAVES - len(self.leaves()))]
            points = []
            for end in todo:
                near = self.neighbour(end)
                point = search.satisfying(end.conditions, near.point)
                if point is None:
                    end.is_out_of_reach = True
                else:
                    points.append((end, point))
            if not points or self.tracer.is_late():
                return
            runs = self.tracer.build([point for _, point in points])
            for (end, _), run in zip(points, runs, strict=True):
                if run is None:
                    end.is_out_of_reach = True
                else:
                    self.insert(run)

    def neighbour(self, end: PathNode) -> Run:
        """A run that took the same decisions as far as possible."""
        node, runs = self.root, self.root.built()
        for condition in end.conditions:
            node = node.sides[node.decision == condition]
            runs = node.built() or runs
        return runs[0]
