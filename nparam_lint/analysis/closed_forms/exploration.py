"""What a constructor loses of its arguments, and the tree of its paths."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.observations import differs
from nparam_lint.analysis.closed_forms.paths import Diverged, PathTree, PointSearch
from nparam_lint.analysis.closed_forms.polynomial import Polynomial

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nparam_lint.analysis.closed_forms.conditions import Condition
    from nparam_lint.analysis.closed_forms.observations import Value
    from nparam_lint.analysis.closed_forms.traced_runs import Run, Tracer

SECONDS = 40.0  # for the forms of a model; what is not found by then is left out
ALONE = 3  # values with which each variable is tried alone
RESTARTS = 8  # where another variable turns out to be lost
LOOP = "a loop"  # what was lost in a way that a fit makes good
IN_LOOP = "decisions in a loop"
UNSEEN = "a loop or an index"  # what torch, or Python itself, did not ask for


@dataclass
class Learned:
    """What is known of a constructor, in all cases. `lost`: variables that cannot be followed, and
    what showed it; `ignored`: places of decisions inside loops; `choices`: the values of what has a
    few only; `fixed`: what cannot be varied, and why; `deadline`: for all that is derived;
    `points`: one on each path, which the next case builds at once: most of its paths are these."""

    lost: dict[str, str] = field(default_factory=dict)
    ignored: set[str] = field(default_factory=set)
    choices: dict[str, list[Value]] = field(default_factory=dict)
    fixed: dict[str, str] = field(default_factory=dict)
    deadline: float = field(default_factory=lambda: time.monotonic() + SECONDS)
    points: list[Mapping[str, Value]] = field(default_factory=list)

    @property
    def seconds_left(self) -> float:
        return self.deadline - time.monotonic()

    @property
    def is_late(self) -> bool:
        """Whether no more should be begun."""
        return self.seconds_left <= 0


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
        self.choices, self.fixed = learned.choices, learned.fixed
        self.search = PointSearch(tracer, self.lost)

    def ignore_loops(self, run: Run) -> None:
        """What is asked on one line with one number after another is asked in a loop."""
        met: dict[tuple[str, bool, Polynomial], set[Condition]] = {}
        for condition, place in run.decisions.items():
            form, is_bound = condition.form, condition.operation == ">="
            constant = Polynomial.of({m: c for m, c in form.terms if not m})
            for rest in (form - constant, constant - form):
                met.setdefault((place, is_bound, rest), set()).add(condition)
        for (place, _, rest), conditions in met.items():
            if rest.terms and len(conditions) > 1:
                self.ignored.add(place)
                self.lose(set(rest.names), IN_LOOP)

    def vary_alone(self) -> list[Run]:
        """Each variable with a few other values, on the path of the call."""
        conditions = list(self.base.decisions)
        todo: list[tuple[str, Value]] = []
        for variable in self.tracer.variables:
            values = [
                value
                for value in self.search.pool(variable)
                if differs(value, variable.base)
                and self.tracer.holds(conditions, {**self.base.point, variable.name: value})
            ]
            base = variable.base
            most = 4 * abs(base) + 8 if isinstance(base, int | float) else 0
            near = [v for v in values if isinstance(v, int | float) and v <= most]
            number = 1 if self.is_large else ALONE
            todo += [(variable.name, value) for value in (near or values)[:number]]
        runs = self.tracer.build([{name: value} for name, value in todo])
        refused: dict[str, list[Run]] = {}
        kept = []
        for (name, _), run in zip(todo, runs, strict=True):
            if run is None:
                continue
            # It took no other decision than the call.
            if run.error is not None and run.decisions.keys() <= self.base.decisions.keys():
                refused.setdefault(name, []).append(run)
                continue
            kept.append(run)
            self.differ(self.base, run, {name})
        for name, failed in refused.items():
            kept += self.few_values(name, failed)
        return kept

    def few_values(self, name: str, failed: Sequence[Run]) -> list[Run]:
        """What takes some values only, for a reason that no decision shows: a key of a table."""
        tried = [run.point[name] for run in failed]
        whole = name in self.tracer.whole
        more = [v for v in (*self.hints, *range(1, 17)) if v not in tried] if whole else []
        points = [{name: value} for value in dict.fromkeys(more) if value != self.base.point[name]]
        built = self.tracer.accepted(points)
        if not built:
            self.fixed[name] = failed[0].error or ""
            return []
        for run in built:
            self.differ(self.base, run, {name})
        self.choices[name] = [self.base.point[name], *(run.point[name] for run in built)]
        return built

    def differ(self, one: Run, other: Run, changed: set[str]) -> None:
        """Learn what is lost, where two builds on the same path differ in more than the values of
        what was `changed`."""
        first, second = one.decisions, other.decisions
        extra = {c: p for c, p in (first | second).items() if (c in first) != (c in second)}
        sides = {c for c in extra if c.negated in extra}
        extra = {c: p for c, p in extra.items() if c not in sides and p not in self.ignored}
        if other.error is not None or (sides and not extra):
            return  # another path, that is all
        if extra:
            self.ignored |= set(extra.values())
            names = {n for c in extra for n in c.names} | (changed if not sides else set())
            self.lose(names, IN_LOOP)
        elif one.form != other.form:
            self.lose(changed, UNSEEN)

    def lose(self, names: set[str], why: str) -> None:
        for name in self.tracer.names:  # in their order, so that each run tells the same
            if name in names:
                self.lost.setdefault(name, why)

    def grown(self, runs: list[Run]) -> PathTree | None:
        """The tree of all paths; None where builds differ for no visible reason."""
        for _ in range(RESTARTS):
            tree = PathTree(self.tracer, frozenset(self.ignored))
            try:
                for run in runs:
                    tree.insert(run)
                tree.explore(self.search)
                return tree
            except Diverged as error:
                one, other = error.runs
                changed = {n for n, v in one.point.items() if differs(v, other.point[n])}
                before = set(self.lost), set(self.ignored)
                self.differ(one, other, changed)
                if before == (set(self.lost), set(self.ignored)):
                    places = {*one.decisions.values()} ^ {*other.decisions.values()}
                    if not places - self.ignored:
                        return None
                    self.ignored |= places
                    self.lose(changed, IN_LOOP)
                runs = [run for run in self.tracer.runs.values() if run is not None]
        return None
