"""`nparam-lint sweep TARGET --vary a=1..9,b=2,4`: the count of each of many configurations."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from nparam_lint.analysis.closed_forms.derive import derive_all
from nparam_lint.analysis.closed_forms.form_records import ClosedForm, NoForm
from nparam_lint.analysis.closed_forms.form_writer import factored
from nparam_lint.analysis.closed_forms.observations import Value, Variable, variable_of
from nparam_lint.analysis.documents.sweep_document import SweepResult, summary, sweep_document
from nparam_lint.analysis.model_builder import Model
from nparam_lint.analysis.sweep.row_lines import COLUMNS, csv_head, csv_line, json_line
from nparam_lint.analysis.sweep.sweep import Grid, Mismatch, Sweep, SweepRow
from nparam_lint.analysis.varied import grid_of, row_of
from nparam_lint.cache.store import Store
from nparam_lint.cli import common
from nparam_lint.cli.targets import locate
from nparam_lint.config.session import Progress, silent
from nparam_lint.count.measured import Measured, VariableRow
from nparam_lint.count.worker_process import reused_worker
from nparam_lint.ground.errors import UsageError
from nparam_lint.report.formats import render

USAGE = "nparam-lint sweep TARGET --vary d_model=64..512:64,n_layer=2,4 [options]"
DESCRIPTION = (
    "The count of each of many configurations: by closed form where one is proved and its "
    "conditions hold, of which a sample is built to check it; else by building the model. "
    "TARGET may end in a selector: nets/gpt.py::GPT[active]."
)
_SHOWN = 20  # rows of the table on a terminal
_CHOICES = 1000  # values of an argument that is no number, for each of which a form is sought
_SUFFIXES = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv"}


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("target", metavar="TARGET", help="LOCATION::CALLABLE(ARGUMENTS)[SELECTOR]")
    parser.add_argument(
        "--vary",
        metavar="VALUES",
        required=True,
        help="all combinations of these: d_model=256..2048:64,n_layer=2,4,8,norm=layer|rms",
    )
    parser.add_argument("--built", action="store_true", help="use no closed form: build all")
    out = parser.add_argument_group("output")
    out.add_argument("--out", metavar="FILE", help="write to a new .jsonl or .csv file")
    out.add_argument(
        "--format",
        dest="row_format",
        choices=("table", "jsonl", "csv"),
        help="of standard output (default: table on a terminal, else jsonl)",
    )
    common.add_color(out)
    common.add_building(parser)
    parser.set_defaults(formats=("text",), depth=None, output_file=None)


def run(options: Namespace) -> int:
    kind = _kind(options)
    start = time.monotonic()
    session, target, selector = locate(options, options.target, selects=True)
    grid = Grid(grid_of(options.vary))
    with reused_worker(), common.showing_progress(session) as session:
        try:
            model = Model(session, target, selector)
            answer = model.as_named()
            if isinstance(answer, Measured):  # what it takes by **kwargs has no row of its own
                rows = {row.name for row in answer.variables}
                missing = [name for name in grid.names if name.isidentifier() and name not in rows]
            else:
                missing = [*answer.missing]
            if missing and {*missing} <= grid.values.keys():  # the first configuration has them
                values = (f"{name}={grid.values[name][0]!r}" for name in missing)
                call = ", ".join(filter(None, (target.arguments, *values)))
                model = Model(session, replace(target, arguments=call), selector)
            first = model.first()
            if not isinstance(first, Measured):
                common.tell(f"{options.target}: {first.reason}")
                return 1
            forms: list[ClosedForm | NoForm] = []
            variables = [
                _variable(row_of(first, name), values) for name, values in grid.values.items()
            ]
            if not options.built:
                forms, _ = derive_all(model.history(variables), model, every_combination=True)
            # It keeps nothing of what it builds: a sweep is too much for a cache.
            uncached = replace(model.source.session, store=Store(None, ""), progress=silent)
            model.source = replace(model.source, session=uncached)
            sweep = Sweep(model, forms)
            first_rows = _write_rows(options, kind, grid, sweep, session.progress)
        except Mismatch as error:
            common.tell(str(error))
            return 1
    seconds = time.monotonic() - start
    lines = [] if options.built else _form_lines(forms)
    result = SweepResult(grid.names, first_rows, sweep.tally, lines, seconds)
    if kind == "table":
        text = render("text", sweep_document(result), common.layout(options, session))
        common.write(text, None)
    else:
        for line in summary(result):
            common.tell(line)
    return int(sweep.tally.failed == sweep.tally.rows > 0)


def _kind(options: Namespace) -> str:
    """What the rows are written as."""
    if options.out:
        path = Path(options.out)
        kind = _SUFFIXES.get(path.suffix)
        if kind is None:
            raise UsageError(f"option --out is {options.out!r}, expected .jsonl or .csv")
        if options.row_format and options.row_format != kind:
            raise UsageError("--format is of standard output; the suffix of --out says its own")
        if path.exists():
            step = "next: another --out FILE, or remove this one"
            raise UsageError(f"{path} is there already, and stays as it is\n{step}")
        if not path.parent.is_dir():
            raise UsageError(f"cannot write {path}: there is no directory {path.parent}")
        return kind
    return options.row_format or ("table" if sys.stdout.isatty() else "jsonl")


# --- the form ---------------------------------------------------------------------------------


def _variable(row: VariableRow, choices: Sequence[Value]) -> Variable:
    """An argument as a form has it: a number, or a choice among some values."""
    if row.name in COLUMNS:
        raise UsageError(f"{row.name} is an argument, and a column of every sweep; next: rename it")
    if type(row.value) in (int, float):
        return variable_of(row)
    default = () if row.value is None else (row.value,)
    values = {repr(value): value for value in (*default, *choices[:_CHOICES])}
    return variable_of(row, tuple(values.values()))


def _form_lines(forms: Sequence[ClosedForm | NoForm]) -> list[str]:
    """The forms that were used, or why there are none."""
    proved = [form for form in forms if isinstance(form, ClosedForm) and form.is_proved]
    if not proved:
        why = next((form.reason for form in forms if isinstance(form, NoForm)), "")
        why = why or next((w for f in forms if isinstance(f, ClosedForm) for w in f.unproved), "")
        return [f"no closed form is proved, so all were built{f': {why}' if why else ''}"]
    lines = []
    for form in proved[:3]:
        where = " and ".join(
            [*(f"{n} == {v!r}" for n, v in form.case.items()), *map(str, form.limits)]
        )
        lines.append(factored(form.total, [*form.base]) + (f"  where {where}" if where else ""))
    return lines


# --- the rows ---------------------------------------------------------------------------------


def _write_rows(
    options: Namespace, kind: str, grid: Grid, sweep: Sweep, progress: Progress
) -> list[SweepRow]:
    """Write the rows, and give the first of them, for a table."""
    line = partial(csv_line, grid.names) if kind == "csv" else json_line
    head = csv_head(grid.names) if kind == "csv" else ""
    first_rows: list[SweepRow] = []
    for rows in sweep.rows(grid):
        if kind == "table":
            first_rows += rows[: _SHOWN - len(first_rows)]
        else:
            common.write_chunks([head, *map(line, rows)], options.out, "a", "\n")
            head = ""
        progress(sweep.tally.rows, grid.count, str(sweep.model.target))
    return first_rows
