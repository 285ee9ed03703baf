"""`nparam-lint solve TARGET… --budget N --vary a,b`: arguments that meet a budget."""

from __future__ import annotations

import re
import sys
import time
from typing import TYPE_CHECKING

from nparam_lint import __version__
from nparam_lint.commands import shared
from nparam_lint.commands.shared import UsageError
from nparam_lint.commands.show import settings_for_target
from nparam_lint.report.solved import Met, Solved

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

    from nparam_lint.closed.constraints import Rule
    from nparam_lint.closed.derive import ClosedForm, Session
    from nparam_lint.closed.observe import Variable
    from nparam_lint.closed.solve import Goal, Search, Unknown, Whole
    from nparam_lint.formula import Formula
    from nparam_lint.notation import Selector, Target
    from nparam_lint.records import Measured, NameValue
    from nparam_lint.settings import Settings

USAGE = "nparam-lint solve TARGET… --budget 10M --vary a,b [options]"
DESCRIPTION = (
    "Whole-number arguments with which a model has a given number of parameters, the best first; "
    "each is verified by building the model. Several targets are solved for the same budget."
)
_RANGE = re.compile(r"(\w+)(?:=(\d+)\.\.(\d+))?")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help="LOCATION::CALLABLE(ARGUMENTS)[SELECTOR]"
    )
    ask = parser.add_argument_group("the question")
    ask.add_argument("--budget", metavar="COUNT", help="parameters: 10M, 124_475_904, 1.5e9")
    ask.add_argument(
        "--vary",
        metavar="NAMES",
        help="the unknowns, with limits where wanted: d_model,n_layers=1..24; a target that lacks "
        "some of them is solved for the others",
    )
    ask.add_argument(
        "--tie", action="append", default=[], metavar="'b=4*a'", help="what follows the unknowns"
    )
    ask.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="'a %% 64 == 0'",
        help="what has to hold, besides what the model itself asks",
    )
    goal = ask.add_mutually_exclusive_group()
    for name, text in (
        ("closest", "as near as possible (default)"),
        ("under", "no more than the budget"),
        ("exact", "the budget itself"),
    ):
        goal.add_argument(
            f"--{name}", dest="goal", action="store_const", const=name, default="closest", help=text
        )
    ask.add_argument("--number", type=int, default=5, metavar="N", help="solutions (default: 5)")
    out = parser.add_argument_group("output")
    out.add_argument("--format", help="text (default), json")
    out.add_argument("--output-file", metavar="FILE", help="write it there")
    out.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    shared.add_building(parser)
    parser.set_defaults(depth=None, verbose=0, quiet=False)


def run(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    from nparam_lint.report import Options
    from nparam_lint.report.solved import SOLVED_FORMATS, Solution

    general = environ.get("NPARAM_LINT_FORMAT")
    format = options.format or (general if general in SOLVED_FORMATS else "text")
    if format not in SOLVED_FORMATS:
        raise UsageError(f"solve has no format {format!r}; it has {', '.join(SOLVED_FORMATS)}")
    options.format = None  # the settings know those of a report
    try:
        question = _question(options)
        start = time.monotonic()
        asked = [_placed(options, environ, text) for text in options.targets]
        found = shared.guarded(
            lambda: [_solve(question, *one, environ) for one in asked],
        )
        answer = Solution(
            __version__, question.budget, question.goal, tuple(found), time.monotonic() - start
        )
        shown = shared.layout(options, asked[0][1])
    except UsageError as error:
        if format != "json":
            raise
        print(f"nparam-lint: {error}", file=sys.stderr)
        failed = Solution(__version__, 0, options.goal, error=str(error))
        shared.write(SOLVED_FORMATS[format](failed, Options()), options.output_file)
        return 2
    shared.write(SOLVED_FORMATS[format](answer, shown), options.output_file)
    return int(not all(one.points for one in found))


# --- the question -----------------------------------------------------------------------------


class _Question:
    def __init__(self, options: argparse.Namespace) -> None:
        self.budget = _budget(options.budget)
        self.unknowns = _unknowns(options.vary)
        self.ties = dict(_tie(text) for text in options.tie)
        self.conditions = [_condition(text) for text in options.where]
        self.goal: Goal = options.goal
        self.number: int = options.number
        for name in self.ties:
            if name in self.unknowns:
                raise UsageError(f"{name} is an unknown in --vary and tied in --tie: which is it?")


def _question(options: argparse.Namespace) -> _Question:
    if not options.targets or options.budget is None or options.vary is None:
        missing = "which model?" if not options.targets else (
            "which budget?" if options.budget is None else "which arguments are unknown?"
        )  # fmt: skip
        raise UsageError(
            f"{missing}\nnext: nparam-lint solve nets/gpt.py::GPT --budget 10M "
            "--vary n_embd,n_layer=1..24"
        )
    return _Question(options)


def _budget(text: str) -> int:
    from nparam_lint.grammar import parse_value
    from nparam_lint.notation import TextError

    try:
        declared = parse_value(text).bounds({}, None).declared
    except TextError as error:
        raise UsageError(f"option --budget is {text!r}: {error}") from None
    if declared is None or declared <= 0:
        raise UsageError(f"option --budget is {text!r}, expected one number such as 10M")
    return declared


def _unknowns(text: str) -> dict[str, Unknown]:
    from nparam_lint.closed.solve import Unknown

    found: dict[str, Unknown] = {}
    for piece in text.split(","):
        match = _RANGE.fullmatch(piece.strip())
        if match is None or not match[1].isidentifier():
            raise UsageError(
                f"option --vary is {text!r}: found {piece.strip()!r}, expected a name or name=1..24"
            )
        low, high = (int(match[2]), int(match[3])) if match[2] else (1, None)
        if high is not None and high < low:
            raise UsageError(f"option --vary: {piece.strip()} has no values")
        found[match[1]] = Unknown(match[1], low, high)
    return found


def _tie(text: str) -> tuple[str, Formula]:
    name, sign, formula = text.partition("=")
    if not sign or not name.strip().isidentifier():
        raise UsageError(f"option --tie is {text!r}, expected name=formula such as d_ff=4*d_model")
    return name.strip(), _formula(formula, "--tie")


def _condition(text: str) -> Formula:
    formula = _formula(text, "--where")
    if not formula.is_condition:
        raise UsageError(
            f"option --where is {text!r}, expected a comparison such as 'd_model % n_heads == 0'"
        )
    return formula


def _formula(text: str, option: str) -> Formula:
    from nparam_lint.formula import FormulaError, parse_formula

    try:
        return parse_formula(text)
    except FormulaError as error:
        raise UsageError(f"option {option} is {text!r}: {error}") from None


def _placed(
    options: argparse.Namespace, environ: Mapping[str, str], text: str
) -> tuple[str, Settings, Target, Selector]:
    from nparam_lint.notation import TextError, parse_selected

    try:
        target, selector = parse_selected(text)
    except TextError as error:
        raise UsageError(f"{text!r} is no target: {error}") from None
    settings, target = settings_for_target(options, environ, target)
    return text, settings, target, selector


# --- the answer -------------------------------------------------------------------------------


def _solve(
    question: _Question,
    given: str,
    settings: Settings,
    target: Target,
    selector: Selector,
    environ: Mapping[str, str],
) -> Solved:
    from nparam_lint.closed.derive import ClosedForm, Session, derive
    from nparam_lint.count.process import staying
    from nparam_lint.records import Measured
    from nparam_lint.varied import Model, NothingBuilt

    with staying():
        try:
            model = Model(settings, target, selector, environ, shared.progress())
            first = model.first()
            if not isinstance(first, Measured):
                return Solved(given, reason=first.reason)
            variables = _variables(question, first, given)
            session = Session(model.build, variables)
            form = derive(session, variables)
            found = _Found(question, given, first, session)
            return found.by_form(form) if isinstance(form, ClosedForm) else found.by_building()
        except NothingBuilt as error:
            raise UsageError(str(error)) from None


def _variables(question: _Question, first: Measured, given: str) -> list[Variable]:
    """Of the unknowns and what is tied to them, those that this model has; and whatever else may
    limit them."""
    from nparam_lint.closed.observe import Variable

    rows = {row.name: row for row in first.variables}
    here = [name for name in question.unknowns if name in rows]
    if not here:
        there = ", ".join(n for n, row in rows.items() if type(row.value) is int) or "none"
        asked = ", ".join(question.unknowns)
        raise UsageError(f"{given} has no argument {asked}; whole numbers that it has: {there}")
    for name in (*here, *(n for n in question.ties if n in rows)):
        if type(rows[name].value) is not int:
            raise UsageError(
                f"{name} is {rows[name].value!r} in {first.call}, expected a whole number; give it "
                f"one in the call: {given.partition('(')[0]}({name}=…)"
            )
    return [Variable(r.name, r.value, r.holder) for r in rows.values() if type(r.value) is int]


class _Found:
    """The answer for one target."""

    def __init__(self, question: _Question, given: str, first: Measured, session: Session) -> None:
        self.question, self.given, self.first, self.session = question, given, first, session
        self.base = session.base
        self.unknowns = [u for name, u in question.unknowns.items() if name in self.base]
        self.tied = [name for name in question.ties if name in self.base]
        self.names = [*(u.name for u in self.unknowns), *self.tied]

    def by_form(self, form: ClosedForm) -> Solved:
        """Solve the closed form, then build what it gives."""
        from nparam_lint.closed.solve import search
        from nparam_lint.closed.write import factored

        question, text = self.question, factored(form.total, list(form.base))
        try:
            found = search(
                self.counter(form),
                lambda point: self.allows(point, form.rules),
                self.unknowns,
                question.budget,
                question.goal,
                question.number,
            )
        except ValueError as error:
            return Solved(self.given, self.first.call, text, reason=str(error))
        return self.answer(found, text)

    def by_building(self) -> Solved:
        """Without a closed form every count takes a build."""
        from nparam_lint.closed.observe import Built
        from nparam_lint.closed.solve import search_built

        def count_all(points: Sequence[Whole]) -> list[int | None]:
            done = self.session.build([self.values(point) for point in points])
            return [built.total if isinstance(built, Built) else None for _, built in done]

        question = self.question
        found = search_built(
            count_all,
            lambda point: self.allows(point, ()),
            self.unknowns,
            question.budget,
            question.goal,
            question.number,
        )
        return self.answer(found, "")

    def answer(self, found: Search, form: str) -> Solved:
        from nparam_lint.closed.observe import Built

        met, refused = [], 0
        points = [self.values(solution.point) for solution in found.solutions]
        done = self.session.build(points)
        for solution, values, (_, built) in zip(found.solutions, points, done, strict=True):
            if not isinstance(built, Built):
                refused += 1
            elif built.total != solution.count:
                raise AssertionError(f"{built.call} has {built.total:,}, not {solution.count:,}")
            else:
                met.append(Met(values, built.total, built.call))
        return Solved(
            self.given,
            self.first.call,
            form,
            tuple(self.names),
            tuple(met),
            found.combinations,
            found.solved,
            found.cut,
            refused,
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
        from nparam_lint.closed.write import factored

        code = compile(factored(form.total, list(form.base), "python"), "<closed form>", "eval")
        scope = {"__builtins__": {}, "max": max, "min": min, "int": int}

        def count(point: Whole) -> int:
            full = self.completed(point) if self.tied else {**self.base, **point}
            return int(eval(code, scope, full))

        return count

    def allows(self, point: Whole, rules: Sequence[Rule]) -> bool:
        """What the model asks of its arguments, and what was asked for besides."""
        from nparam_lint.closed.observe import exactly
        from nparam_lint.formula import FormulaError

        full = self.completed(point)
        if any(type(full[name]) is not int for name in self.tied):
            return False
        numbers = exactly(full)
        try:
            return all(rule.holds(numbers) for rule in rules) and all(
                condition.evaluate(full) for condition in self.question.conditions
            )
        except FormulaError as error:
            raise UsageError(f"option --where: {error}") from None
