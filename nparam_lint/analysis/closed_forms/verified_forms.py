"""The forms of all paths: fitted where something was lost, and verified."""

from __future__ import annotations

from itertools import islice
from math import inf
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from nparam_lint.analysis.closed_forms import limits
from nparam_lint.analysis.closed_forms.conditions import truth_of_all
from nparam_lint.analysis.closed_forms.exploration import IN_LOOP, LOOP, UNSEEN, Exploration
from nparam_lint.analysis.closed_forms.observations import differs
from nparam_lint.analysis.closed_forms.path_forms import total_form, variables_of
from nparam_lint.analysis.closed_forms.polynomial import Polynomial

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nparam_lint.analysis.closed_forms.observations import Point, Value
    from nparam_lint.analysis.closed_forms.path_forms import Symbols
    from nparam_lint.analysis.closed_forms.paths import PathNode, PathTree
    from nparam_lint.analysis.closed_forms.polynomial import Number
    from nparam_lint.analysis.closed_forms.traced_runs import Run

USES = {  # what became of a value, in words
    "key": "a key of a table",
    "int()": "made a plain number",
    "float()": "made a plain number",
    "text": "made a text",
    "shape": "a tensor that was joined or cut",
}

Doubt = tuple[tuple[str, ...], str]  # variables, and what is not proved about them


class PathForm(Struct):
    """The form of the path to `leaf`. `runs`: those that it is right for; `symbols`: what it was
    fitted in."""

    total: Polynomial
    runs: list[Run]
    doubts: list[Doubt]
    leaf: PathNode
    symbols: Symbols


class PathForms(Exploration):
    """The forms of the paths of a tree."""

    def is_of_call(self, form: PathForm) -> bool:
        return self.meets(form.leaf, self.base.point)

    def forms(self, tree: PathTree) -> list[PathForm] | None:
        """Those that were verified, that of the call first, then others while there is time; None
        where something was learned that makes others."""
        leaves = [leaf for leaf in tree.leaves() if not leaf.is_refused]
        leaves.sort(key=lambda leaf: not self.meets(leaf, self.base.point))
        forms: list[PathForm] = []
        for some_leaves in (leaves[:1], leaves[1:]):
            samples = self.samples(some_leaves).items()
            more_forms = self.verified(
                [f for leaf, runs in samples for f in self.of_leaf(leaf, runs)]
            )
            if more_forms is None or (not forms and not more_forms and self.lose_joined()):
                return None
            forms += more_forms
        return forms

    def lose_joined(self) -> bool:
        """Lose what a tensor's length was taken for by its value, which others may have too;
        whether that was new."""
        before = len(self.lost)
        for kind, form in self.base.lost:
            self.lose(form.names if kind == "shape" else (), USES["shape"])
        return len(self.lost) > before

    def samples(self, leaves: Sequence[PathNode]) -> dict[PathNode, list[Run]]:
        """Node of a path → runs on it with several values of what was lost."""
        groups = self.tracer.build_groups([self.grid(leaf) for leaf in leaves])
        samples = {}
        for leaf, runs in zip(leaves, groups, strict=True):
            good = {id(run): run for run in [*leaf.runs, *runs] if run.error is None}
            samples[leaf] = list(good.values())
        return samples

    def grid(self, leaf: PathNode) -> list[dict[str, Value]]:
        if not self.lost:
            return []
        start = next(run for run in leaf.runs if run.error is None).point
        lines = {name: self.line(name, leaf, start) for name in self.lost}
        points = [{**start, name: value} for name, values in lines.items() for value in values]
        if len(self.lost) > 1:
            draw = self.search.random
            number, among = (
                (limits.LARGE_GRID, limits.NEAREST) if self.is_large else (limits.GRID, None)
            )
            points += [
                {**start, **{name: draw.choice(values[:among]) for name, values in lines.items()}}
                for _ in range(number * (len(self.lost) - 1))
            ]
        return list({tuple(p.items()): p for p in points if self.meets(leaf, p)}.values())

    def line(self, name: str, leaf: PathNode, start: Point) -> list[Value]:
        """Values of a lost variable on a path: small ones, then ever larger ones, unless it is the
        number of something."""
        base = self.tracer.base[name]
        if not isinstance(base, int):
            return [base, *(base * f for f in (0.5, 2.0, 1.5, 3.0))]  # type: ignore[operator]
        values = [*range(self.tracer.least[name], limits.LINE - 2 * self.is_large), base]
        if base > 3 * limits.LINE:
            points = [{**start, name: number} for number in (base, 2 * base)]
            (runs,) = self.tracer.build_groups([points])
            most = self.most(name, [run for run in runs if run.error is None])
            steps = (base + step for step in (0, 1, -1, 2, 3, 5, base, -(base // 2)))
            larger = (*steps, *(n << k for k in range(2, 12) for n in (1, 3)))
            values += [value for value in larger if value <= most]

        def on_path(values: Iterable[Value]) -> list[Value]:
            return [v for v in dict.fromkeys(values) if self.meets(leaf, {**start, name: v})]

        line = on_path(values)
        if len(line) < limits.LINE // 2:
            variable = next(v for v in self.tracer.variables if v.name == name)
            line += on_path(v for v in self.search.pool(variable) if v not in line)[: limits.LINE]
        return line or [start[name]]

    def most(self, name: str, runs: Sequence[Run]) -> Number | float:
        """The largest value that is tried: of what counts layers, no more than are soon made."""
        is_repeated = len({len(run.parameters) for run in runs}) > 1
        return 4 * self.base.numbers[name] + limits.DEEP if is_repeated else inf

    def meets(self, leaf: PathNode, point: Point) -> bool:
        return truth_of_all(leaf.conditions)(point)

    def of_leaf(self, leaf: PathNode, runs: Sequence[Run]) -> list[PathForm]:
        for symbols in self.ways_to_fit(runs) if not self.tracer.is_late() else ():
            total = total_form(runs, symbols)
            if total is None:
                continue
            # Each lost variable in it had more values than a straight line needs.
            fitted = variables_of(symbols) & total.names
            if all(len({run.point[name] for run in runs}) >= 4 for name in fitted):
                return [self.path_form(leaf, runs, symbols, total)]
        return []

    def ways_to_fit(self, runs: Sequence[Run]) -> list[Symbols]:
        variables = {name: Polynomial.generator(name) for name in self.lost}
        loops = {
            form
            for run in runs
            for kind, form in run.lost
            if kind == "loop" and form.names and form.names <= variables.keys()
        }
        if loops <= {*variables.values()}:
            return [variables]
        numbered = enumerate(sorted(loops, key=repr))
        return [{f"#{number}": form for number, form in numbered}, variables]

    def path_form(
        self, leaf: PathNode, runs: Sequence[Run], symbols: Symbols, total: Polynomial
    ) -> PathForm:
        unproved = [n for n in symbols if n in total.names and self.lost.get(n) != LOOP]
        doubts: list[Doubt] = [((name,), self.lost[name]) for name in unproved]
        for kind, form in dict.fromkeys(lost for run in runs for lost in run.lost):
            if kind in USES and form.names:
                doubts.append((tuple(sorted(form.names)), USES[kind]))
        doubts += [((name,), why) for name, why in self.lost.items() if why == IN_LOOP]
        return PathForm(total, list(runs), doubts, leaf, symbols)

    # --- verification ---

    def verified(self, forms: Sequence[PathForm]) -> list[PathForm] | None:
        """The forms that are right at points that were chosen to break them; None where a mistake
        shows that another variable is lost."""
        points = [self.trials(form) for form in forms]
        groups = self.tracer.build_groups(points)
        verified = []
        for form, trials, runs in zip(forms, points, groups, strict=True):
            if trials and not runs:
                continue
            good = [run for run in runs if run.error is None]
            wrong = next((run for run in good if not self.is_right(form.total, run)), None)
            if wrong is None:
                verified.append(replace(form, runs=[*form.runs, *good]))
            elif self.learn(form, wrong):
                return None
        return verified

    def trials(self, form: PathForm) -> list[Point]:
        """Points on a form's path, also beyond the values that it was fitted with."""
        is_wide = self.is_of_call(form) and not self.is_large
        number = limits.BASE_VERIFIED if is_wide else limits.VERIFIED
        near, values = form.runs[0].point, limits.FURTHER[:1] if self.is_large else limits.FURTHER
        loops = [name for name in self.lost if name in self.tracer.whole]
        further = ({**near, name: value} for name in loops for value in values)
        varied = [name for name in self.tracer.names if name not in self.fixed]
        return [
            *self.search.spread(form.leaf.conditions, near, number, varied),
            *(point for point in further if self.meets(form.leaf, point)),
            *self.at_literals(form, limits.LITERALS if is_wide else limits.FEW_LITERALS),
        ]

    def at_literals(self, form: PathForm, number: int) -> list[Point]:
        """At numbers that stand in the source, and beside them; where a number was made a text,
        also with more and fewer digits."""
        start, least = form.runs[0], self.tracer.least
        texts = {name for kind, lost in start.lost if kind == "text" for name in lost.names}
        names = [n for n in self.tracer.names if n in self.tracer.whole and n not in self.fixed]
        most = {n: self.most(n, form.runs) if n in self.lost else inf for n in names}
        places = [(name, literal) for name in names if name in texts for literal in limits.DIGITS]
        places += [(name, literal) for literal in self.hints for name in names]
        points: Iterator[Point] = (
            {**start.point, name: literal + step}
            for name, literal in places
            for step in (0, 1, -1)
            if least[name] <= literal + step <= most[name]
        )
        return list(islice((p for p in points if self.meets(form.leaf, p)), number))

    def learn(self, form: PathForm, wrong: Run) -> bool:
        """Whether the variables are found that a form has to know more of: those without whose
        change it is right."""
        start = form.runs[0].point
        points = {
            name: {**wrong.point, name: start[name]}
            for name, value in wrong.point.items()
            if differs(value, start[name]) and name not in self.lost
        }
        points = {name: point for name, point in points.items() if self.meets(form.leaf, point)}
        runs = self.tracer.build([*points.values()])
        names = {
            name
            for name, run in zip(points, runs, strict=True)
            if run is not None and run.error is None and self.is_right(form.total, run)
        }
        self.lose(names, UNSEEN)
        return bool(names)

    def is_right(self, total: Polynomial, run: Run) -> bool:
        try:
            return total.value(run.numbers) == run.total
        except (ArithmeticError, KeyError):
            return False
