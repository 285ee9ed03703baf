"""The closed form for people: the formula, what it holds for, and what it is made of."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nparam_lint.closed.derive import ClosedForm, NoForm
from nparam_lint.closed.forms import Wrong
from nparam_lint.closed.observe import exactly
from nparam_lint.closed.write import expanded, factored
from nparam_lint.formula import shown
from nparam_lint.report import style
from nparam_lint.report.closed.rows import module_rows
from nparam_lint.report.style import Paint, clean
from nparam_lint.report.table import column_widths, ruled
from nparam_lint.report.text import NARROWEST

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nparam_lint.closed.observe import Value
    from nparam_lint.report import Options
    from nparam_lint.report.closed import Formula

_DEPTH = 2  # of the table of modules
_MANY = 6  # values of names, reasons, … on a line of facts


def render(formula: Formula, options: Options) -> str:
    if formula.error is not None:
        return ""
    options = replace(options, width=max(options.width, NARROWEST))
    paint = Paint(options.color)
    sections = [] if options.quiet else [_title(formula, options, paint)]
    if formula.reason is not None:
        reason = style.wrap(f"– not built: {clean(formula.reason)}", options.width, hang="  ")
        sections.append([paint("red", line) for line in reason])
    for number, case in enumerate(formula.cases):
        if isinstance(case, NoForm):
            sections.append(_absent(case, formula, options, paint))
            continue
        sections.append(_formula(case, formula.order, options, paint))
        if not options.quiet:
            sections.append(_facts(case, formula, options, paint))
        if not options.quiet and (number == 0 or options.verbose):
            sections.append(_modules(case, formula, options, paint))
        if options.verbose:
            sections.append(_shapes(case, formula.order, options, paint))
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _title(formula: Formula, options: Options, paint: Paint) -> list[str]:
    title = paint("bold", style.elide_target(clean(formula.target), options.width))
    return [title, *([paint("dim", f"  {clean(formula.call)}")] if formula.call else [])]


def _formula(case: ClosedForm, order: Sequence[str], options: Options, paint: Paint) -> list[str]:
    head = [paint("dim", f"where {_equations(case.case)}:")] if case.case else []
    lines = style.wrap(factored(case.total, order), options.width, "  ", "    ")
    return head + [paint("bold", line) for line in lines]


def _equations(values: Mapping[str, Value]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items())


def _facts(case: ClosedForm, formula: Formula, options: Options, paint: Paint) -> list[str]:
    used = case.total.names
    values = {name: case.base[name] for name in formula.order if name in used}
    pairs = [
        ("value", f"{case.value:,} with {_equations(values)}" if values else f"{case.value:,}")
    ]
    flat = expanded(case.total, formula.order)
    if flat != factored(case.total, formula.order):
        pairs.append(("expanded", flat))
    for name, rules in (("needs", case.demands), ("holds for", case.limits)):
        if rules:
            pairs.append((name, ", ".join(map(str, rules))))
    if case.idle:
        pairs.append(("no effect", _some(case.idle)))
    for name, why in case.fixed.items():
        pairs.append(("fixed", f"{name}={case.base[name]!r}: {clean(why)}"))
    places = style.plural(case.verified, "other place")
    pairs.append(("verified", f"at {places}, of {style.plural(case.built, 'model')} built"))
    wide = max(len(name) for name, _ in pairs)
    lines = []
    for name, value in pairs:
        first, *more = style.wrap(value, options.width - wide - 4)
        lines.append(f"  {paint('dim', name.ljust(wide))}  {first}")
        lines += [" " * (wide + 4) + line for line in more]
    return lines


def _some(names: Sequence[str]) -> str:
    left = len(names) - _MANY
    return ", ".join(names[:_MANY]) + (f" and {left} more" if left > 0 else "")


def _modules(case: ClosedForm, formula: Formula, options: Options, paint: Paint) -> list[str]:
    rows = module_rows(case.shapes, _DEPTH if options.depth is None else options.depth)
    own = [form for form in case.shapes if "." not in form.name]
    cells = [
        [
            "  " * row.level + clean(row.path),
            factored(row.size, formula.order),
            f"{row.value:,}",
            style.share(row.value, case.value),
        ]
        for row in rows
    ]
    cells += [
        [
            clean(form.name),
            factored(form.size, formula.order),
            f"{form.value:,}",
            style.share(form.value, case.value),
        ]
        for form in own
    ]
    return _table(("module", "parameters", "value", "share"), cells, "llrr", options, paint)


def _shapes(case: ClosedForm, order: Sequence[str], options: Options, paint: Paint) -> list[str]:
    cells = []
    for form in case.shapes:
        shape = "of several shapes"
        if form.shape is not None:
            inside = ", ".join(expanded(length, order) for length in form.shape)
            shape = f"({inside},)" if len(form.shape) == 1 else f"({inside})"
        number = factored(form.number, order)
        times = "" if number == "1" else number
        cells.append([clean(form.name), times, shape, f"{form.value:,}"])
    return _table(("parameter", "times", "shape", "value"), cells, "lrlr", options, paint)


def _table(
    headers: Sequence[str],
    cells: list[list[str]],
    align: str,
    options: Options,
    paint: Paint,
) -> list[str]:
    """Where it is too wide its names are cut, then the formulas follow on lines of their own."""
    if not cells:
        return []
    excess = sum(column_widths(headers, cells)) + 2 * (len(headers) - 1) - options.width
    if excess > 0:
        for column, least in ((0, 24), (1, 24), (2, 20)):
            if align[column] == "r" or excess <= 0:
                continue
            widest = max(len(row[column]) for row in cells)
            room = max(widest - excess, least)
            for row in cells:
                indent = len(row[column]) - len(row[column].lstrip())
                text = style.elide_middle(row[column][indent:], max(room - indent, 8))
                row[column] = row[column][:indent] + text
            excess -= max(widest - room, 0)
    return ruled(headers, cells, align, paint)


def _absent(case: NoForm, formula: Formula, options: Options, paint: Paint) -> list[str]:
    wrong = case.wrong or Wrong()
    what = f" for {clean(wrong.name)}" if wrong.name else ""
    where = f" where {_equations(case.case)}" if case.case else ""
    lines = style.wrap(f"– {clean(case.reason)}{what}{where}", options.width, hang="  ")
    lines = [paint("red", line) for line in lines]
    if wrong.guess is not None and wrong.actual is not None:
        guess = factored(wrong.guess, formula.order)
        base = {variable.name: variable.base for variable in formula.variables} | {**case.case}
        told = [n for n in wrong.point if n in wrong.guess.names or wrong.point[n] != base.get(n)]
        point = _equations({n: wrong.point[n] for n in formula.order if n in told})
        value = shown(wrong.guess.value(exactly(wrong.point))).replace("_", ",")
        text = (
            f"first counterexample, {wrong.what}: with {point} it is {wrong.actual:,}, where "
            f"{guess}, right so far, gives {value}"
        )
        lines += style.wrap(text, options.width, "  ", "  ")
    return lines
