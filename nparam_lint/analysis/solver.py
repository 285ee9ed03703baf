"""Arguments that meet a budget: derives a closed form, solves it, and builds what comes out."""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from nparam_lint import UsageError
from nparam_lint.analysis.closed_forms.compiled_form import (
    NOWHERE,
    NoPolynomial,
    compiled,
    growing,
    polynomial_of,
    substituted,
)
from nparam_lint.analysis.closed_forms.derive import derive
from nparam_lint.analysis.closed_forms.form_records import ClosedForm, Derived, NoForm
from nparam_lint.analysis.closed_forms.form_writer import factored
from nparam_lint.analysis.closed_forms.implications import solved
from nparam_lint.analysis.closed_forms.observations import BuildHistory, Built, Variable
from nparam_lint.analysis.closed_forms.polynomial import Polynomial
from nparam_lint.analysis.closed_forms.requirements import Requirements
from nparam_lint.analysis.closed_forms.search import Searching
from nparam_lint.analysis.closed_forms.search_by_building import SearchByBuilding
from nparam_lint.analysis.model_builder import Model, NothingBuilt
from nparam_lint.claims import FormulaError
from nparam_lint.claims.expression import Formula, parse_formula
from nparam_lint.count.worker_process import reused_worker
from nparam_lint.records import Measured

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from nparam_lint.analysis.closed_forms.regions import ArgumentRule
    from nparam_lint.analysis.closed_forms.search import Goal, Search, Unknown, Whole
    from nparam_lint.claims import Selector, Target
    from nparam_lint.config.settings import Settings
    from nparam_lint.gate import Progress
    from nparam_lint.records import NameValue, VariableRow


SPARE = 3  # solutions beyond those asked for: the model may refuse some
ROUNDS = 4  # of solutions, where it refuses more than that


@dataclass(frozen=True, slots=True)
class Question:
    """`ties`: arguments computed from the unknowns; `conditions`: what must hold in addition to the
    models' own requirements; `number`: of solutions for each budget."""

    budgets: Sequence[int]
    unknowns: Mapping[str, Unknown]
    ties: Mapping[str, Formula]
    conditions: Sequence[Formula]
    goal: Goal
    number: int


@dataclass(frozen=True, slots=True)
class Met:
    """Arguments, the count that was measured with them, and the call."""

    values: Mapping[str, int]
    count: int
    call: str


@dataclass(frozen=True, slots=True)
class Solved:
    """One target and one budget. `call`: as it was built first; `form`: its closed form; `names`:
    the unknowns, and what is tied to them; `points`: the best first; `combinations`: of all
    unknowns but `solved`, which was found by bisection in each; `cut`: whether there were more;
    `limits`: of unknowns that were given none; `idle`: unknowns that make no difference, and the
    values that they keep; `refused`: solutions that the model did not accept; `strayed`: that have
    another count than the closed form says; `is_complete`: whether the closed forms
    are about all arguments; `reason`: why there is nothing."""

    target: str
    budget: int
    call: str = ""
    form: str = ""
    names: tuple[str, ...] = ()
    points: tuple[Met, ...] = ()
    combinations: int = 0
    solved: str = ""
    cut: bool = False
    limits: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    idle: Mapping[str, int] = field(default_factory=dict)
    refused: int = 0
    strayed: int = 0
    reason: str | None = None
    is_complete: bool = True

    @property
    def is_best(self) -> bool:
        """Whether there is proof that no others are nearer."""
        return bool(self.form) and self.is_complete and not self.cut and not self.strayed


@dataclass(frozen=True, slots=True)
class Solutions:
    """All targets, for each of the budgets."""

    version: str
    goal: str
    budgets: tuple[int, ...] = ()
    targets: tuple[Solved, ...] = ()
    seconds: float = 0.0
    error: str | None = None


def solve(
    question: Question,
    given: str,
    settings: Settings,
    target: Target,
    selector: Selector,
    environ: Mapping[str, str],
    progress: Progress | None = None,
) -> list[Solved]:
    """The answers for one target, one for each budget; `given`: as it was written. Raises
    UsageError and NoInterpreter."""
    with reused_worker():
        try:
            model = Model(settings, target, selector, environ, progress)
            first = model.first()
            if not isinstance(first, Measured):
                why = first.reason
                if first.missing:
                    arguments = ", ".join(f"{name}=…" for name in first.missing)
                    why += f"; next: give them values: {given.partition('(')[0]}({arguments})"
                return [Solved(given, budget, reason=why) for budget in question.budgets]
            variables = [
                Variable(r.name, r.value, r.holder) for r in first.variables if type(r.value) is int
            ]
            unknowns = _unknowns(question, first, given)
            history = BuildHistory(model.build, variables)
            ((_, as_asked),) = history.build([{}])
            if isinstance(as_asked, Built) and not as_asked.tensors:
                raise UsageError(
                    f"{given} has no parameters: {selector.module!r} matches no module"
                )
            derived = derive(history, variables, model)
            cases = _cases(
                derived, lambda form: _Solver(question, unknowns, given, first, history, form)
            )
            solver = _AllCases(question, cases, is_complete(derived))
            return [solver.solved(budget) for budget in question.budgets]
        except NothingBuilt as error:
            raise UsageError(str(error)) from None


def _unknowns(question: Question, first: Measured, given: str) -> dict[str, Unknown]:
    """Those that this model has; of a list, its elements."""
    rows = {row.name: row for row in first.variables}
    found: dict[str, Unknown] = {}
    for name, unknown in question.unknowns.items():
        for row in rows.values():
            if row.name == name or row.name.startswith(f"{name}["):
                found[row.name] = replace(unknown, name=row.name, base=_whole(row, first, given))
    if not found:
        there = ", ".join(n for n, row in rows.items() if type(row.value) is int) or "none"
        asked = ", ".join(question.unknowns)
        raise UsageError(f"{given} has no argument {asked}; whole numbers that it has: {there}")
    for name in question.ties:
        if name in rows:
            _whole(rows[name], first, given)
    return found


def _whole(row: VariableRow, first: Measured, given: str) -> int:
    if type(row.value) is int:
        return row.value
    raise UsageError(
        f"{row.name} is {row.value!r} in {first.call}, expected a whole number; give it one in the "
        f"call: {given.partition('(')[0]}({row.name}=…)"
    )


def is_complete(derived: Sequence[Derived]) -> bool:
    """Whether the forms together are about all arguments."""
    return not any(isinstance(form, NoForm) or form.left_out for form in derived)


def _cases(
    derived: Sequence[Derived], solver: Callable[[ClosedForm | None], _Solver]
) -> list[_Solver]:
    """One for each closed form, or one that builds. Raises UsageError where none can be asked."""
    found, refused = [], None
    for form in derived:
        try:
            found.append(solver(form if isinstance(form, ClosedForm) else None))
        except UsageError as error:
            refused = refused or error
    if refused is not None and not found:
        raise refused
    return found


class _AllCases:
    """The best over the cases of a form; `is_complete`: whether there are no others."""

    def __init__(self, question: Question, cases: Sequence[_Solver], is_complete: bool) -> None:
        self.question, self.cases, self.is_complete = question, cases, is_complete

    def solved(self, budget: int) -> Solved:
        question = self.question
        answer = self.built(budget, question.goal, question.number)
        if answer.points or (answer.refused and len(self.cases) == 1):
            return answer
        if question.goal == "closest":
            return replace(answer, reason=self.cases[0].why_nothing(answer))
        wanted = f"{budget:,}" if question.goal == "exact" else f"{budget:,} or less"
        nearest = self.built(budget, "closest", 1)
        if not nearest.points:
            return replace(answer, reason=self.cases[0].why_nothing(nearest))
        best = nearest.points[0]
        off = f"{best.count:,} ({best.count - budget:+,})"
        reason = f"no arguments give {wanted}; the nearest give {off}: {best.call}"
        return replace(answer, reason=reason)

    def built(self, budget: int, goal: Goal, number: int) -> Solved:
        answers = [case.built(budget, goal, number) for case in self.cases]
        first = next((one for one in answers if one.points), answers[0])
        points = {one.call: one for answer in answers for one in answer.points}
        best = sorted(points.values(), key=lambda one: abs(one.count - budget))
        return replace(
            first,
            form=" | ".join(dict.fromkeys(one.form for one in answers if one.form)),
            points=tuple(best[:number]),
            combinations=sum(one.combinations for one in answers),
            cut=any(one.cut for one in answers),
            is_complete=self.is_complete,
            refused=sum(one.refused for one in answers),
            strayed=sum(one.strayed for one in answers),
            reason=None if points else first.reason,
        )


def _as_test(rule: ArgumentRule) -> Formula:
    """A rule in what formulas are written in, or computed as Python does."""
    try:
        return parse_formula(rule.text)
    except FormulaError:
        code = compile(rule.text, "<rule>", "eval")  # of names, numbers and operators that we wrote
        names = {n: v for n, v in vars(math).items() if callable(v)}
        own = {"__builtins__": {}, **names, "abs": abs, "max": max, "min": min, "round": round}

        def test(values: Mapping[str, NameValue]) -> Fraction:
            return Fraction(bool(eval(code, own, dict(values))))

        return Formula(rule.text, rule.names, is_condition=True, evaluate=test)


class _Solver:
    """The answers for one case of a target. `names`: the unknowns, and what is tied to them;
    `idle`: unknowns that make no difference, and stay as they are."""

    def __init__(
        self,
        question: Question,
        unknowns: dict[str, Unknown],
        given: str,
        first: Measured,
        history: BuildHistory,
        form: ClosedForm | None,
    ) -> None:
        self.question, self.given, self.first, self.history = question, given, first, history
        self.base = {name: v for name, v in history.base.items() if type(v) is int}
        self.form = form
        self.unknowns = dict(unknowns)
        self.ties = {name: f for name, f in question.ties.items() if name in self.base}
        for formula in self.ties.values():
            self.check("--tie", formula)
        # A condition that only names arguments of other targets is not about this one.
        self.conditions = [c for c in question.conditions if c.names & self.base.keys()]
        for condition in self.conditions:
            self.check("--where", condition)
        self.rules = self.form.rules if self.form else ()
        self.idle: dict[str, int] = {}
        self.text = ""
        if self.form:
            for name in (*self.unknowns, *self.ties):
                if name in self.form.fixed:
                    why = self.form.fixed[name]
                    raise UsageError(f"{name} cannot be varied in {first.call}: {why}")
            for rule in self.rules:
                self.follow(rule)
            self.text = factored(self.form.total, list(self.form.base))
            self.prepare(self.form)
        self.names = [*self.unknowns, *self.ties]
        tests = [*map(_as_test, self.rules), *self.conditions]
        self.requirements = Requirements(self.base, self.unknowns, self.ties, tests)

    # --- the question, for this target ---

    def check(self, option: str, formula: Formula) -> None:
        """Raises UsageError for a name that the model has no number for."""
        for name in sorted(formula.names - self.base.keys()):
            near = difflib.get_close_matches(name, self.base, 1)
            there = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(self.base)}"
            raise UsageError(f"option {option}: {self.given} has no whole number {name!r}; {there}")

    def follow(self, rule: ArgumentRule) -> None:
        """Let arguments that the model itself ties to the unknowns (`d_ff == 4*d_model`) follow
        them, and those of a case that is about equal ones."""
        condition, open_ = rule.condition, {*self.unknowns, *self.ties}
        if condition is None or condition.operation != "==" or condition.left is not None:
            return
        if rule.is_limit and not condition.names <= open_:
            return
        for name in sorted(condition.names, key=lambda n: (n in open_, n)):
            value = solved(condition.form, name)
            if value is not None and value.names & open_ and name not in self.ties:
                self.unknowns.pop(name, None)
                self.ties[name] = parse_formula(factored(value, list(self.base)))
                return

    def prepare(self, form: ClosedForm) -> None:
        """The count as a function of the unknowns, and which of them are known to add to it."""
        open_ = {*self.unknowns, *self.ties}
        fixed = {n: Polynomial.constant(v) for n, v in self.base.items() if n not in open_}
        total = substituted(form.total, fixed)
        try:
            for name, formula in reversed(self.ties.items()):
                tie = substituted(polynomial_of(formula), fixed)
                total = substituted(total, {name: tie})
        except NoPolynomial:
            self.opaque(total)
            return
        asked = {name for condition in self.conditions for name in condition.names}
        self.idle = {n: self.base[n] for n in self.unknowns if n not in {*total.names, *asked}}
        if len(self.idle) == len(self.unknowns):
            verb = "makes" if len(self.idle) == 1 else "make"
            what = f"{verb} no difference to the count of {self.first.call}"
            raise UsageError(f"{', '.join(self.idle)} {what}")
        self.unknowns = {n: u for n, u in self.unknowns.items() if n not in self.idle}
        self.count: Callable[..., int] = compiled(total, list(self.unknowns))
        self.growing = growing(total, {name: u.low for name, u in self.unknowns.items()})

    def opaque(self, total: Polynomial) -> None:
        """The count if a tie is a conditional, for instance: only its values are known, not its
        form."""
        count = compiled(total, [*self.unknowns, *self.ties])

        def at(*values: int) -> int:
            full = self.requirements.completed(dict(zip(self.unknowns, values, strict=True)))
            tied = [full[name] for name in self.ties]
            return NOWHERE if None in tied else count(*values, *tied)

        self.count, self.growing = at, frozenset()

    # --- the answer ---

    def find(self, budget: int, goal: Goal, number: int) -> Search:
        unknowns, asked = list(self.unknowns.values()), self.requirements
        if self.form is None:
            return SearchByBuilding(self.count_all, asked, unknowns, budget).run(goal, number)
        return Searching(self.count, asked, unknowns, self.growing, budget, goal, number).run()

    def count_all(self, points: Sequence[Whole]) -> list[int | None]:
        """Without a closed form every count takes a build."""
        done = self.history.build([self.values(point) for point in points])
        return [built.total if isinstance(built, Built) else None for _, built in done]

    def why_nothing(self, answer: Solved) -> str:
        asked = [str(rule) for rule in self.rules if rule.names & {*self.names}]
        asked += [condition.text for condition in self.conditions]
        given = {u.name: (u.low, u.high) for u in self.unknowns.values() if u.high is not None}
        limits = {**answer.limits, **given}.items()
        within = [f"{name} {low}..{high}" for name, (low, high) in limits]
        where = f" with {', '.join(within)}" if within else ""
        what = f"nothing meets {' and '.join(asked)}" if asked else "nothing can be built"
        return f"{what}{where}; next: other limits, as in --vary {self.names[0]}=1..4096"

    def built(self, budget: int, goal: Goal, number: int) -> Solved:
        """The candidates that were built and have the right count; further ones if the model
        rejects the first."""
        refused = strayed = 0
        why = None
        for _ in range(ROUNDS):
            found = self.find(budget, goal, number + SPARE)
            met: list[Met] = []
            points = [self.values(solution.point) for solution in found.candidates]
            done = self.history.build(points)
            for solution, values, (_, built) in zip(found.candidates, points, done, strict=True):
                if isinstance(built, Built) and built.total == solution.count:
                    met.append(Met(values, built.total, built.call))
                    continue
                self.requirements.exclude(solution.point)
                strayed += isinstance(built, Built)
                refused += not isinstance(built, Built)
                why = why or getattr(built, "reason", None)
            if len(met) >= number or len(met) == len(points):
                break
        return Solved(
            self.given,
            budget,
            self.first.call,
            self.text,
            tuple(self.names),
            tuple(met[:number]),
            found.combinations,
            found.solved,
            found.cut,
            found.limits,
            self.idle,
            refused,
            strayed,
            None if met else f"the model rejects the arguments that its closed form gives: {why}",
        )

    def values(self, point: Whole) -> dict[str, int]:
        """The unknowns, and what is tied to them."""
        full = self.requirements.completed(point)
        return {name: v for name in self.names if isinstance(v := full[name], int)}
