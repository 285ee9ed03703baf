"""The closed form of a count: the constructor is run with numbers that carry their expression, on
all sides of the decisions that it takes; what counts loops is fitted, in these numbers alone.

Nothing is taken on trust: a form is returned only if it has the right value at every point that was
built on its path, including points that were chosen afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.compiled_form import substituted
from nparam_lint.analysis.closed_forms.conditions import Condition
from nparam_lint.analysis.closed_forms.expressions import at
from nparam_lint.analysis.closed_forms.form_records import ClosedForm, Derived, NoForm
from nparam_lint.analysis.closed_forms.implications import solved
from nparam_lint.analysis.closed_forms.observations import Built, differs, whole_numbers
from nparam_lint.analysis.closed_forms.path_forms import Fitted, form_of, shape_forms
from nparam_lint.analysis.closed_forms.paths import Diverged, Leaf, PathTree
from nparam_lint.analysis.closed_forms.point_search import PointSearch
from nparam_lint.analysis.closed_forms.polynomial import Polynomial
from nparam_lint.analysis.closed_forms.regions import Case, Rule, merged
from nparam_lint.analysis.closed_forms.traced_runs import Run, Tracer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Protocol

    from nparam_lint.analysis.closed_forms.form_records import ShapeForm
    from nparam_lint.analysis.closed_forms.observations import BuildHistory, Point, Value, Variable
    from nparam_lint.analysis.closed_forms.paths import Node
    from nparam_lint.analysis.closed_forms.traced_runs import Test
    from nparam_lint.records import Traces

    class TracedModel(Protocol):
        """`hints`: whole numbers in its source."""

        @property
        def hints(self) -> Sequence[int]: ...

        def trace(self, points: Sequence[Point]) -> Traces | None: ...
        def is_counted(self, name: str, is_trained: bool) -> bool: ...


MANY = 128  # parameters; of a larger model a smaller version is built, if its arguments allow it
FEW = 4  # layers, experts, … that it has then
ALONE = 3  # values with which each variable is tried alone
RESTARTS = 8  # where another variable turns out to be lost
VERIFIED = 6  # points at which the form of a path is verified
BASE_VERIFIED = 16  # the same, on the path of the call
LOOP = "a loop"  # what was lost in a way that a fit makes good
IN_LOOP = "decisions in a loop"
USES = {  # what became of a value, in words
    "key": "a key of a table",
    "int()": "made a plain number",
    "float()": "made a plain number",
    "shape": "a tensor that was joined or cut",
}
LINE, GRID = 9, 40  # points along one lost variable, and in several
FURTHER = (11, 14, 19)  # values of what was fitted, beyond those of the fit
KEPT = 8  # values of a choice for which forms are derived


def shallow(history: BuildHistory, variables: Sequence[Variable], first: Built) -> dict[str, Value]:
    """Fewer layers and experts if there are many: forms are derived from small models, which are
    built quickly, and are then verified with the requested one."""
    if len(first.tensors) < MANY:
        return {}
    bases = {name: base for name, base in whole_numbers(variables).items() if base > FEW}
    more = history.build([{name: base + 1} for name, base in bases.items()])
    deep = [
        name
        for name, (_, built) in zip(bases, more, strict=True)
        if isinstance(built, Built) and len(built.tensors) > len(first.tensors)
    ]
    if not deep:
        return {}
    ways: list[dict[str, Value]] = [dict.fromkeys(deep, FEW)]
    ways += [{name: FEW} for name in deep]
    done = zip(ways, history.build(ways), strict=True)
    return next((way for way, (_, built) in done if isinstance(built, Built)), {})


def derive(
    history: BuildHistory,
    variables: Sequence[Variable],
    traces: TracedModel,
    case: Point | None = None,
) -> list[Derived]:
    """The closed forms in those of the `variables` that are numbers, one for each part of their
    values, that of the call first; in a `case`, with other values for other variables."""
    history, case = history.case(case or {}), case or {}
    ((asked, first),) = history.build([{}])
    if not isinstance(first, Built):
        return [NoForm(f"the model cannot be built: {first.reason}", case=case)]
    small = shallow(history, variables, first)
    numbers = [replace(v, base=small.get(v.name, v.base)) for v in variables if v.is_number]
    others = {v.name: asked[v.name] for v in variables if not v.is_number}
    base = {v.name: v.base for v in numbers}
    tracer = Tracer(
        lambda points: traces.trace([{**others, **point} for point in points]),
        traces.is_counted,
        numbers,
        base,
    )
    found = Derivation(tracer, {n: asked[n] for n in base}, traces.hints).run()
    if isinstance(found, NoForm):
        return [replace(found, case=case)]
    return [replace(form, case=case, base={**others, **form.base}) for form in found]


@dataclass
class PathForm:
    """The form of the paths that meet `conditions`. `runs`: those that it is right for; `why`: what
    is not proved about it."""

    total: Polynomial
    conditions: list[Condition]
    runs: list[Run]
    why: list[str]
    leaf: Node
    shapes: list[ShapeForm] = field(default_factory=list)


def _equals(name: str, value: Value) -> Test:
    return lambda point: point[name] == value


class Derivation:
    """`asked`: the arguments of the call that was asked about."""

    def __init__(self, tracer: Tracer, asked: Mapping[str, Value], hints: Sequence[int]) -> None:
        self.tracer, self.asked = tracer, asked
        self.search = PointSearch(tracer)
        self.hints = hints
        self.lost: dict[str, str] = {}  # variables that cannot be followed, and what showed it
        self.ignored: set[str] = set()  # places of decisions inside loops
        self.choices: dict[str, list[Value]] = {}  # of what has a few values only
        self.fixed: dict[str, str] = {}  # what cannot be varied, and why

    # --- the course of it ---

    def run(self) -> list[ClosedForm] | NoForm:
        (base,) = self.tracer.build([{}])
        if base is None:
            return NoForm("the model cannot be built with traced numbers")
        if base.error is not None:
            return NoForm(f"the model cannot be built: {base.error}")
        self.base = base
        for kind, form in base.lost:
            if kind == "loop":
                self.lose(set(form.names), LOOP)
        if self.lost:
            self.ignore_loops(base)
        alone = self.vary_alone()
        tree = self.grown([base, *alone])
        if tree is None:
            return NoForm("builds with the same decisions give different models")
        forms = self.forms(tree)
        for _ in range(RESTARTS):
            if forms is not None:
                break
            forms = self.forms(tree)
        if not any(self.is_asked(form) for form in forms or ()):
            return NoForm("no closed form found", self.lost)
        found = self.closed(tree, forms or [])
        if found:
            return found
        only = "the model can only be built as called"
        why = next(iter(self.fixed.values()), "")
        few = "too few other arguments could be built to verify a form"
        return NoForm(f"{only}: {why}" if why else few, self.lost)

    def ignore_loops(self, run: Run) -> None:
        """What is asked on one line with one number after another is asked in a loop."""
        met: dict[tuple[str, Polynomial], set[Condition]] = {}
        for decision in run.decisions:
            form = decision.condition.form
            constant = Polynomial.of({m: c for m, c in form.terms if not m})
            for rest in (form - constant, constant - form):
                met.setdefault((decision.place, rest), set()).add(decision.condition)
        for (place, rest), conditions in met.items():
            if rest.terms and len(conditions) > 1:
                self.ignored.add(place)
                self.lose(set(rest.names), IN_LOOP)

    def is_asked(self, form: PathForm) -> bool:
        return self.tracer.holds(form.conditions, self.base.point)

    def vary_alone(self) -> list[Run]:
        """Each variable with a few other values, on the path of the call."""
        conditions = [d.condition for d in self.base.decisions]
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
            todo += [(variable.name, value) for value in (near or values)[:ALONE]]
        runs = self.tracer.build([{name: value} for name, value in todo])
        refused: dict[str, list[Run]] = {}
        kept = []
        for (name, _), run in zip(todo, runs, strict=True):
            if run is None:
                continue
            if run.error is not None and self.is_prefix(run):
                refused.setdefault(name, []).append(run)
                continue
            kept.append(run)
            self.compare(name, run)
        for name, failed in refused.items():
            kept += self.few_values(name, failed)
        self.search.repeated |= self.lost.keys()
        return kept

    def is_prefix(self, run: Run) -> bool:
        """Whether a refused build took no other decision than that of the call."""
        own = {d.condition for d in run.decisions}
        return own <= {d.condition for d in self.base.decisions}

    def few_values(self, name: str, failed: Sequence[Run]) -> list[Run]:
        """What takes some values only, for a reason that no decision shows: a key of a table."""
        tried = [run.point[name] for run in failed]
        whole = name in self.tracer.whole
        more = [v for v in (*self.hints, *range(1, 17)) if v not in tried] if whole else []
        points = [{name: value} for value in dict.fromkeys(more) if value != self.base.point[name]]
        found = [run for run in self.tracer.build(points) if run is not None]
        built = [run for run in found if run.error is None]
        if not built:
            self.fixed[name] = failed[0].error or ""
            return []
        for run in built:
            self.compare(name, run)
        self.choices[name] = [self.base.point[name], *(run.point[name] for run in built)]
        return built

    def compare(self, name: str, run: Run) -> None:
        """Learn that a variable is lost, where a build on the same path differs in more than its
        value."""
        self.differ(self.base, run, {name})

    def differ(self, one: Run, other: Run, changed: set[str]) -> bool:
        first, second = ({d.condition: d.place for d in run.decisions} for run in (one, other))
        extra = {c: p for c, p in (first | second).items() if (c in first) != (c in second)}
        sides = {c for c in extra if c.negated in extra}
        extra = {c: p for c, p in extra.items() if c not in sides and p not in self.ignored}
        if sides and not extra:
            return False  # another path, that is all
        if extra and other.error is None:
            self.ignored |= set(extra.values())
            names = {n for c in extra for n in c.names} | (changed if not sides else set())
            self.lose(names, IN_LOOP)
            return True
        if not extra and other.error is None and one.form != other.form:
            self.lose(changed, "a loop or an index")
            return True
        return False

    def lose(self, names: set[str], why: str) -> None:
        for name in names:
            if name in self.tracer.names:
                self.lost.setdefault(name, why)
        self.search.repeated |= self.lost.keys()

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
                    places = {d.place for d in one.decisions} ^ {d.place for d in other.decisions}
                    if not places - self.ignored:
                        return None
                    self.ignored |= places
                    self.lose(changed, IN_LOOP)
                runs = [run for run in self.tracer.runs.values() if run is not None]
        return None

    # --- forms ---

    def forms(self, tree: PathTree) -> list[PathForm] | None:
        """Those that were verified; None where something was learned that makes others."""
        leaves = [leaf for leaf in tree.leaves() if not leaf.is_refused]
        sampled = zip(leaves, self.samples(leaves), strict=True)
        samples = {id(leaf.node): runs for leaf, runs in sampled}
        found: list[PathForm] = []
        for leaf in leaves:
            found += self.of_leaf(leaf, samples[id(leaf.node)])
        kept = self.verified(found)
        if kept is None or not self.lost:
            return kept
        right = {id(form.leaf) for form in kept}
        again = [
            form
            for leaf in leaves
            if id(leaf.node) not in right
            for form in self.by_value(leaf, samples[id(leaf.node)])
        ]
        more = self.verified(again)
        return None if more is None else [*kept, *more]

    def samples(self, leaves: Sequence[Leaf]) -> list[list[Run]]:
        """For each path, runs with several values of what was lost."""
        points = [self.grid(leaf) for leaf in leaves]
        runs = iter(self.tracer.build([point for own in points for point in own]))
        found = []
        for leaf, own in zip(leaves, points, strict=True):
            built = [run for run in (next(runs) for _ in own) if run is not None]
            good = [run for run in [*leaf.runs, *built] if run.error is None]
            found.append(list({id(run): run for run in good}.values()))
        return found

    def grid(self, leaf: Leaf) -> list[dict[str, Value]]:
        if not self.lost:
            return []
        start = next(run for run in leaf.runs if run.error is None).point
        lines = {name: self.line(name, leaf, start) for name in self.lost}
        points = [{**start, name: value} for name, values in lines.items() for value in values]
        if len(self.lost) > 1:
            draw = self.search.random
            points += [
                {**start, **{name: draw.choice(values) for name, values in lines.items()}}
                for _ in range(GRID * (len(self.lost) - 1))
            ]
        kept = [p for p in points if self.tracer.holds(leaf.conditions, p)]
        return [dict(one) for one in {tuple(p.items()): p for p in kept}.values()]

    def line(self, name: str, leaf: Leaf, start: Point) -> list[Value]:
        """Values of a lost variable on a path: small ones, then ever larger ones, unless it is the
        number of something."""
        base = self.tracer.base[name]
        if name in self.choices:
            return self.choices[name]
        if not isinstance(base, int):
            return [base, *(base * f for f in (0.5, 2.0, 1.5, 3.0))]  # type: ignore[operator]
        values = [*range(int(self.tracer.least[name]), LINE), base]
        if base > 3 * LINE:
            steps = (base + step for step in (0, 1, -1, 2, 3, 5, base, -(base // 2)))
            values = [*values, *steps, *(n << k for k in range(2, 12) for n in (1, 3))]
        met = [v for v in dict.fromkeys(values) if self.meets(leaf, {**start, name: v})]
        if len(met) < LINE // 2:
            variable = next(v for v in self.tracer.variables if v.name == name)
            more = self.search.pool(variable)
            met += [v for v in more if v not in met and self.meets(leaf, {**start, name: v})][:LINE]
        return met or [start[name]]

    def meets(self, leaf: Leaf, point: Point) -> bool:
        return self.tracer.holds(leaf.conditions, point)

    def of_leaf(self, leaf: Leaf, runs: Sequence[Run]) -> list[PathForm]:
        for fitted in self.ways_to_fit(runs):
            total = form_of([run.form for run in runs], runs, fitted)
            if total is not None and self.is_supported(total, runs, fitted):
                return [self.path_form(leaf, leaf.conditions, runs, fitted, total)]
        return self.by_value(leaf, runs)

    def is_supported(self, total: Polynomial, runs: Sequence[Run], fitted: Fitted) -> bool:
        """Whether each lost variable in it had more values than a straight line needs."""
        for name in fitted.replaced():
            if name in total.names and len({run.point[name] for run in runs}) < 4:
                return False
        return True

    def ways_to_fit(self, runs: Sequence[Run]) -> list[Fitted]:
        if not self.lost:
            return [Fitted({})]
        own = {name: Polynomial.generator(name) for name in self.lost}
        loops = {
            form
            for run in runs
            for kind, form in run.lost
            if kind == "loop" and form.names and form.names <= own.keys()
        }
        ways = []
        if any(form not in own.values() for form in loops):
            numbered = enumerate(sorted(loops, key=repr))
            ways.append(Fitted({f"#{number}": form for number, form in numbered}))
        return [*ways, Fitted(own)]

    def by_value(self, leaf: Leaf, runs: Sequence[Run]) -> list[PathForm]:
        """One form for each value of a choice, where there is none for all of them."""
        for name in sorted(self.lost, key=lambda n: n not in self.choices):
            forms = []
            others = {n: Polynomial.generator(n) for n in self.lost if n != name}
            values = list(dict.fromkeys(run.point[name] for run in runs))
            values.sort(key=lambda v: abs(float(v) - float(self.tracer.base[name])))  # type: ignore[arg-type]
            for value in values[: KEPT if not others else FEW]:
                own = self.with_value(leaf, runs, name, value) if others else list(runs)
                own = [run for run in own if run.point[name] == value]
                fitted = Fitted(others)
                total = form_of([self.at_value(run, name) for run in own], own, fitted)
                if total is None or not self.is_supported(total, own, fitted):
                    continue
                only = Condition(
                    "==", Polynomial.generator(name) - Polynomial.constant(at({name: value})[name])
                )
                self.tracer.tests.setdefault(only, _equals(name, value))
                forms.append(self.path_form(leaf, [*leaf.conditions, only], own, fitted, total))
            if forms:
                return forms
        return []

    def with_value(self, leaf: Leaf, runs: Sequence[Run], name: str, value: Value) -> list[Run]:
        """Runs at which a lost variable has one value, and the others many."""
        points = [p for p in ({**p, name: value} for p in self.grid(leaf)) if self.meets(leaf, p)]
        more = [run for run in self.tracer.build(points) if run is not None and run.error is None]
        return [*runs, *more]

    def at_value(self, run: Run, name: str) -> Polynomial:
        return substituted(run.form, {name: Polynomial.constant(at(run.point)[name])})

    def path_form(
        self,
        leaf: Leaf,
        conditions: Sequence[Condition],
        runs: Sequence[Run],
        fitted: Fitted,
        total: Polynomial,
    ) -> PathForm:
        unknown = [n for n in fitted.symbols if n in total.names and self.lost.get(n) != LOOP]
        why = [f"{name}: {self.lost[name]}" for name in unknown]
        for kind, form in {lost for run in runs for lost in run.lost}:
            if kind in USES and form.names & total.names:
                why.append(f"{', '.join(sorted(form.names))}: {USES[kind]}")
        why += [f"{name}: {why}" for name, why in self.lost.items() if why == IN_LOOP]
        shapes = shape_forms(runs, fitted, at(runs[0].point)) or []
        return PathForm(total, list(conditions), list(runs), why, leaf.node, shapes)

    # --- verification ---

    def verified(self, forms: Sequence[PathForm]) -> list[PathForm] | None:
        """The forms that are right at points that were chosen to break them; None where a mistake
        shows that another variable is lost."""
        fixed = frozenset(self.fixed) | frozenset(self.choices)
        points = []
        for form in forms:
            number = BASE_VERIFIED if self.is_asked(form) else VERIFIED
            near = form.runs[0].point
            further = [{**near, name: value} for name in self.loops() for value in FURTHER]
            points.append(
                [
                    *self.search.spread(form.conditions, near, number, fixed),
                    *(p for p in further if self.tracer.holds(form.conditions, p)),
                ]
            )
        runs = iter(self.tracer.build([point for own in points for point in own]))
        kept = []
        for form, own in zip(forms, points, strict=True):
            built = [run for run in (next(runs) for _ in own) if run is not None]
            good = [run for run in built if run.error is None]
            wrong = next((run for run in good if not self.is_right(form, run)), None)
            if wrong is None:
                kept.append(replace(form, runs=[*form.runs, *good]))
            elif self.learn(form, wrong):
                return None
        return kept

    def learn(self, form: PathForm, wrong: Run) -> bool:
        """Whether the variables are found that a form has to know more of: those without whose
        change it is right."""
        start = form.runs[0].point
        changed = [n for n, v in wrong.point.items() if differs(v, start[n]) and n not in self.lost]
        points = [{**wrong.point, name: start[name]} for name in changed]
        kept = [p for p in points if self.tracer.holds(form.conditions, p)]
        runs = self.tracer.build(kept)
        names = {
            next(n for n in changed if p[n] == start[n] and differs(wrong.point[n], start[n]))
            for p, run in zip(kept, runs, strict=True)
            if run is not None and run.error is None and self.is_right(form, run)
        }
        self.lose(names, "a loop or an index")
        return bool(names)

    def loops(self) -> list[str]:
        """What was fitted, and goes on beyond the values that it was fitted with."""
        return [n for n in self.lost if n in self.tracer.whole and n not in self.choices]

    def is_right(self, form: PathForm, run: Run) -> bool:
        try:
            return form.total.value(at(run.point)) == run.total
        except (ArithmeticError, KeyError):
            return False

    # --- the result ---

    def pin(self, tree: PathTree, cases: Sequence[Case]) -> None:
        """What the model accepts one value of alone is no argument of the form."""
        for case in cases:
            for rule in list(case.rules):
                condition = rule.condition
                if rule.is_limit or condition is None or condition.operation != "==":
                    continue
                name, *others = condition.names
                value = None if others else solved(condition.form, name)
                if value is None:
                    continue
                self.fixed[name] = next(
                    (
                        run.error
                        for leaf in tree.leaves()
                        for run in leaf.runs
                        if run.error and differs(run.point[name], self.base.point[name])
                    ),
                    "it has no other values",
                )
                case.rules.remove(rule)
                case.total = substituted(case.total, {name: value})
                case.shapes = [s.substituted({name: value}) for s in case.shapes]

    def zeros(self, cases: Sequence[Case]) -> None:
        """Limit the forms that do not hold where an argument is zero: something is off there."""
        for case in cases:
            start = case.runs[0].point
            names = [
                v.name
                for v in self.tracer.variables
                if v.base and v.name in case.total.names and v.name not in self.choices
            ]
            points = [
                {**start, name: 0.0 if isinstance(start[name], float) else 0} for name in names
            ]
            for name, run in zip(names, self.tracer.build(points), strict=True):
                if run is None or run.error is not None:
                    continue
                try:
                    is_right = case.total.value(at(run.point)) == run.total
                except ArithmeticError:
                    is_right = False
                is_within = any(
                    self.tracer.holds(part.conditions, run.point) for part in case.parts
                )
                if is_within and not is_right:
                    case.rules.append(Rule(f"{name} > 0", frozenset((name,)), is_limit=True))

    @staticmethod
    def rests_on_enough(case: Case) -> bool:
        """Whether what is not proved was seen with more values of each argument than its degree."""
        return not case.why or all(
            len({run.point[name] for run in case.runs}) > case.total.degree_in(name)
            for name in case.total.names
        )

    def closed(self, tree: PathTree, forms: Sequence[PathForm]) -> list[ClosedForm]:
        there = {id(form.leaf) for form in forms}
        left_out = sum(id(one.node) not in there for one in tree.leaves() if not one.is_refused)
        left_out += sum(not end.runs and not end.node.is_out_of_reach for end in tree.ends())
        cases = merged(tree, forms, self.tracer, self.base.point)
        if not self.rests_on_enough(cases[0]):
            return []
        cases = [*filter(self.rests_on_enough, cases)]
        self.zeros(cases)
        self.pin(tree, cases)
        if self.fixed and not set(self.tracer.names) - self.fixed.keys():
            return []
        used = {
            name
            for case in cases
            for names in (case.total.names, *(rule.names for rule in case.rules if rule.is_limit))
            for name in names
        }
        idle = tuple(n for n in self.tracer.names if n not in used and n not in self.fixed)
        point = at(self.asked)
        found = []
        for case in cases:
            values = {n: {repr(run.point[n]) for run in case.runs} for n in self.tracer.names}
            here = point if case is cases[0] else at(case.runs[0].point)
            found.append(
                ClosedForm(
                    total=case.total,
                    shapes=tuple(replace(f, value=int(f.size.value(here))) for f in case.shapes),
                    base=self.asked if case is cases[0] else case.runs[0].point,
                    value=int(case.total.value(here)),
                    rules=tuple(case.rules),
                    idle=idle,
                    fixed=self.fixed,
                    built=len(self.tracer.runs),
                    verified=len(case.runs) - 1,
                    unproved=tuple(dict.fromkeys(case.why)),
                    left_out=left_out,
                    distinct={n: len(v) for n, v in values.items() if len(v) > 1},
                )
            )
        return found
