"""The closed form of a count: the constructor is run with numbers that carry their expression, on
all sides of the decisions that it takes; what counts loops is fitted, in these numbers alone.

Nothing is taken on trust: a form is returned only if it has the right value at every point that was
built on its path, including points that were chosen afterwards.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import chain, compress, islice, product
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.analysis.closed_forms import limits
from nparam_lint.analysis.closed_forms.algebra import substituted
from nparam_lint.analysis.closed_forms.exploration import LOOP, Learned
from nparam_lint.analysis.closed_forms.form_records import ClosedForm, Derived, NoForm
from nparam_lint.analysis.closed_forms.implications import divided
from nparam_lint.analysis.closed_forms.observations import Built, differs, exactly
from nparam_lint.analysis.closed_forms.path_forms import shape_forms
from nparam_lint.analysis.closed_forms.polynomial import Polynomial
from nparam_lint.analysis.closed_forms.regions import FormCase, cases_of
from nparam_lint.analysis.closed_forms.requirements import pinned_rule, positive_rule
from nparam_lint.analysis.closed_forms.traced_runs import Tracer
from nparam_lint.analysis.closed_forms.verified_forms import PathForms
from nparam_lint.ground.time_limit import TooSlow, time_limit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from nparam_lint.analysis.closed_forms.observations import (
        BuildHistory,
        Point,
        Value,
        Variable,
    )
    from nparam_lint.analysis.closed_forms.paths import PathTree
    from nparam_lint.analysis.closed_forms.traced_runs import Run
    from nparam_lint.analysis.closed_forms.verified_forms import PathForm
    from nparam_lint.analysis.model_builder import Model


NONE = "no closed form found"
FEW = "too few other arguments could be built to verify a form"
LATE = f"no closed form was found within {limits.SECONDS:.0f} seconds"
UNLIKE = "with traced numbers the constructor builds another model than with plain ones"


def shallow(history: BuildHistory, first: Built) -> dict[str, Value]:
    """Fewer layers and experts if there are many: forms are derived from small models, which are
    built quickly, and are then verified with the requested one."""
    if len(first.tensors) < limits.LARGE_MODEL:
        return {}
    open_ = (v for v in history.variables if v.is_number and not v.choices)
    bases = {
        v.name: v.base for v in open_ if isinstance(v.base, int) and v.base > limits.FEW_LAYERS
    }
    deeper = history.build([{name: base + 1} for name, base in bases.items()])
    deep = [
        name
        for name, (_, model) in zip(bases, deeper, strict=True)
        if isinstance(model, Built) and len(model.tensors) > len(first.tensors)
    ]
    if not deep:
        return {}
    points: list[dict[str, Value]] = [dict.fromkeys(deep, limits.FEW_LAYERS)]
    points += [{name: limits.FEW_LAYERS} for name in deep]
    models = zip(points, history.build(points), strict=True)
    return next((point for point, (_, model) in models if isinstance(model, Built)), {})


def derive(
    history: BuildHistory,
    model: Model,
    case: Point | None = None,
    learned: Learned | None = None,
) -> list[Derived]:
    """The closed forms in those of the variables that are numbers, one for each part of their
    values, that of the call first; in a `case`, with other values for other variables. `learned`:
    in other cases."""
    history, case, learned = history.case(case or {}), case or {}, learned or Learned()
    ((call, first),) = history.build([{}])
    if not isinstance(first, Built):
        return [NoForm(first.reason, case=case)]
    forms: list[ClosedForm] | NoForm = NoForm(LATE)
    with suppress(TooSlow), time_limit(max(learned.seconds_left, limits.LEAST_SECONDS)):
        small = shallow(history, first)
        forms = _attempt(history, model, learned, small)
        none = forms if isinstance(forms, NoForm) else NoForm(NONE)
        while isinstance(forms, NoForm) and not learned.is_late and learned.pin(forms.lost):
            forms = _attempt(history, model, learned, small)
        if not isinstance(forms, NoForm):
            # That of a smaller model may be another one; the count of one call is no form.
            is_form = forms[0].total.names or not learned.pinned
            forms = forms if is_form and forms[0].value == first.total else none
    if isinstance(forms, NoForm):
        reason = LATE if learned.is_late and forms.reason in (NONE, FEW) else forms.reason
        return [replace(forms, reason=reason, case=case)]
    sources = {tensor.name: tensor.source for tensor in first.tensors}
    pinned = [pinned_rule(name, call[name]) for name in learned.pinned]
    return [
        replace(
            form,
            case=case,
            base={**call, **form.base},
            shapes=tuple(replace(s, source=sources.get(s.first)) for s in form.shapes),
            rules=(*form.rules, *pinned),
            left_out=form.left_out + len(pinned),
        )
        for form in forms
    ]


def _attempt(
    history: BuildHistory, model: Model, learned: Learned, small: Mapping[str, Value]
) -> list[ClosedForm] | NoForm:
    """With what is pinned as it is in the call. `small`: the values to begin with."""
    ((call, first),) = history.build([{}])
    assert isinstance(first, Built)
    open_ = [v for v in history.variables if v.is_number and v.name not in learned.pinned]
    numbers = [replace(v, base=small.get(v.name, v.base)) for v in open_]
    tracer = Tracer(
        lambda batches: model.trace(batches, {**call, **tracer.base}, learned.seconds_left),
        model.selected,
        numbers,
        is_late=lambda: learned.is_late,
        history=history,
    )
    derivation = Derivation(
        tracer, model.hints, learned, is_large=len(first.tensors) >= limits.LARGE_MODEL
    )
    return derivation.run({n: call[n] for n in tracer.base})


# --- of all cases -----------------------------------------------------------------------------


def derive_all(
    history: BuildHistory, model: Model, *, every_combination: bool
) -> tuple[list[Derived], list[str]]:
    """(the forms, the base's case first; the names of choices that have an effect but were
    skipped). `every_combination`: of the choices; otherwise each choice that has an effect is
    changed alone, to the values that give other parameters."""
    learned = Learned()
    forms = derive(history, model, learned=learned)
    if isinstance(forms[0], NoForm):
        return forms, []
    switches = [v for v in history.variables if not v.is_number and v.choices]
    # A choice may have an effect on another path alone: `tie and a == b`.
    places = [form.base for form in forms[: limits.CHOICES_ALONE] if isinstance(form, ClosedForm)]
    # All at once: each time that models are built costs something.
    history.build(
        [{**at, v.name: value} for v in switches for at in places for value in _values(v)]
    )
    effective = {v.name: _effective_values(history, v, places) for v in switches}
    switches = [v for v in switches if every_combination or effective[v.name]]
    names = [v.name for v in switches]
    combinations = list(product(*map(_values, switches)))
    skipped: list[str] = []
    if every_combination and len(combinations) <= limits.CASES:
        cases = [dict(zip(names, values, strict=True)) for values in combinations]
    else:
        alone, skipped = names[: limits.CHOICES_ALONE], names[limits.CHOICES_ALONE :]
        cases = [{name: value} for name in alone for value in effective[name]]
    of_call = [(form.total, {*form.rules}) for form in forms if isinstance(form, ClosedForm)]
    for case in cases:
        if any(differs(value, history.base[name]) for name, value in case.items()):
            more_forms = [] if learned.is_late else derive(history, model, case, learned)
            if learned.is_late and not any(isinstance(form, ClosedForm) for form in more_forms):
                skipped += [name for name in case if name not in skipped]
                continue
            forms += [
                form
                for form in more_forms
                if isinstance(form, NoForm) or (form.total, {*form.rules}) not in of_call
            ]
    return forms, skipped


def _values(variable: Variable) -> list[Value]:
    """Each once, by its text: `1` is not `True`."""
    return list({repr(value): value for value in (variable.base, *variable.choices)}.values())


def _effective_values(
    history: BuildHistory, switch: Variable, places: Iterable[Point]
) -> list[Value]:
    """The choices that, alone, give other parameters at one of the places, whatever those are
    called."""
    effective: dict[str, Value] = {}
    for place in places:
        points = [{**place, switch.name: value} for value in _values(switch)]
        (_, first), *models = history.build(points)
        effective |= {
            repr(point[switch.name]): point[switch.name]
            for point, model in models
            if isinstance(model, Built) and isinstance(first, Built) and model.sizes != first.sizes
        }
    return list(effective.values())


# --- of one case ------------------------------------------------------------------------------


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
        samples = [form.runs[:: -(-len(form.runs) // number)] for form in forms]
        if not self.is_large:
            for form, runs in zip(forms, samples, strict=True):
                runs += [run for run in form.runs if self.is_at_literal(run) and run not in runs]
        totals = iter(self.tracer.plain([*chain(*samples)]))
        agree = [[run.total for run in runs] == [*islice(totals, len(runs))] for runs in samples]
        return [*compress(forms, agree)]

    def is_at_literal(self, run: Run) -> bool:
        """Whether one argument alone differs from the call's: it is a number of the source."""
        values = [v for n, v in run.point.items() if differs(v, self.base.point[n])]
        return len(values) == 1 and values[0] in self.hints

    def run(self, call: Mapping[str, Value]) -> list[ClosedForm] | NoForm:
        """`call`: the arguments of the call that was asked about."""
        (base,) = self.tracer.build([{}])
        if base is None and self.learned.is_late:
            return NoForm(LATE, dict(self.lost))
        if base is None:
            return NoForm("the model cannot be built with traced numbers")
        if base.error is not None:
            return NoForm(f"the model cannot be built with traced numbers: {base.error}")
        if self.tracer.plain([base]) != [base.total]:
            return NoForm(self.why_unlike(base))
        self.base = base
        for kind, form in base.lost:
            if kind == "loop":
                self.lose(form.names, LOOP)
        self.ignore_loops(base)
        tree = self.path_tree([base, *self.vary_alone()])
        if tree is None:
            return NoForm("builds with the same decisions give different models")
        tries = (self.forms(tree) for _ in range(limits.RESTARTS + 1))
        traced = next((forms for forms in tries if forms is not None), [])
        forms = self.agreeing(traced)
        if not any(map(self.is_of_call, forms)):
            none = UNLIKE if any(map(self.is_of_call, traced)) else NONE
            return NoForm(none, dict(self.lost))
        self.doubt_refusals(tree)
        closed = self.closed_forms(tree, forms, call)
        if closed:
            return closed
        if self.fixed:
            why = next(iter(self.fixed.values()))
            return NoForm(f"the model can only be built as called: {why}", dict(self.lost))
        return NoForm(FEW, dict(self.lost))

    def why_unlike(self, base: Run) -> str:
        """Traced numbers are written into the call, which may tell an argument that is given from
        one that is not: `kwargs.get("layers", 4)`."""
        history = self.tracer.history
        written = history.written_out(base.point) if history else None
        if isinstance(written, Built) and written.total == base.total:
            return f"with its arguments written out, the call builds another model: {written.call}"
        return UNLIKE

    def pin(self, tree: PathTree, cases: Sequence[FormCase]) -> None:
        """What the model accepts one value of alone is no argument of the form."""
        for case in cases:
            for rule in [rule for rule in case.rules if not rule.is_limit]:
                for name, value in rule.solutions.items():
                    if not isinstance(value, Polynomial) or value.number is None:
                        continue
                    refusals = (
                        run.error
                        for leaf in tree.leaves()
                        for run in leaf.runs
                        if run.error and differs(run.point[name], self.base.point[name])
                    )
                    self.fixed[name] = next(refusals, "it has no other values")
                    case.rules.remove(rule)

    def zeros(self, cases: Sequence[FormCase]) -> None:
        """Limit the forms that do not hold where an argument is zero: something is off there."""
        for case in cases:
            start = case.runs[0].point
            points = {
                v.name: {**start, v.name: 0.0 if isinstance(v.base, float) else 0}
                for v in self.tracer.variables
                if v.base and v.name in case.total.names
            }
            for name, run in zip(points, self.tracer.build([*points.values()]), strict=True):
                if run is None or run.error is not None or self.is_right(case.total, run):
                    continue
                if any(self.meets(part.leaf, run.point) for part in case.parts):
                    case.rules.append(positive_rule(name))

    @staticmethod
    def rests_on_enough(case: FormCase) -> bool:
        """Whether what is not proved was seen with more values of each argument than its degree."""
        runs, names = case.runs, {name for names, _ in case.doubts for name in names}
        return all(
            len({run.point[name] for run in runs}) > case.total.degree_in(name)
            for name in case.total.names & names
        )

    def closed_forms(
        self, tree: PathTree, forms: Sequence[PathForm], call: Mapping[str, Value]
    ) -> list[ClosedForm]:
        cases = cases_of(tree, forms, self.tracer, self.base.point)
        if not self.rests_on_enough(cases[0]):
            return []
        cases = [*filter(self.rests_on_enough, cases)]
        leaves = {part.leaf for case in cases for part in case.parts}
        left_out = sum(leaf not in leaves for leaf in tree.leaves() if not leaf.is_refused)
        left_out += len(tree.missing())
        for case in cases:
            divides = [r.condition for r in case.rules if r.condition is not None]
            case.total = divided(case.total, divides)
            shapes = shape_forms(case.parts[0].runs, case.parts[0].symbols, case.runs[0].numbers)
            case.shapes = [replace(s, size=divided(s.size, divides)) for s in shapes or ()]
            # What has one value there stands as that.
            solved = (solution for rule in case.rules for solution in rule.solutions.items())
            known = {n: v for n, v in solved if isinstance(v, Polynomial) and v.number is not None}
            with suppress(ArithmeticError):
                case.total = substituted(case.total, known)
                case.shapes = [shape.substituted(known) for shape in case.shapes]
        self.zeros(cases)
        # Keys of a table: there may be others than those that were refused.
        keys = [pinned_rule(name, call[name]) for name in self.fixed]
        self.pin(tree, cases)
        if self.fixed and self.fixed.keys() >= set(self.tracer.names):
            return []
        relevant = set(self.fixed)
        for case in cases:
            limits_of_case = (rule.names for rule in case.rules if rule.is_limit)
            relevant = relevant.union(case.total.names, *limits_of_case)
        idle = tuple(name for name in self.tracer.names if name not in relevant)
        closed = []
        for case in cases:
            runs = case.runs
            base = call if case is cases[0] else runs[0].point
            numbers = exactly(base)
            values = {n: {repr(run.point[n]) for run in runs} for n in self.tracer.names}
            closed.append(
                ClosedForm(
                    total=case.total,
                    shapes=tuple(replace(f, value=int(f.size.value(numbers))) for f in case.shapes),
                    base=base,
                    value=int(case.total.value(numbers)),
                    rules=(*case.rules, *keys),
                    idle=idle,
                    fixed=dict(self.fixed),
                    built=len(self.tracer.runs),
                    verified=len(runs) - 1,
                    unproved=case.unproved,
                    left_out=left_out,
                    distinct={n: len(v) for n, v in values.items() if len(v) > 1},
                )
            )
        return closed
