"""Arguments that meet a budget: derives a closed form, solves it, and builds what comes out."""

from __future__ import annotations

import shlex
import time
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from nparam_lint.analysis.case_solver import CaseSolver
from nparam_lint.analysis.closed_forms.arguments import told_apart
from nparam_lint.analysis.closed_forms.derive import derive
from nparam_lint.analysis.closed_forms.form_records import ClosedForm, NoForm
from nparam_lint.analysis.closed_forms.form_writer import factored
from nparam_lint.analysis.closed_forms.observations import BuildHistory, Built, Variable
from nparam_lint.analysis.closed_forms.requirements import Requirements, pinned_rule
from nparam_lint.analysis.closed_forms.search import Aim
from nparam_lint.analysis.model_builder import Model, NothingBuilt
from nparam_lint.analysis.solutions import CaseForm, Solved
from nparam_lint.count.measured import Measured
from nparam_lint.count.worker_process import reused_worker
from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.nearest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.analysis.case_solver import CaseAnswer
    from nparam_lint.analysis.closed_forms.arguments import Arguments
    from nparam_lint.analysis.closed_forms.form_records import Derived
    from nparam_lint.analysis.closed_forms.search import Goal, Unknown
    from nparam_lint.analysis.solutions import Met, Question
    from nparam_lint.claims import Selector, Target
    from nparam_lint.config.session import Session
    from nparam_lint.count.measured import VariableRow

SECONDS = 10  # of each search
NEAR = 20  # a budget is met by what is off by a 20th of it, as `~10M` is by default


def solve(
    question: Question,
    given: str,
    session: Session,
    target: Target,
    selector: Selector,
) -> list[Solved]:
    """The answers for one target, one for each budget; `given`: as it was written. Raises
    UsageError and NoInterpreter."""
    with reused_worker():
        try:
            model = Model(session, target, selector)
            first = model.first()
            if not isinstance(first, Measured):
                if first.is_misnamed:
                    raise UsageError(first.reason)
                why = first.reason
                if first.missing:
                    arguments = ", ".join(f"{name}=…" for name in first.missing)
                    why += f"; next: give them values: {given.partition('(')[0]}({arguments})"
                return [Solved(given, budget, reason=why) for budget in question.budgets]
            asked = _asked(question, first, given)
            return _answers(question, asked, first, model, given)
        except NothingBuilt as error:
            raise UsageError(str(error)) from None


def _answers(
    question: Question, asked: Arguments, first: Measured, model: Model, given: str
) -> list[Solved]:
    """Floats are only followed where there is no complete form with those of the call."""
    whole = [row for row in first.variables if type(row.value) is int]
    floats = [row for row in first.variables if type(row.value) is float]
    derived = _forms(whole, asked, model, given)
    if floats and (derived.why or any(form.left_out for form in derived.forms)):
        more = _forms([*whole, *floats], asked, model, given)
        derived = derived if more.why and not derived.why else more
    if why := derived.why:
        return [Solved(given, budget, first.call, reason=why) for budget in question.budgets]
    answers = _Answers(question, asked, given, first.call, derived)
    return [answers.solved(budget) for budget in question.budgets]


class _Forms(NamedTuple):
    """The closed forms that may hold with the values of what is not varied; `why` there is none in
    the unknowns."""

    history: BuildHistory
    forms: list[ClosedForm]
    why: str


def _forms(rows: Sequence[VariableRow], asked: Arguments, model: Model, given: str) -> _Forms:
    variables = [Variable(row.name, row.value, row.holder) for row in rows]
    history = BuildHistory(model.build, variables)
    ((_, as_asked),) = history.build([{}])
    if isinstance(as_asked, Built) and not as_asked.tensors:
        what = f"{model.selector.module!r} matches no module"
        raise UsageError(f"{given} has no parameters: {what}")
    derived = derive(history, model)
    forms = [f for f in derived if isinstance(f, ClosedForm) and _is_about(f, asked, history)]
    why = _why_no_form(derived[0], asked, history)
    if why:
        names = ",".join(f"{name}=…" for name in asked.unknowns)
        why += f"; next: count candidates: nparam-lint sweep {shlex.quote(given)} --vary {names}"
    return _Forms(history, forms, why)


def _why_no_form(form: Derived, asked: Arguments, history: BuildHistory) -> str:
    """As `formula` says it; nothing where there is a form in all unknowns."""
    if isinstance(form, NoForm):
        lost = (f"{name} could not be followed: {why}" for name, why in form.lost.items())
        return "; ".join([form.reason, *lost])
    rules = [pinned_rule(name, history.base[name]) for name in asked.unknowns]
    pinned = ", ".join(rule.shown for rule in rules if rule in form.rules)
    return pinned and f"a closed form was only found for {pinned}"


def _is_about(form: ClosedForm, asked: Arguments, history: BuildHistory) -> bool:
    """Whether a case may hold, with the values of what is not varied."""
    fixed = [rule for rule in form.rules if not rule.names & asked.open]
    return Requirements(history.base, (), {}, fixed).hold({})


# --- the question, for one target -------------------------------------------------------------


def _asked(question: Question, first: Measured, given: str) -> Arguments:
    """Raises UsageError for a name that the model has no number for."""
    rows = {row.name: row for row in first.variables}
    numbers = [name for name, row in rows.items() if type(row.value) is int]
    # A rule that only names arguments of other targets is not about this one.
    rules = [rule for rule in question.rules if rule.names & rows.keys()]
    for name in sorted(name for rule in rules for name in rule.names):
        if name in rows:
            _whole(rows[name], first, given)
            continue
        there = did_you_mean(name, numbers, f"it has {', '.join(numbers)}")
        raise UsageError(f"option --where: {given} has no whole number {name!r}{there}")
    return told_apart(_unknowns(question, first, given), rules)


def _unknowns(question: Question, first: Measured, given: str) -> dict[str, Unknown]:
    """Those that this model has; of a list, its elements."""
    found: dict[str, Unknown] = {}
    for name, unknown in question.unknowns.items():
        for row in first.variables:
            if row.name == name or row.name.startswith(f"{name}["):
                found[row.name] = replace(unknown, name=row.name, base=_whole(row, first, given))
    if not found:
        there = ", ".join(r.name for r in first.variables if type(r.value) is int) or "none"
        asked = ", ".join(question.unknowns)
        raise UsageError(f"{given} has no argument {asked}; whole numbers that it has: {there}")
    return found


def _whole(row: VariableRow, first: Measured, given: str) -> int:
    if type(row.value) is int:
        return row.value
    raise UsageError(
        f"{row.name} is {row.value!r} in {first.call}, expected a whole number; give it one in the "
        f"call: {given.partition('(')[0]}({row.name}=…)"
    )


# --- the answers ------------------------------------------------------------------------------


class _Answers:
    """Over all cases of the form. `idle`: unknowns that make no difference in any."""

    def __init__(
        self,
        question: Question,
        asked: Arguments,
        given: str,
        call: str,
        derived: _Forms,
    ) -> None:
        self.question, self.asked, self.forms = question, asked, derived.forms
        self.is_complete = not any(form.left_out for form in self.forms)
        self.cases = [CaseSolver(asked, derived.history, form) for form in self.forms]
        kept = [case.idle for case in self.cases]
        self.idle = {n: v for n, v in kept[0].items() if all(n in other for other in kept)}
        texts = [self.written(form) for form in self.forms]
        self.answer = Solved(
            given,
            0,
            call,
            tuple(texts),
            idle=self.idle,
            doubts=tuple(_doubts(self.forms)),
        )
        self.check(call)

    def written(self, form: ClosedForm) -> CaseForm:
        is_one_of_several = len(self.forms) > 1 or not self.is_complete
        limits = [str(rule) for rule in form.limits if rule.names & self.asked.open]
        text = factored(form.total, list(form.base))
        return CaseForm(text, " and ".join(limits) if is_one_of_several else "")

    def check(self, call: str) -> None:
        """Raises UsageError for unknowns that cannot be varied, or need not be."""
        for form in self.forms:
            for name in form.fixed.keys() & self.asked.open:
                raise UsageError(f"{name} cannot be varied in {call}: {form.fixed[name]}")
        unknowns = self.asked.unknowns
        counts = {case.constant for case in self.cases}
        is_idle = self.is_complete and not any(case.active for case in self.cases)
        if unknowns and len(counts) == 1 and is_idle:
            verb = "makes" if len(unknowns) == 1 else "make"
            raise UsageError(f"{', '.join(unknowns)} {verb} no difference to the count of {call}")

    def solved(self, budget: int) -> Solved:
        question = self.question
        aim = Aim(budget, question.goal, question.number, question.is_free)
        answer = self.found(aim)
        return answer if _is_met(answer, question.goal) else self.missed(answer, budget)

    def missed(self, answer: Solved, budget: int) -> Solved:
        """With what there is without the limits; if there is nothing either, with the reason."""
        question, goal = self.question, self.question.goal
        is_limited = bool(answer.limits) and not question.is_free
        free = self.found(Aim(budget, goal, 1, is_free=True)) if is_limited else answer
        is_free_met = _is_met(free, goal)
        if is_free_met and answer.points:
            return replace(answer, nearer=free.points[0])
        # What is nearest is asked for in the same arguments as the budget.
        asked = answer if is_free_met else free
        nearest = asked
        if not asked.points:
            is_free = question.is_free or (is_limited and not is_free_met)
            nearest = self.found(Aim(budget, "closest", 1, is_free))
        if not nearest.points:
            return replace(answer, reason=self.why_nothing(nearest))
        reason = "no arguments " + self.wanted(budget)
        if is_free_met:
            reason = "no arguments within the defaults " + self.wanted(budget)
        elif asked.doubts:
            reason = "no arguments were found that " + self.wanted(budget)
        if not answer.points:
            best = nearest.points[0]
            reason += f"; the nearest give {best.count:,} ({best.count - budget:+,}): {best.call}"
        constant = min(case.constant for case in self.cases)
        if constant > budget:
            reason += f"; {constant:,} do not depend on {' or '.join(self.asked.open)}"
        if is_free_met:
            best = free.points[0]
            reason += f"; with --free: {best.call} has {best.count:,}"
        return replace(answer, reason=reason)

    def found(self, aim: Aim) -> Solved:
        """The best over the cases, which share the time."""
        start, share = time.monotonic(), SECONDS / len(self.cases)
        answers = [
            case.answer(replace(aim, until=start + share * number))
            for number, case in enumerate(self.cases, 1)
        ]
        points = {met.call: self.shown(met) for one in answers for met in one.met}
        best = sorted(points.values(), key=lambda met: abs(met.count - aim.budget))[: aim.number]
        is_exact = best and abs(best[-1].count - aim.budget) == 0
        doubts = [*self.answer.doubts, *_doubts_of(answers)]
        doubts += (text for case in self.cases for text in case.limits_met(best))
        return replace(
            self.answer,
            budget=aim.budget,
            points=tuple(best),
            limits=next((one.limits for one in answers if one.met), answers[0].limits),
            refused=sum(one.refused for one in answers),
            doubts=() if is_exact else tuple(dict.fromkeys(doubts)),
            reason=next((one.why for one in answers if one.why), None) if not best else None,
        )

    def shown(self, met: Met) -> Met:
        return replace(met, values={n: v for n, v in met.values.items() if n not in self.idle})

    # --- why there is no answer ---

    def wanted(self, budget: int) -> str:
        match self.question.goal:
            case "exact":
                return f"give {budget:,}"
            case "under":
                return f"give {budget:,} or less"
            case "closest":
                return f"come within {100 // NEAR} % of {budget:,}"

    def why_nothing(self, answer: Solved) -> str:
        if answer.reason is not None:
            return f"the model rejects the arguments that its closed form gives: {answer.reason}"
        case, open_ = self.cases[0], self.asked.open
        asked = [r.text for r in case.rules if r.names & open_ or r in self.asked.rules]
        given = {u.name: (u.low, u.high) for u in self.asked.unknowns.values() if u.high}
        within = [f"{n} {low}..{high}" for n, (low, high) in {**answer.limits, **given}.items()]
        where = f" with {', '.join(within)}" if within else ""
        none = "nothing was found that meets" if answer.doubts else "nothing meets"
        what = f"{none} {' and '.join(asked)}" if asked else "nothing can be built"
        return f"{what}{where}; next: other limits, as in --vary {min(open_)}=1..4096"


def _is_met(answer: Solved, goal: Goal) -> bool:
    if not answer.points or goal != "closest":
        return bool(answer.points)
    return abs(answer.points[0].count - answer.budget) * NEAR <= answer.budget


def _doubts(forms: Sequence[ClosedForm]) -> Iterator[str]:
    """Why others may be nearer, whatever is found."""
    if any(form.left_out for form in forms):
        yield "some paths of the constructor have no closed form: others may be nearer there"
    if not all(form.is_proved for form in forms):
        yield "the closed form is verified, not proved: others may be nearer"


def _doubts_of(answers: Sequence[CaseAnswer]) -> Iterator[str]:
    if any(one.cut for one in answers):
        yield f"not all combinations were tried in {SECONDS} s: narrower limits give better ones"
    if strayed := sum(one.strayed for one in answers):
        yield f"the closed form does not hold for {strayed} more"
