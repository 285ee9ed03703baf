"""Arguments that meet a budget: derives a closed form, solves it, and builds what comes out."""

from __future__ import annotations

import shlex
import time
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from nparam_lint.analysis.case_solver import CaseSolver
from nparam_lint.analysis.closed_forms import limits
from nparam_lint.analysis.closed_forms.arguments import told_apart
from nparam_lint.analysis.closed_forms.derive import derive
from nparam_lint.analysis.closed_forms.form_records import ClosedForm, NoForm
from nparam_lint.analysis.closed_forms.form_writer import factored
from nparam_lint.analysis.closed_forms.observations import variable_of
from nparam_lint.analysis.closed_forms.requirements import Requirements, pinned_rule
from nparam_lint.analysis.closed_forms.search import Aim
from nparam_lint.analysis.model_builder import Model
from nparam_lint.analysis.solutions import CaseForm, Solved
from nparam_lint.count.measured import Measured
from nparam_lint.count.worker_process import reused_worker
from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.nearest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nparam_lint.analysis.closed_forms.arguments import Arguments
    from nparam_lint.analysis.closed_forms.observations import BuildHistory
    from nparam_lint.analysis.closed_forms.search import Goal, Unknown
    from nparam_lint.analysis.solutions import Question
    from nparam_lint.config.session import Session
    from nparam_lint.count.measured import VariableRow
    from nparam_lint.ground.notation import Selector, Target


class TargetAnswers(NamedTuple):
    """For one target: one for each budget. `names`: the arguments that it has; None where it could
    not be built."""

    answers: list[Solved]
    names: Sequence[str] | None


def solve(
    question: Question,
    text: str,
    session: Session,
    target: Target,
    selector: Selector,
) -> TargetAnswers:
    """`text`: the target as it was written. Raises UsageError."""
    with reused_worker():
        model = Model(session, target, selector)
        first = model.first()
        if not isinstance(first, Measured):
            why = first.reason
            if first.missing:
                values = ", ".join(f"{name}=…" for name in first.missing)
                why += f"; next: give them values: {text.partition('(')[0]}({values})"
            return TargetAnswers([Solved(text, n, reason=why) for n in question.budgets], None)
        # Of an element, also what it is an element of.
        names = [n for row in first.variables for n in (row.name, row.name.partition("[")[0])]
        return TargetAnswers(answers_of(question, text, model, first), names)


def answers_of(question: Question, text: str, model: Model, first: Measured) -> list[Solved]:
    """For each budget. `first`: the model as it is called. Raises UsageError."""
    why = model.why_unknown(first)
    if not why:
        arguments = _arguments(question, first, text)
        # Floats are only followed where there is no complete form with those of the call.
        rows = [row for row in first.variables if type(row.value) is int]
        floats = [row for row in first.variables if type(row.value) is float]
        derived = _forms(rows, arguments, model, text)
        if floats and (derived.why or any(form.left_out for form in derived.forms)):
            more = _forms([*rows, *floats], arguments, model, text)
            derived = derived if more.why and not derived.why else more
        why = derived.why
    if why:
        return [Solved(text, budget, first.call, reason=why) for budget in question.budgets]
    solver = _Solver(question, arguments, Solved(text, 0, first.call), derived)
    return [solver.to(budget) for budget in question.budgets]


def refuse_unknown(question: Question, every: Sequence[TargetAnswers]) -> None:
    """Raises UsageError for a name that no target has. One that could not be built may have it."""
    if any(answers.names is None for answers in every):
        return
    names = dict.fromkeys(name for answers in every for name in answers.names or ())
    asked = [("--vary", name) for name in question.unknowns]
    asked += [("--where", name) for rule in question.rules for name in sorted(rule.names)]
    for option, name in asked:
        if name not in names:
            hint = did_you_mean(name, names, f"there are: {', '.join(names)}")
            raise UsageError(f"option {option}: no target has an argument {name!r}{hint}")


class _Forms(NamedTuple):
    """The closed forms that may hold with the values of what is not varied; `why` there is none in
    the unknowns."""

    history: BuildHistory
    forms: list[ClosedForm]
    why: str


def _forms(rows: Sequence[VariableRow], arguments: Arguments, model: Model, text: str) -> _Forms:
    history = model.history([*map(variable_of, rows)])
    forms: list[ClosedForm] = []
    derived = derive(history, model)
    for form in derived:
        if isinstance(form, ClosedForm):
            fixed = [rule for rule in form.rules if not rule.names & arguments.open]
            if Requirements(history.base, (), {}, fixed).hold({}):
                forms.append(form)
    first = derived[0]
    if isinstance(first, NoForm):  # as `formula` says it
        lost = (f"{name} could not be followed: {why}" for name, why in first.lost.items())
        why = "; ".join([first.reason, *lost])
    else:
        rules = [pinned_rule(name, history.base[name]) for name in arguments.unknowns]
        pinned = ", ".join(rule.shown for rule in rules if rule in first.rules)
        why = pinned and f"a closed form was only found for {pinned}"
    if why:
        names = ",".join(f"{name}=…" for name in arguments.unknowns)
        why += f"; next: count candidates: nparam-lint sweep {shlex.quote(text)} --vary {names}"
    return _Forms(history, forms, why)


# --- the question, for one target -------------------------------------------------------------


def _arguments(question: Question, first: Measured, text: str) -> Arguments:
    """Raises UsageError for a name that the model has no number for."""
    rows = {row.name: row for row in first.variables}
    numbers = [name for name, row in rows.items() if type(row.value) is int]
    # A rule that only names arguments of other targets is not about this one.
    rules = [rule for rule in question.rules if not rule.names or rule.names & rows.keys()]
    for name in sorted(name for rule in rules for name in rule.names):
        if name in rows:
            _whole(rows[name], first, text)
            continue
        there = did_you_mean(name, numbers, f"it has {', '.join(numbers)}")
        raise UsageError(f"option --where: {text} has no whole number {name!r}{there}")
    unknowns: dict[str, Unknown] = {}
    for name, unknown in question.unknowns.items():
        for row in first.variables:
            if row.name == name or row.name.startswith(f"{name}["):  # of a list, its elements
                unknowns[row.name] = replace(unknown, name=row.name, base=_whole(row, first, text))
    if not unknowns:
        names, there = ", ".join(question.unknowns), ", ".join(numbers) or "none"
        raise UsageError(f"{text} has no argument {names}; whole numbers that it has: {there}")
    return told_apart(unknowns, rules)


def _whole(row: VariableRow, first: Measured, text: str) -> int:
    if type(row.value) is int:
        return row.value
    raise UsageError(
        f"{row.name} is {row.value!r} in {first.call}, expected a whole number; give it one in the "
        f"call: {text.partition('(')[0]}({row.name}=…)"
    )


# --- the answers ------------------------------------------------------------------------------


class _Solver:
    """Over all cases of the form. `blank`: what all answers have in common."""

    def __init__(
        self, question: Question, arguments: Arguments, blank: Solved, derived: _Forms
    ) -> None:
        """Raises UsageError for unknowns that cannot be varied, or need not be."""
        self.question, self.arguments = question, arguments
        self.cases = [CaseSolver(arguments, derived.history, form) for form in derived.forms]
        is_complete = not any(form.left_out for form in derived.forms)
        unknowns, counts = arguments.unknowns, {case.constant for case in self.cases}
        for form in derived.forms:
            for name in form.fixed.keys() & arguments.open:
                raise UsageError(f"{name} cannot be varied in {blank.call}: {form.fixed[name]}")
        is_idle = is_complete and not any(case.active for case in self.cases)
        if unknowns and len(counts) == 1 and is_idle:
            verb = "makes" if len(unknowns) == 1 else "make"
            raise UsageError(
                f"{', '.join(unknowns)} {verb} no difference to the count of {blank.call}"
            )
        forms = []
        for form in derived.forms:
            rules = [str(rule) for rule in form.limits if rule.names & arguments.open]
            where = " and ".join(rules) if len(derived.forms) > 1 or not is_complete else ""
            forms.append(CaseForm(factored(form.total, list(form.base)), where))
        doubts = []
        if not is_complete:
            doubts.append(
                "some paths of the constructor have no closed form: others may be nearer there"
            )
        if not all(form.is_proved for form in derived.forms):
            doubts.append("the closed form is verified, not proved: others may be nearer")
        first, *further = (case.idle for case in self.cases)
        idle = {n: v for n, v in first.items() if all(n in case_idle for case_idle in further)}
        self.blank = replace(blank, forms=tuple(forms), idle=idle, doubts=tuple(doubts))

    def to(self, budget: int) -> Solved:
        question = self.question
        answer = self.best(Aim(budget, question.goal, question.number, question.is_free))
        return answer if _is_met(answer, question.goal) else self.missed(answer, budget)

    def missed(self, answer: Solved, budget: int) -> Solved:
        """With what there is without the limits; if there is nothing either, with the reason."""
        question, goal = self.question, self.question.goal
        is_limited = bool(answer.limits) and not question.is_free
        free = self.best(Aim(budget, goal, 1, is_free=True)) if is_limited else answer
        is_free_met = _is_met(free, goal)
        if is_free_met and answer.points:
            return replace(answer, nearer=free.points[0])
        # What is nearest is asked for in the same arguments as the budget.
        last = answer if is_free_met else free
        nearest = last
        if not last.points:
            is_free = question.is_free or (is_limited and not is_free_met)
            nearest = self.best(Aim(budget, "closest", 1, is_free))
        if not nearest.points:
            return replace(answer, reason=self.why_nothing(nearest))
        aims = {
            "exact": f"give {budget:,}",
            "under": f"give {budget:,} or less",
            "closest": f"come within {100 // limits.NEAR_BUDGET} % of {budget:,}",
        }
        reason = "no arguments "
        if is_free_met:
            reason += "within the defaults "
        elif last.doubts:
            reason = "no arguments were found that "
        reason += aims[goal]
        if not answer.points:
            best = nearest.points[0]
            reason += f"; the nearest give {best.count:,} ({best.count - budget:+,}): {best.call}"
        constant = min(case.constant for case in self.cases)
        if constant > budget:
            reason += f"; {constant:,} do not depend on {' or '.join(self.arguments.open)}"
        if is_free_met:
            best = free.points[0]
            reason += f"; with --free: {best.call} has {best.count:,}"
        return replace(answer, reason=reason)

    def best(self, aim: Aim) -> Solved:
        """Over the cases, which share the time."""
        start, share = time.monotonic(), limits.SEARCH_SECONDS / len(self.cases)
        answers = [
            case.answer(replace(aim, until=start + share * number))
            for number, case in enumerate(self.cases, 1)
        ]
        by_call = {point.call: point for answer in answers for point in answer.points}
        nearest = sorted(by_call.values(), key=lambda point: abs(point.count - aim.budget))
        points, doubts, idle = nearest[: aim.number], [*self.blank.doubts], self.blank.idle
        if any(answer.is_cut for answer in answers):
            tried = f"not all combinations were tried in {limits.SEARCH_SECONDS} s"
            doubts.append(f"{tried}: narrower limits give better ones")
        if strayed := sum(answer.strayed for answer in answers):
            doubts.append(f"the closed form does not hold for {strayed} more")
        doubts += (text for case in self.cases for text in case.limits_met(points))
        is_exact = points and points[-1].count == aim.budget
        reasons = (answer.why for answer in answers if answer.why)
        return replace(
            self.blank,
            budget=aim.budget,
            points=tuple(
                replace(point, values={n: v for n, v in point.values.items() if n not in idle})
                for point in points
            ),
            limits=next((answer.limits for answer in answers if answer.points), answers[0].limits),
            refused=sum(answer.refused for answer in answers),
            doubts=() if is_exact else tuple(dict.fromkeys(doubts)),
            reason=None if points else next(reasons, None),
        )

    def why_nothing(self, answer: Solved) -> str:
        if answer.reason is not None:
            return f"the model rejects the arguments that its closed form gives: {answer.reason}"
        case, open_ = self.cases[0], self.arguments.open
        rules = [r.text for r in case.rules if r.names & open_ or r in self.arguments.rules]
        ranges = {u.name: (u.low, u.high) for u in self.arguments.unknowns.values() if u.high}
        within = [f"{n} {low}..{high}" for n, (low, high) in {**answer.limits, **ranges}.items()]
        where = f" with {', '.join(within)}" if within else ""
        none = "nothing was found that meets" if answer.doubts else "nothing meets"
        what = f"{none} {' and '.join(rules)}" if rules else "nothing can be built"
        return f"{what}{where}; next: other limits, as in --vary {min(open_)}=1..4096"


def _is_met(answer: Solved, goal: Goal) -> bool:
    if not answer.points or goal != "closest":
        return bool(answer.points)
    return abs(answer.points[0].count - answer.budget) * limits.NEAR_BUDGET <= answer.budget
