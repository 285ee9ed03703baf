"""`nparam-lint formula TARGET`: the closed form of its count, derived and verified."""

from __future__ import annotations

import re
import time
from argparse import ArgumentParser, Namespace
from keyword import iskeyword

from msgspec.structs import replace

from nparam_lint.analysis.closed_forms.derive import derive_all
from nparam_lint.analysis.closed_forms.form_records import NoForm
from nparam_lint.analysis.closed_forms.observations import (
    Built,
    Variable,
    differs,
    variable_of,
)
from nparam_lint.analysis.documents.formula_data import FormulaResult
from nparam_lint.analysis.documents.formula_document import formula_document
from nparam_lint.analysis.model_builder import Model, NothingBuilt
from nparam_lint.analysis.varied import named_values, row_of, value_of
from nparam_lint.cli import common
from nparam_lint.cli.targets import locate
from nparam_lint.count.measured import Measured
from nparam_lint.count.worker_process import reused_worker
from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.nearest import did_you_mean
from nparam_lint.report import Document
from nparam_lint.rewrite import docstring_edits, edits

USAGE = "nparam-lint formula TARGET [--vary a,b,…] [options]"
DESCRIPTION = (
    "The closed form of a model's count in the arguments of its constructor and the fields of its "
    "config object: found by building the model with chosen arguments, and verified with others. "
    "TARGET may end in a selector: nets/gpt.py::GPT[h.*], [trainable]."
)

_OF_PYTHON = frozenset("abs int math max min round".split())  # that forms may have


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("target", metavar="TARGET", help="LOCATION::CALLABLE(ARGUMENTS)[SELECTOR]")
    parser.add_argument(
        "--vary",
        metavar="NAMES",
        help="the arguments to vary (default: all that have an effect); a choice with its values: "
        "d_model,n_layer,norm=layer|rms",
    )
    parser.add_argument(
        "--symbols",
        metavar="NAMES",
        help="what stands for arguments in the form: d_model=d,n_layers=L",
    )
    parser.add_argument(
        "--write", action="store_true", help="write the formula into the docstring as a budget"
    )
    common.add_output(
        parser,
        "forms",
        verbose="the shape of every parameter",
        quiet="only the formula",
        depth="levels of modules in the table (default: 2)",
    )
    common.add_building(parser)


def failure(error: str, options: Namespace) -> Document:
    return formula_document(FormulaResult(options.target, error=error))


def run(options: Namespace) -> int:
    session, target, selector = locate(options, options.target, selects=True)
    start = time.monotonic()
    if options.write and (str(selector) or options.vary):
        raise UsageError("option --write writes the whole formula; remove the selector and --vary")
    result = FormulaResult(options.target)
    with reused_worker(), common.showing_progress(session) as session:
        try:
            model = Model(session, target, selector)
            result = replace(_derived(result, model, options.vary), environment=model.environment)
        except NothingBuilt as error:
            result = replace(result, error=str(error))
    result = replace(result, seconds=time.monotonic() - start)
    if options.write and result.has_form:
        _write(result, model)
    is_python = common.format_for(options, session.settings) == "python"
    if symbols := _symbols(result, options.symbols, is_python=is_python):
        result = result.with_symbols(symbols)
    failed = not result.has_form
    return common.deliver(formula_document(result), options, session, failed=failed)


def _derived(result: FormulaResult, model: Model, names: str | None) -> FormulaResult:
    """With the form, derived in as many runs of the worker as it takes. Raises NothingBuilt."""
    first = model.first()
    if not isinstance(first, Measured):
        return replace(result, reason=first.reason, missing=first.missing)
    if why := model.why_unknown(first):
        return replace(result, call=first.call, cases=(NoForm(why),))
    way, variables = model.candidate.way, _variables(first, names)
    history, call = model.history(variables), first.call
    if any(differs(variable.base, model.call[variable.name]) for variable in variables):
        ((_, built),) = history.build([{}])
        call = built.call if isinstance(built, Built) else call
    cases, also_matter = derive_all(history, model, every_combination=bool(names))
    return replace(
        result,
        call=call,
        place=str(way.position) if way else "",
        variables=tuple(variables),
        cases=tuple(cases),
        also_matter=tuple(also_matter),
    )


def _write(result: FormulaResult, model: Model) -> None:
    """Write the formula into the docstring, and say so on standard error."""
    if result.place:
        step = f'next: declare how to build it: "{model.target}" = … in [arguments]'
        raise UsageError(f"option --write: {model.target} is built as {result.place} says\n{step}")
    target, built = model.target, model.built
    # Of several definitions of one name, the one that Python uses.
    definition = model.candidate.used(built) if built else None
    if not target.is_path:
        package = f"{target.location} is an installed package"
        raise UsageError(f"option --write: {package}; nothing is written there")
    if definition is None:
        places = " and ".join(built.definitions) if built else ""
        is_named = bool(model.candidate.definitions)
        where = f"; it is what {places} defines" if is_named and places else ""
        lack = f"{target.location} does not define {target.callable} itself{where}"
        raise UsageError(f"option --write: {lack}")
    text, choices = result.as_budget()
    try:
        line = docstring_edits.write_formula(text, target.arguments, definition, model.source)
    except (edits.Unsafe, edits.CannotWrite) as error:
        raise UsageError(f"option --write: {error}") from None
    common.tell(line or f"{target} already has it")
    if choices:
        names = ", ".join(choices)
        text = f"the formula holds for {result.call}; other choices of {names} give other counts"
        common.tell(text)


def _variables(first: Measured, text: str | None) -> list[Variable]:
    """The arguments to vary: all, or those of `--vary`, with the values given there."""
    rows = first.variables
    if text is None:
        return [variable_of(row) for row in rows if row.value is not None or row.choices]
    variables: list[Variable] = []
    for name, choices in named_values(text, "a name, or name=value|value").items():
        values = tuple(value_of(choice.strip()) for choice in choices.split("|") if choices)
        inside = f"{name}[", f"{name}."
        elements = [row for row in rows if row.name.startswith(inside)]
        if elements and not values:
            variables += map(variable_of, elements)
            continue
        row = row_of(first, name)
        if row.value is None and not values:
            raise UsageError(
                f"option --vary: {name} is None in {first.call}; say which values it may have: "
                f"{name}=1|2|4"
            )
        variables.append(variable_of(row, values))
    return variables


def _symbols(result: FormulaResult, text: str | None, *, is_python: bool) -> dict[str, str]:
    """Of `--symbols`: name of an argument, or of a list of which elements are varied, → symbol.
    `is_python`: they become the arguments of a function."""
    symbols: dict[str, str] = {}
    arguments = {re.split(r"[.\[]", name)[0]: None for name in result.order}
    for piece in text.split(",") if text else ():
        name, _, symbol = (word.strip() for word in piece.partition("="))
        if not (name.isidentifier() and symbol.isidentifier()):
            raise UsageError(
                f"option --symbols is {text!r}: found {piece.strip()!r}, expected name=symbol: "
                "d_model=d,n_layers=L"
            )
        if is_python and (iskeyword(symbol) or symbol in _OF_PYTHON):
            raise UsageError(
                f"option --symbols: {symbol} is a word of Python, and names nothing there"
            )
        if result.has_form and name not in arguments:
            hint = did_you_mean(name, arguments, f"there are: {', '.join(arguments) or '–'}")
            raise UsageError(f"option --symbols: {result.call} has no argument {name!r}{hint}")
        if symbol in {*symbols.values(), *(arguments.keys() - {name})} - symbols.keys():
            raise UsageError(f"option --symbols: {symbol} would stand for two arguments")
        symbols[name] = symbol
    return symbols
