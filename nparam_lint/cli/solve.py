"""`nparam-lint solve TARGET… --budget N --vary a,b`: arguments that meet a budget."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from nparam_lint import UsageError, __version__
from nparam_lint.analysis.closed_forms.search import Unknown
from nparam_lint.analysis.documents.solve_document import solve_document
from nparam_lint.analysis.solver import Question, Solutions, solve
from nparam_lint.claims import FormulaError, TextError
from nparam_lint.claims.expression import parse_formula
from nparam_lint.claims.grammar import parse_value
from nparam_lint.cli import common
from nparam_lint.cli.targets import locate

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from nparam_lint.claims.expression import Formula
    from nparam_lint.report import Document

USAGE = "nparam-lint solve TARGET… --budget 10M --vary a,b [options]"
DESCRIPTION = (
    "Whole-number arguments with which a model has a given number of parameters, the best first; "
    "each is verified by building the model. Several targets, and several budgets, give one table."
)
_RANGE = re.compile(r"([^\W\d][\w.]*(?:\[\d+\])*)(?:=(\d+)\.\.(\d+))?")
_COMMA = re.compile(r"(?<!\d),|,(?!\d{3}(?:,|$))")  # not that in 124,475,904


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help="LOCATION::CALLABLE(ARGUMENTS)[SELECTOR]"
    )
    ask = parser.add_argument_group("what to solve for")
    ask.add_argument(
        "--budget", metavar="COUNTS", help="parameters: 10M, 124_475_904, 1.5e9; several: 100k,1M"
    )
    ask.add_argument(
        "--vary",
        metavar="NAMES",
        help="the unknowns, with or without limits: d_model,n_layers=1..24; several without limits "
        "stay between half and twice the proportions of the call; if a target lacks some of "
        "them, it is solved for the others",
    )
    ask.add_argument(
        "--tie",
        action="append",
        default=[],
        metavar="'b=4*a'",
        help="an argument computed from the unknowns",
    )
    ask.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="'a % 64 == 0'",
        help="a condition, in addition to those of the model",
    )
    goal = ask.add_mutually_exclusive_group()
    for name, text in (
        ("closest", "as close as possible (default)"),
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


def failure(error: str, options: argparse.Namespace) -> Document:
    return solve_document(Solutions(__version__, options.goal, error=error))


def run(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    question = _question(options)
    start = time.monotonic()
    asked = [locate(options, environ, text, selects=True) for text in options.targets]
    found = [
        solve(question, text, *one, environ, common.progress())
        for text, one in zip(options.targets, asked, strict=True)
    ]
    answers = tuple(one for row in zip(*found, strict=True) for one in row)  # by budget
    seconds = time.monotonic() - start
    made = Solutions(__version__, question.goal, tuple(question.budgets), answers, seconds)
    failed = not all(one.points for one in answers)
    return common.deliver(solve_document(made), options, asked[0][0], environ, failed=failed)


# --- the question -----------------------------------------------------------------------------


def _question(options: argparse.Namespace) -> Question:
    for value, missing in (
        (options.targets, "which model?"),
        (options.budget, "which budget?"),
        (options.vary, "which arguments are unknown?"),
    ):
        if value is None or value == []:
            example = "solve nets/gpt.py::GPT --budget 10M --vary n_embd,n_layer=1..24"
            raise UsageError(f"{missing}\nnext: nparam-lint {example}")
    ties = dict(_tie(text) for text in options.tie)
    unknowns = _unknowns(options.vary)
    for name in ties.keys() & unknowns.keys():
        raise UsageError(f"{name} is both in --vary and in --tie; next: remove one of them")
    budgets = _budgets(options.budget)
    number = options.number
    if number is None:
        number = 5 if len(budgets) == len(options.targets) == 1 else 1
    if number < 1:
        raise UsageError(f"option --number is {number}, expected at least 1")
    conditions = [_condition(text) for text in options.where]
    return Question(budgets, unknowns, ties, conditions, options.goal, number)


def _budgets(text: str) -> list[int]:
    pieces = [piece.strip() for piece in _COMMA.split(text)]
    if not all(pieces):
        raise UsageError(f"option --budget is {text!r}, expected 10M, or several: 100k,1M")
    return list(dict.fromkeys(map(_budget, pieces)))


def _budget(text: str) -> int:
    try:
        declared = parse_value(text).bounds({}, None).declared
    except TextError as error:
        raise UsageError(f"option --budget is {text!r}: {error}") from None
    if declared is None or declared <= 0:
        raise UsageError(f"option --budget is {text!r}, expected a number such as 10M")
    return declared


def _unknowns(text: str) -> dict[str, Unknown]:
    found: dict[str, Unknown] = {}
    for piece in text.split(","):
        match = _RANGE.fullmatch(piece.strip())
        if match is None:
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
    try:
        return parse_formula(text)
    except FormulaError as error:
        raise UsageError(f"option {option} is {text!r}: {error}") from None
