"""The closed form of a count: the constructor is run with numbers that carry their expression, on
all sides of the decisions that it takes; what counts loops is fitted, in these numbers alone.

Nothing is taken on trust: a form is returned only if it has the right value at every point that was
built on its path, including points that were chosen afterwards.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms import limits
from nparam_lint.analysis.closed_forms.compiled_form import substituted
from nparam_lint.analysis.closed_forms.exploration import LOOP, Learned
from nparam_lint.analysis.closed_forms.form_records import ClosedForm, Derived, NoForm
from nparam_lint.analysis.closed_forms.implications import divided, solved
from nparam_lint.analysis.closed_forms.observations import Built, differs, exactly
from nparam_lint.analysis.closed_forms.path_forms import shape_forms
from nparam_lint.analysis.closed_forms.regions import FormCase, merged
from nparam_lint.analysis.closed_forms.requirements import pinned_rule, positive_rule
from nparam_lint.analysis.closed_forms.traced_runs import Tracer
from nparam_lint.analysis.closed_forms.verified_forms import PathForms
from nparam_lint.discover.syntax import TooSlow, time_limit

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence
    from typing import Protocol

    from nparam_lint.analysis.closed_forms.observations import BuildHistory, Point, Value, Variable
    from nparam_lint.analysis.closed_forms.paths import PathTree
    from nparam_lint.analysis.closed_forms.traced_runs import Run
    from nparam_lint.analysis.closed_forms.verified_forms import Doubt, PathForm
    from nparam_lint.count.measured import Traces

    class TracedModel(Protocol):
        """`hints`: whole numbers in its source."""

        @property
        def hints(self) -> Sequence[int]: ...

        def trace(
            self, batches: Sequence[Sequence[Point]], base: Point, seconds: float
        ) -> Sequence[Traces | None]: ...
        def selected(self, parameters: Mapping[str, str]) -> Container[str]: ...


NONE = "no closed form found"
LATE = f"no closed form was found within {limits.SECONDS:.0f} seconds"
UNLIKE = (
    "the constructor tells traced numbers from plain ones, and builds another model with them "
    "(by `__class__`, or by an object that a cache gives twice)"
)


def shallow(history: BuildHistory, first: Built) -> dict[str, Value]:
    """Fewer layers and experts if there are many: forms are derived from small models, which are
    built quickly, and are then verified with the requested one."""
    if len(first.tensors) < limits.LARGE_MODEL:
        return {}
    open_ = (v for v in history.variables if v.is_number and not v.choices)
    bases = {
        v.name: v.base for v in open_ if isinstance(v.base, int) and v.base > limits.FEW_LAYERS
    }
    more = history.build([{name: base + 1} for name, base in bases.items()])
    deep = [
        name
        for name, (_, built) in zip(bases, more, strict=True)
        if isinstance(built, Built) and len(built.tensors) > len(first.tensors)
    ]
    if not deep:
        return {}
    ways: list[dict[str, Value]] = [dict.fromkeys(deep, limits.FEW_LAYERS)]
    ways += [{name: limits.FEW_LAYERS} for name in deep]
    done = zip(ways, history.build(ways), strict=True)
    return next((way for way, (_, built) in done if isinstance(built, Built)), {})


def derive(
    history: BuildHistory,
    traces: TracedModel,
    case: Point | None = None,
    learned: Learned | None = None,
) -> list[Derived]:
    """The closed forms in those of the variables that are numbers, one for each part of their
    values, that of the call first; in a `case`, with other values for other variables. `learned`:
    in other cases."""
    history, case, learned = history.case(case or {}), case or {}, learned or Learned()
    ((asked, first),) = history.build([{}])
    if not isinstance(first, Built):
        return [NoForm(f"the model cannot be built: {first.reason}", case=case)]
    found: list[ClosedForm] | NoForm = NoForm(LATE)
    with suppress(TooSlow), time_limit(max(learned.seconds_left, limits.LEAST_SECONDS)):
        small = shallow(history, first)
        found = _attempt(history, traces, learned, small)
        none = found if isinstance(found, NoForm) else NoForm(NONE)
        while isinstance(found, NoForm) and not learned.is_late and learned.pin(found.lost):
            found = _attempt(history, traces, learned, small)
        if not isinstance(found, NoForm):
            # That of a smaller model may be another one; the count of one call is no form.
            is_form = found[0].total.names or not learned.pinned
            found = found if is_form and found[0].value == first.total else none
    if isinstance(found, NoForm):
        return [replace(found, case=case)]
    sources = {tensor.name: tensor.source for tensor in first.tensors}
    pinned = [pinned_rule(name, asked[name]) for name in learned.pinned]
    return [
        replace(
            form,
            case=case,
            base={**asked, **form.base},
            shapes=tuple(replace(s, source=sources.get(s.first)) for s in form.shapes),
            rules=(*form.rules, *pinned),
            left_out=form.left_out + len(pinned),
        )
        for form in found
    ]


def _attempt(
    history: BuildHistory, traces: TracedModel, learned: Learned, small: Mapping[str, Value]
) -> list[ClosedForm] | NoForm:
    """With what is pinned as it is in the call. `small`: the values to begin with."""
    ((asked, first),) = history.build([{}])
    assert isinstance(first, Built)
    open_ = [v for v in history.variables if v.is_number and v.name not in learned.pinned]
    numbers = [replace(v, base=small.get(v.name, v.base)) for v in open_]
    others = {v.name: asked[v.name] for v in history.variables if not v.is_number}
    tracer = Tracer(
        lambda batches: traces.trace(
            [[{**others, **point} for point in batch] for batch in batches],
            {**asked, **tracer.base},
            learned.seconds_left,
        ),
        traces.selected,
        numbers,
        is_late=lambda: learned.is_late,
        history=history,
    )
    derivation = Derivation(
        tracer, traces.hints, learned, is_large=len(first.tensors) >= limits.LARGE_MODEL
    )
    return derivation.run({n: asked[n] for n in tracer.base})


# --- of all cases -----------------------------------------------------------------------------


def derive_all(
    history: BuildHistory, traces: TracedModel, *, chosen: bool = False
) -> tuple[list[Derived], list[str]]:
    """(the forms, the base's case first; the names of choices that have an effect but were
    skipped). `chosen`: all combinations of the choices are requested; otherwise each choice that
    has an effect is changed alone, to the values that give other parameters."""
    learned = Learned()
    found = derive(history, traces, learned=learned)
    base = found[0]
    if not isinstance(base, ClosedForm):
        return found, []
    switches = [v for v in history.variables if not v.is_number and v.choices]
    # All at once: each time that models are built costs something.
    history.build([{v.name: value} for v in switches for value in _values(v)])
    others = {v.name: _others(history, v) for v in switches}
    telling = [v for v in switches if chosen or others[v.name]]
    every = list(product(*(_values(v) for v in telling)))
    left: list[str] = []
    if chosen and len(every) <= limits.CASES:
        cases = [dict(zip([v.name for v in telling], values, strict=True)) for values in every]
    else:
        cases = [
            {v.name: value} for v in telling[: limits.CHOICES_ALONE] for value in others[v.name]
        ]
        left = [v.name for v in telling[limits.CHOICES_ALONE :]]
    known = [(form.total, {*form.rules}) for form in found if isinstance(form, ClosedForm)]
    for case in cases:
        if any(differs(value, history.base[name]) for name, value in case.items()):
            more = [] if learned.is_late else derive(history, traces, case, learned)
            if learned.is_late and not any(isinstance(form, ClosedForm) for form in more):
                left += [name for name in case if name not in left]
                continue
            found += [
                form
                for form in more
                if not isinstance(form, ClosedForm) or (form.total, {*form.rules}) not in known
            ]
    return found, left


def _values(variable: Variable) -> list[Value]:
    return list(dict.fromkeys([variable.base, *variable.choices]))


def _others(history: BuildHistory, switch: Variable) -> list[Value]:
    """The choices that, alone, give other parameters, whatever those are called."""
    values = _values(switch)
    ((_, first), *built) = history.build([{switch.name: value} for value in values])
    return [
        value
        for value, (_, other) in zip(values[1:], built, strict=True)
        if isinstance(other, Built) and isinstance(first, Built) and other.sizes != first.sizes
    ]


# --- of one case ------------------------------------------------------------------------------


def _by_reason(doubts: Iterable[Doubt]) -> tuple[str, ...]:
    """What is not proved, as text: `a, b: a key of a table`."""
    found: dict[str, dict[str, None]] = {}
    for names, why in doubts:
        found.setdefault(why, {}).update(dict.fromkeys(names))
    return tuple(f"{', '.join(names)}: {why}" if names else why for why, names in found.items())


class Derivation(PathForms):
    """From the first build to the closed forms. Each is held against builds with plain numbers
    too: whoever asks for the class of a number may tell one that is traced."""

    def doubt_refusals(self, tree: PathTree) -> None:
        """Nothing is known of paths that refuse traced numbers alone."""
        refused = [leaf for leaf in tree.leaves() if leaf.is_refused]
        totals = self.tracer.plain([leaf.runs[0] for leaf in refused])
        for leaf, total in zip(refused, totals, strict=True):
            if total is not None:
                leaf.runs.clear()

    def agreeing(self, forms: Sequence[PathForm]) -> list[PathForm]:
        """The forms that are right for plain numbers too, at some of their places."""
        number = 1 if self.is_large else limits.PLAIN_BUILDS
        chosen = [form.runs[:: -(-len(form.runs) // number)] for form in forms]
        if not self.is_large:
            for form, runs in zip(forms, chosen, strict=True):
                runs += [run for run in form.runs if self.is_at_literal(run) and run not in runs]
        totals = iter(self.tracer.plain([run for runs in chosen for run in runs]))
        right = [[next(totals) == run.total for run in runs] for runs in chosen]
        return [form for form, own in zip(forms, right, strict=True) if all(own)]

    def is_at_literal(self, run: Run) -> bool:
        """Whether one argument alone differs from the call's: it is a number of the source."""
        changed = [v for n, v in run.point.items() if differs(v, self.base.point[n])]
        return len(changed) == 1 and changed[0] in self.hints

    def run(self, asked: Mapping[str, Value]) -> list[ClosedForm] | NoForm:
        """`asked`: the arguments of the call that was asked about."""
        base, *before = self.tracer.build([{}, *self.learned.points])
        if base is None and self.learned.is_late:
            return NoForm(LATE, dict(self.lost))
        if base is None:
            return NoForm("the model cannot be built with traced numbers")
        if base.error is not None:
            return NoForm(f"the model cannot be built with traced numbers: {base.error}")
        if self.tracer.plain([base]) != [base.total]:
            return NoForm(UNLIKE)
        self.base = base
        for kind, form in base.lost:
            if kind == "loop":
                self.lose(set(form.names), LOOP)
        self.ignore_loops(base)
        others = [run for run in before if run is not None and self.is_as_deep(run)]
        tree = self.grown([base, *(others or self.vary_alone())])
        if tree is None:
            return NoForm("builds with the same decisions give different models")
        self.learned.points = [leaf.runs[0].point for leaf in tree.leaves()]
        tries = (self.forms(tree) for _ in range(limits.RESTARTS + 1))
        traced = next((forms for forms in tries if forms is not None), [])
        forms = self.agreeing(traced)
        if not any(map(self.is_asked, forms)):
            none = UNLIKE if any(map(self.is_asked, traced)) else NONE
            return NoForm(LATE if self.learned.is_late else none, dict(self.lost))
        self.doubt_refusals(tree)
        found = self.closed(tree, forms, asked)
        if found:
            return found
        only = "the model can only be built as called"
        why = next(iter(self.fixed.values()), "")
        few = "too few other arguments could be built to verify a form"
        return NoForm(f"{only}: {why}" if why else few, dict(self.lost))

    def is_as_deep(self, run: Run) -> bool:
        """Whether what was lost has the values of the call."""
        return not any(differs(run.point[name], self.base.point[name]) for name in self.lost)

    def pin(self, tree: PathTree, cases: Sequence[FormCase]) -> None:
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

    def zeros(self, cases: Sequence[FormCase]) -> None:
        """Limit the forms that do not hold where an argument is zero: something is off there."""
        for case in cases:
            start = case.runs[0].point
            names = [v.name for v in self.tracer.variables if v.base and v.name in case.total.names]
            points = [
                {**start, name: 0.0 if isinstance(start[name], float) else 0} for name in names
            ]
            for name, run in zip(names, self.tracer.build(points), strict=True):
                if run is None or run.error is not None:
                    continue
                is_within = any(
                    self.tracer.holds(part.leaf.conditions, run.point) for part in case.parts
                )
                if is_within and not self.is_right(case.total, run):
                    case.rules.append(positive_rule(name))

    @staticmethod
    def rests_on_enough(case: FormCase) -> bool:
        """Whether what is not proved was seen with more values of each argument than its degree."""
        return all(
            len({run.point[name] for run in case.runs}) > case.total.degree_in(name)
            for name in case.total.names.intersection(n for own, _ in case.doubts for n in own)
        )

    def closed(
        self, tree: PathTree, forms: Sequence[PathForm], asked: Mapping[str, Value]
    ) -> list[ClosedForm]:
        cases = merged(tree, forms, self.tracer, self.base.point)
        if not self.rests_on_enough(cases[0]):
            return []
        cases = [*filter(self.rests_on_enough, cases)]
        there = {part.leaf for case in cases for part in case.parts}
        left_out = sum(one not in there for one in tree.leaves() if not one.is_refused)
        left_out += len(tree.missing())
        for case in cases:
            divides = [r.condition for r in case.rules if r.condition is not None]
            case.total = divided(case.total, divides)
            shapes = shape_forms(case.parts[0].runs, case.parts[0].symbols, case.runs[0].numbers)
            case.shapes = [replace(s, size=divided(s.size, divides)) for s in shapes or ()]
        self.zeros(cases)
        # Keys of a table: there may be others than those that were refused.
        keys = [pinned_rule(name, asked[name]) for name in self.fixed]
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
        point = exactly(asked)
        found = []
        for case in cases:
            values = {n: {repr(run.point[n]) for run in case.runs} for n in self.tracer.names}
            here = point if case is cases[0] else case.runs[0].numbers
            found.append(
                ClosedForm(
                    total=case.total,
                    shapes=tuple(replace(f, value=int(f.size.value(here))) for f in case.shapes),
                    base=asked if case is cases[0] else case.runs[0].point,
                    value=int(case.total.value(here)),
                    rules=(*case.rules, *keys),
                    idle=idle,
                    fixed=dict(self.fixed),
                    built=len(self.tracer.runs),
                    verified=len(case.runs) - 1,
                    unproved=_by_reason(case.doubts),
                    left_out=left_out,
                    distinct={n: len(v) for n, v in values.items() if len(v) > 1},
                )
            )
        return found
