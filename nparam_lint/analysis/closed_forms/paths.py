"""The paths that a constructor takes: a tree of its decisions, all sides of which are built."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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


@dataclass
class PathNode:
    """A decision with both its sides, or a path's end with the runs that came there."""

    condition: Condition | None = None
    sides: dict[bool, PathNode] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)
    is_out_of_reach: bool = False  # no point was found there


@dataclass
class Leaf:
    conditions: list[Condition]
    node: PathNode

    @property
    def runs(self) -> list[Run]:
        return self.node.runs

    @property
    def is_refused(self) -> bool:
        return all(run.error is not None for run in self.runs)


class PathTree:
    """`ignored`: places of decisions that are part of a loop, and are fitted instead."""

    def __init__(self, tracer: Tracer, ignored: frozenset[str]) -> None:
        self.tracer, self.ignored = tracer, ignored
        self.root = PathNode()

    def insert(self, run: Run) -> None:
        """Raises Diverged."""
        node = self.root
        for condition in (d.condition for d in run.decisions if d.place not in self.ignored):
            if node.condition is None:
                if node.runs and any(one.error is None for one in node.runs):
                    raise Diverged(node.runs[0], run)
                early, node.runs = node.runs, []  # refused before they came here
                node.condition = condition
                node.sides = {True: PathNode(), False: PathNode()}
                for one in early:
                    node.sides[self.tracer.test(node.condition)(one.point)].runs.append(one)
            if node.condition not in (condition, condition.negated):
                raise Diverged(next(runs_below(node)), run)
            node = node.sides[node.condition == condition]
        if node.condition is not None:
            if run.error is None:
                raise Diverged(next(runs_below(node)), run)
            while node.condition is not None:  # refused, where others went on
                node = node.sides[self.tracer.test(node.condition)(run.point)]
        node.runs.append(run)

    def leaves(self) -> list[Leaf]:
        return [leaf for leaf in self.ends() if leaf.runs]

    def missing(self) -> list[Leaf]:
        """Sides that nothing was built on, and that may be within reach."""
        return [end for end in self.ends() if not end.runs and not end.node.is_out_of_reach]

    def ends(self, node: PathNode | None = None, above: Sequence[Condition] = ()) -> Iterator[Leaf]:
        """All of them, also where nothing was built; those below a node, if that is given."""
        node = node or self.root
        if node.condition is None:
            yield Leaf([*above], node)
            return
        for side, below in node.sides.items():
            condition = node.condition if side else node.condition.negated
            yield from self.ends(below, [*above, condition])

    def explore(self, search: PointSearch) -> None:
        """Build on all sides, as far as points are found and within LEAVES."""
        for _ in range(ROUNDS):
            todo = self.missing()[: max(0, LEAVES - len(self.leaves()))]
            points = []
            for end in todo:
                near = self.neighbour(end)
                point = search.satisfying(end.conditions, near.point)
                if point is None:
                    end.node.is_out_of_reach = True
                else:
                    points.append((end, point))
            if not points or self.tracer.is_late():
                return
            runs = self.tracer.build([point for _, point in points])
            for (end, _), run in zip(points, runs, strict=True):
                if run is None:
                    end.node.is_out_of_reach = True
                else:
                    self.insert(run)

    def neighbour(self, end: Leaf) -> Run:
        """A run that took the same decisions as far as possible."""
        node, best = self.root, next(runs_below(self.root))
        for condition in end.conditions:
            assert node.condition is not None
            node = node.sides[node.condition == condition]
            best = next(runs_below(node), best)
        return best


def runs_below(node: PathNode) -> Iterator[Run]:
    """Those that were built, first."""
    below = (run for side in node.sides.values() for run in runs_below(side))
    yield from sorted([*node.runs, *below], key=lambda run: run.error is not None)
