"""What a constructor loses of its arguments, and the tree of its paths."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING

from msgspec import Struct, field

from nparam_lint.analysis.closed_forms import limits
from nparam_lint.analysis.closed_forms.conditions import truth_of_all
from nparam_lint.analysis.closed_forms.observations import differs
from nparam_lint.analysis.closed_forms.paths import Diverged, PathTree, PointSearch
from nparam_lint.analysis.closed_forms.polynomial import Polynomial

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from nparam_lint.analysis.closed_forms.conditions import Condition
    from nparam_lint.analysis.closed_forms.observations import Value
    from nparam_lint.analysis.closed_forms.traced_runs import Run, Tracer

LOOP = "a loop"  # what was lost in a way that a fit makes good
IN_LOOP = "decisions in a loop"
UNSEEN = "a loop or an index"  # what torch, or Python itself, did not ask for


class Learned(Struct):
    """What is known of a constructor, in all cases. `lost`: variables that cannot be followed, and
    what showed it; `pinned`: those that no form was found in, which keep their values; `ignored`:
    places of decisions inside loops; `fixed`: what cannot be varied, and why; `deadline`: for all
    that is derived."""

    lost: dict[str, str] = field(default_factory=dict)
    pinned: list[str] = field(default_factory=list)
    ignored: set[str] = field(default_factory=set)
    fixed: dict[str, str] = field(default_factory=dict)
    deadline: float = field(default_factory=lambda: time.monotonic() + limits.SECONDS)

    def pin(self, lost: Mapping[str, str]) -> bool:
        """Give up one of the variables that were lost; whether there was any. What was learned is
        learned anew without it. Loops come late, as they are fitted, but before the decisions in
        them, which are like others where the loop always runs as often."""
        places = {LOOP: 1, IN_LOOP: 2}
        order = sorted(lost, key=lambda name: places.get(lost[name], 0))
        self.pinned += order[:1]
        for memory in (self.lost, self.ignored, self.fixed):
            memory.clear()
        return bool(order)

    @property
    def seconds_left(self) -> float:
        return self.deadline - time.monotonic()

    @property
    def is_late(self) -> bool:
        """Whether no more should be begun."""
        return self.seconds_left <= limits.LAST_SECONDS


class Exploration:
    """The builds that show what a count depends on. `base`: the run of the call; `is_large`: each
    build takes long, so that there are fewer."""

    base: Run

    def __init__(
        self, tracer: Tracer, hints: Sequence[int], learned: Learned, *, is_large: bool
    ) -> None:
        self.tracer, self.hints, self.is_large = tracer, hints, is_large
        self.learned = learned
        self.lost, self.ignored = learned.lost, learned.ignored
        self.fixed = learned.fixed
        self.search = PointSearch(tracer, self.lost)

    def ignore_loops(self, run: Run) -> None:
        """What is asked on one line with one number after another is asked in a loop: with two,
        where a loop is known, or with many, as `width in range(2000, 4000)` asks."""
        most = 1 if self.lost else limits.COMPARED_NUMBERS
        comparisons: dict[tuple[str, bool, Polynomial], set[Condition]] = defaultdict(set)
        for condition, place in run.decisions.items():
            form = condition.form - Polynomial.constant(condition.form.constant_term)
            for variable_part in (form, -form):
                comparisons[place, condition.operation == ">=", variable_part].add(condition)
        for (place, _, variable_part), conditions in comparisons.items():
            if variable_part.terms and len(conditions) > most:
                self.ignored.add(place)
                self.lose(variable_part.names, IN_LOOP)

    def vary_alone(self) -> list[Run]:
        """Each variable with a few other values, on the path of the call."""
        conditions = [c for c, at in self.base.decisions.items() if at not in self.ignored]
        holds = truth_of_all(conditions)
        number = 1 if self.is_large else limits.VALUES_ALONE
        points: list[tuple[str, Value]] = []
        for variable in self.tracer.variables:
            name, base = variable.name, variable.base
            values = [
                value
                for value in self.search.pool(variable)
                if differs(value, base) and holds({**self.base.point, name: value})
            ]
            most = 4 * abs(base) + 8 if isinstance(base, int | float) else 0
            near = [v for v in values if isinstance(v, int | float) and v <= most]
            points += [(name, value) for value in (near or values)[:number]]
        answers = self.tracer.build([{name: value} for name, value in points])
        runs: list[Run] = []
        varied: set[str] = set()
        refused: dict[str, str] = {}
        for (name, _), run in zip(points, answers, strict=True):
            # Refused without any other decision than those of the call.
            if run and run.error is not None and run.decisions.keys() <= self.base.decisions.keys():
                refused.setdefault(name, run.error)
            elif run:
                runs.append(run)
                varied.add(name)
                self.differ(self.base, run, {name})
        self.fixed.update((n, error) for n, error in refused.items() if n not in varied)
        return runs

    def differ(self, first: Run, second: Run, names: set[str]) -> None:
        """Learn what is lost, where two builds on the same path differ in more than the values of
        these `names`."""
        both = first.decisions | second.decisions
        extra = {c: both[c] for c in first.decisions.keys() ^ second.decisions.keys()}
        sides = {c for c in extra if c.negated in extra}
        extra = {c: p for c, p in extra.items() if c not in sides and p not in self.ignored}
        if second.error is not None or (sides and not extra):
            return  # another path, that is all
        if extra:
            self.ignored |= set(extra.values())
            self.lose({n for c in extra for n in c.names} | (set() if sides else names), IN_LOOP)
        elif first.form != second.form:
            self.lose(names, UNSEEN)

    def lose(self, names: Collection[str], why: str) -> None:
        for name in self.tracer.names:  # in their order, so that each run tells the same
            if name in names:
                self.lost.setdefault(name, why)

    def path_tree(self, runs: list[Run]) -> PathTree | None:
        """The tree of all paths; None where builds differ for no visible reason."""
        for _ in range(limits.RESTARTS):
            tree = PathTree(self.tracer, frozenset(self.ignored))
            try:
                for run in runs:
                    tree.insert(run)
                tree.explore(self.search)
                return tree
            except Diverged as error:
                first, second = error.runs
                names = {n for n, v in first.point.items() if differs(v, second.point[n])}
                before = set(self.lost), set(self.ignored)
                self.differ(first, second, names)
                if before == (set(self.lost), set(self.ignored)):
                    return None
                runs = [run for run in self.tracer.runs.values() if run is not None]
        return None
