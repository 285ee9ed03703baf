"""`nparam-lint solve TARGET… --budget N --vary a,b`: arguments that meet a budget."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.arguments import rules_of
from nparam_lint.analysis.closed_forms.search import Unknown
from nparam_lint.analysis.documents.solve_document import solve_document
from nparam_lint.analysis.solutions import Question, Solutions
from nparam_lint.analysis.solver import refuse_unknown, solve
from nparam_lint.analysis.varied import named_values, range_of
from nparam_lint.cli import common
from nparam_lint.cli.targets import locate
from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.notation import FormulaError, TextError
from nparam_lint.ground.notation.grammar import parse_value
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.report import Document

if TYPE_CHECKING:
    from nparam_lint.analysis.closed_forms.requirements import ArgumentRule

USAGE = "nparam-lint solve TARGET… --budget 10M --vary a,b [options]"
DESCRIPTION = (
    "Whole-number arguments with which a model has a given number of parameters, the best first; "
    "each is verified by building the model. Several targets, and several budgets, give one table."
)
_COMMA = late_pattern(r"(?<!\d),|,(?!\d{3}(?:,|$))")  # not that in 124,475,904


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help="LOCATION::CALLABLE(ARGUMENTS)[SELECTOR]"
    )
    ask = parser.add_argument_group("what to solve for")
    ask.add_argument(
        "--budget",
        metavar="COUNTS",
        help="parameters, or what the selector counts: 10M, 124_475_904, 1.5e9, 50MB; several: "
        "100k,1M",
    )
    ask.add_argument(
        "--vary",
        metavar="NAMES",
        help="the unknowns, with or without limits and steps: d_model=256..2048:64,n_layers=1..24; "
        "if a target lacks some of them, it is solved for the others",
    )
    ask.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="CONDITIONS",
        help="what must hold, in addition to what the model requires: "
        "'d_ff == 4*d_model and 256 <= d_model <= 1024 and d_model %% 128 == 0'",
    )
    ask.add_argument(
        "--free",
        action="store_true",
        help="without the default limits: of several unknowns without limits, each is between half "
        "and twice its value in the proportions of the call",
    )
    goal = ask.add_mutually_exclusive_group()
    for name, text in (
        ("closest", "as close as possible (default); exit code 1 where nothing is within 5 %%"),
        ("under", "no more than the budget"),
        ("exact", "exactly the budget"),
    ):
        goal.add_argument(
            f"--{name}", dest="goal", action="store_const", const=name, default="closest", help=text
        )
    ask.add_argument(
        "--number",
        type=int,
        metavar="N",
        help="number of solutions (default: 5; one for each of several targets or budgets)",
    )
    common.add_output(parser, "", verbose="the closed forms, and every call", quiet="", depth="")
    common.add_building(parser)


def failure(error: str, options: Namespace) -> Document:
    return solve_document(Solutions(options.goal, error=error))


def run(options: Namespace) -> int:
    start = time.monotonic()
    targets = [locate(options, text, selects=True) for text in options.targets]
    metric, *more = dict.fromkeys(selector.metric for *_, selector in targets) or ["total"]
    if more:
        raise UsageError(f"found targets of {metric} and of {more[0]}, expected those of one")
    question = _question(options, metric)
    rows = []  # one for each target
    for text, (session, target, selector) in zip(options.targets, targets, strict=True):
        with common.showing_progress(session) as session:
            rows.append(solve(question, text, session, target, selector))
    refuse_unknown(question, rows)
    columns = zip(*(row.answers for row in rows), strict=True)  # one for each budget
    answers = tuple(answer for column in columns for answer in column)
    seconds = time.monotonic() - start
    budgets = tuple(question.budgets)
    solutions = Solutions(question.goal, budgets, answers, seconds, options.free, metric)
    failed = any(answer.reason for answer in answers)
    return common.deliver(solve_document(solutions), options, targets[0][0], failed=failed)


# --- the question -----------------------------------------------------------------------------


def _question(options: Namespace, metric: str) -> Question:
    for value, missing in (
        (options.targets, "which model?"),
        (options.budget, "which budget?"),
        (options.vary, "which arguments are unknown?"),
    ):
        if value is None or value == []:
            example = "solve nets/gpt.py::GPT --budget 10M --vary n_embd,n_layer=1..24"
            raise UsageError(f"{missing}\nnext: nparam-lint {example}")
    expected = "a name or name=1..24, name=64..1024:64"
    unknowns: dict[str, Unknown] = {}
    for name, limits in named_values(options.vary, expected).items():
        values = range_of(limits, f"{name}={limits}") if limits else range(1, 1)
        if values is None:
            text = f"found {f'{name}={limits}'!r}, expected {expected}"
            raise UsageError(f"option --vary is {options.vary!r}: {text}")
        high = values.stop - 1 if limits else None
        unknowns[name] = Unknown(name, values.start, high, values.step)
    pieces = [piece.strip() for piece in _COMMA.split(options.budget)]
    if not all(pieces):
        text = f"{options.budget!r}, expected 10M, or several: 100k,1M"
        raise UsageError(f"option --budget is {text}")
    budgets: dict[int, None] = {}
    for piece in pieces:
        try:
            declared = parse_value(piece, metric).bounds({}, None).declared
        except TextError as error:
            raise UsageError(f"option --budget is {piece!r}: {error}") from None
        if declared is None or declared <= 0:
            raise UsageError(f"option --budget is {piece!r}, expected a number such as 10M")
        budgets[declared] = None
    number = options.number
    if number is None:
        number = 5 if len(budgets) == len(options.targets) == 1 else 1
    if number < 1:
        raise UsageError(f"option --number is {number}, expected at least 1")
    rules: list[ArgumentRule] = []
    for text in options.where:
        try:
            rules += rules_of(text)
        except FormulaError as error:
            raise UsageError(f"option --where is {text!r}: {error}") from None
    return Question(list(budgets), unknowns, rules, options.goal, number, options.free)
