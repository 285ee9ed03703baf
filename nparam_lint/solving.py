"""Arguments that meet a budget: derives a closed form, solves it, and builds what comes out."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nparam_lint.closed.constraints import Rule
from nparam_lint.closed.derive import ClosedForm, derive
from nparam_lint.closed.observe import Built, Variable, exactly
from nparam_lint.closed.session import Session
from nparam_lint.closed.solve import search, search_built
from nparam_lint.closed.write import factored
from nparam_lint.count.process import staying
from nparam_lint.formula import FormulaError
from nparam_lint.records import Measured
from nparam_lint.report.solved import Met, Solved
from nparam_lint.varied import Model, NothingBuilt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from nparam_lint.closed.solve import Goal, Search, Unknown, Whole
    from nparam_lint.core import Progress
    from nparam_lint.formula import Formula
    from nparam_lint.notation import Selector, Target
    from nparam_lint.records import NameValue
    from nparam_lint.settings import Settings


SPARE = 5  # solutions beyond those asked for: the model may refuse some


class NoAnswer(Exception):
    """The question cannot be answered as it was put; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Question:
    """`ties`: what follows the unknowns; `conditions`: what has to hold besides what the models ask
    themselves; `number`: of solutions."""

    budget: int
    unknowns: Mapping[str, Unknown]
    ties: Mapping[str, Formula]
    conditions: Sequence[Formula]
    goal: Goal
    number: int


def solve(
    question: Question,
    given: str,
    settings: Settings,
    target: Target,
    selector: Selector,
    environ: Mapping[str, str],
    progress: Progress | None = None,
) -> Solved:
    """The answer for one target; `given`: as it was written. Raises NoAnswer and NoInterpreter."""
    with staying():
        try:
            model = Model(settings, target, selector, environ, progress)
            first = model.first()
            if not isinstance(first, Measured):
                return Solved(given, reason=first.reason)
            variables = _variables(question, first, given)
            session = Session(model.build, variables)
            form = derive(session, variables)
            found = _Found(question, given, first, session)
            return found.by_form(form) if isinstance(form, ClosedForm) else found.by_building()
        except NothingBuilt as error:
            raise NoAnswer(str(error)) from None


def _variables(question: Question, first: Measured, given: str) -> list[Variable]:
    """Of the unknowns and what is tied to them, those that this model has; and whatever else may
    limit them."""
    rows = {row.name: row for row in first.variables}
    here = [name for name in question.unknowns if name in rows]
    if not here:
        there = ", ".join(n for n, row in rows.items() if type(row.value) is int) or "none"
        asked = ", ".join(question.unknowns)
        raise NoAnswer(f"{given} has no argument {asked}; whole numbers that it has: {there}")
    for name in (*here, *(n for n in question.ties if n in rows)):
        if type(rows[name].value) is not int:
            raise NoAnswer(
                f"{name} is {rows[name].value!r} in {first.call}, expected a whole number; give it "
                f"one in the call: {given.partition('(')[0]}({name}=…)"
            )
    return [Variable(r.name, r.value, r.holder) for r in rows.values() if type(r.value) is int]


class _Found:
    """The answer for one target."""

    def __init__(self, question: Question, given: str, first: Measured, session: Session) -> None:
        self.question, self.given, self.first, self.session = question, given, first, session
        self.base = session.base
        self.unknowns = [u for name, u in question.unknowns.items() if name in self.base]
        self.tied = [name for name in question.ties if name in self.base]
        for name in self.tied:
            self.check("--tie", question.ties[name])
        # What speaks of another target's arguments alone is not about this one.
        self.conditions = [c for c in question.conditions if c.names & self.base.keys()]
        for condition in self.conditions:
            self.check("--where", condition)
        self.names = [*(u.name for u in self.unknowns), *self.tied]

    def check(self, option: str, formula: Formula) -> None:
        """Raises NoAnswer for a name that the model has no number for."""
        for name in sorted(formula.names - self.base.keys()):
            near = difflib.get_close_matches(name, self.base, 1)
            there = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(self.base)}"
            raise NoAnswer(f"option {option}: {self.given} has no whole number {name!r}; {there}")

    def by_form(self, form: ClosedForm) -> Solved:
        """Solve the closed form, then build what it gives."""
        question, text = self.question, factored(form.total, list(form.base))
        try:
            found = search(
                self.counter(form),
                self.allowed(form.rules),
                self.unknowns,
                question.budget,
                question.goal,
                question.number + SPARE,
            )
        except ValueError as error:
            return Solved(self.given, self.first.call, text, reason=str(error))
        return self.answer(found, text)

    def by_building(self) -> Solved:
        """Without a closed form every count takes a build."""

        def count_all(points: Sequence[Whole]) -> list[int | None]:
            done = self.session.build([self.values(point) for point in points])
            return [built.total if isinstance(built, Built) else None for _, built in done]

        question = self.question
        found = search_built(
            count_all,
            self.allowed(()),
            self.unknowns,
            question.budget,
            question.goal,
            question.number,
        )
        return self.answer(found, "")

    def answer(self, found: Search, form: str) -> Solved:
        """What was built, and has the count that it should."""
        met: list[Met] = []
        refused = strayed = 0
        points = [self.values(solution.point) for solution in found.solutions]
        done = self.session.build(points)
        for solution, values, (_, built) in zip(found.solutions, points, done, strict=True):
            if not isinstance(built, Built):
                refused += 1
            elif built.total != solution.count:
                strayed += 1
            else:
                met.append(Met(values, built.total, built.call))
        return Solved(
            self.given,
            self.first.call,
            form,
            tuple(self.names),
            tuple(met[: self.question.number]),
            found.combinations,
            found.solved,
            found.cut,
            refused,
            strayed,
            None if met else "no arguments meet the budget",
        )

    def values(self, point: Whole) -> dict[str, int]:
        """The unknowns, and what is tied to them."""
        full = self.completed(point)
        return {name: v for name in self.names if isinstance(v := full[name], int)}

    def completed(self, point: Whole) -> dict[str, NameValue]:
        """All names: those, and the rest as in the call."""
        full: dict[str, NameValue] = {**self.base, **point}
        for name in self.tied:
            value = self.question.ties[name].evaluate(full)
            full[name] = int(value) if value.denominator == 1 else float(value)
        return full

    def counter(self, form: ClosedForm) -> Callable[[Whole], int]:
        """The count as a function of the unknowns. What is compiled is our own text, of names,
        numbers and operators: a search evaluates it a million times."""
        code = compile(factored(form.total, list(form.base), "python"), "<closed form>", "eval")
        scope = {"__builtins__": {}, "max": max, "min": min, "int": int}

        def count(point: Whole) -> int:
            full = self.completed(point) if self.tied else {**self.base, **point}
            return int(eval(code, scope, full))

        return count

    def allowed(self, rules: Sequence[Rule]) -> Callable[[Whole], bool]:
        """What the model asks of its arguments, and what was asked for besides."""
        tests = [_test(str(rule), rule) for rule in rules]
        tests += [_test(condition.text, condition) for condition in self.conditions]

        def holds(point: Whole) -> bool:
            full = self.completed(point) if self.tied else {**self.base, **point}
            if any(type(full[name]) is not int for name in self.tied):
                return False
            try:
                return all(test(full) for test in tests)
            except FormulaError as error:
                raise NoAnswer(f"option --where: {error}") from None

        return holds


def _test(text: str, exact: Formula | Rule) -> Callable[[Mapping[str, NameValue]], bool]:
    """A condition in whole numbers. It is compiled, since it is asked a hundred thousand times: a
    formula was read before, and holds nothing but names, numbers and operators. What divides, or
    has decimals, is worked out exactly."""
    if "/" in text or "." in text:
        if isinstance(exact, Rule):
            return lambda point: exact.holds(exactly(point))
        return lambda point: bool(exact.evaluate(point))
    code = compile(text, "<condition>", "eval")
    scope = {"__builtins__": {}, "min": min, "max": max, "abs": abs, "ceil": int, "floor": int}

    def holds(point: Mapping[str, NameValue]) -> bool:
        try:
            return bool(eval(code, scope, point))
        except ZeroDivisionError:
            return False

    return holds
