"""The closed form for people: the formula, what it holds for, and what it is made of."""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.closed_form import ClosedForm, NoForm
from nparam_lint.analysis.closed_forms.form_writer import expanded, factored
from nparam_lint.analysis.closed_forms.observations import exactly
from nparam_lint.analysis.closed_forms.parameter_forms import Wrong
from nparam_lint.claims.notation import exact_text
from nparam_lint.report import style
from nparam_lint.report.closed.rows import module_rows
from nparam_lint.report.style import Paint, clean
from nparam_lint.report.table import column_widths, ruled
from nparam_lint.report.text import NARROWEST

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nparam_lint.analysis.closed_forms.observations import Value
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
    lines = style.wrap_formula(factored(case.total, order), options.width, "  ", "    ")
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
    if formula.untold and case is formula.cases[0]:
        names = ", ".join(formula.untold)
        pairs.append(("matter too", f"{names}: --vary {formula.untold[0]} shows how"))
    for name, why in case.fixed.items():
        pairs.append(("fixed", f"{name}={case.base[name]!r}: {clean(why)}"))
    if formula.is_given:
        pairs.append(("fixed", _why_given(formula.call)))
    else:
        places = style.plural(case.verified, "other place")
        pairs.append(("verified", f"at {places}, of {style.plural(case.built, 'model')} built"))
    wide = max(len(name) for name, _ in pairs)
    lines = []
    for name, value in pairs:
        wrap = style.wrap_formula if name == "expanded" else style.wrap
        first, *more = wrap(value, options.width - wide - 4)
        lines.append(f"  {paint('dim', name.ljust(wide))}  {first}")
        lines += [" " * (wide + 4) + line for line in more]
    return lines


def _why_given(call: str) -> str:
    """Why the count is no formula, and how it would be one."""
    name, _, given = clean(call).partition("(")
    told = f"there is no number to vary in {clean(call)}"
    if given == ")":
        return f"{told}; name an argument of it: {name}(NAME=NUMBER)"
    return (
        f"{told}: only what stands in the call is varied, not what was made before it; make it "
        f"there: {name}(Config(NAME=NUMBER))"
    )


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
    headers = ("module", "parameters", "value", "share")
    if not case.total.names:  # the values say it
        return _table((headers[0], *headers[2:]), [[c[0], *c[2:]] for c in cells], options, paint)
    return _table(headers, cells, options, paint)


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
    return _table(("parameter", "times", "shape", "value"), cells, options, paint)


_ALIGN = {"times": "r", "value": "r", "share": "r"}
_BROKEN = {"parameters": "  ", "shape": " "}  # columns of formulas, and what hangs how far
_LEAST = 12  # of the column of names


def _table(
    headers: Sequence[str], cells: list[list[str]], options: Options, paint: Paint
) -> list[str]:
    if not cells:
        return []
    align = "".join(_ALIGN.get(header, "l") for header in headers)
    return ruled(headers, _fitted(headers, cells, options.width), align, paint)


def _fitted(headers: Sequence[str], cells: list[list[str]], width: int) -> list[list[str]]:
    """Where a table is too wide, its names and its formulas go on in further rows."""
    widths = column_widths(headers, cells)
    excess = sum(widths) + 2 * (len(headers) - 1) - width
    if excess <= 0:
        return cells
    forms = next((i for i, header in enumerate(headers) if header in _BROKEN), None)
    broken = {}
    room = widths[0] - excess
    if forms is not None:
        room += widths[forms]
        share = min(widths[0], max(room // 2, room - widths[forms]))
        hang = _BROKEN[headers[forms]]
        broken = {forms: [style.wrap_formula(row[forms], room - share, "", hang) for row in cells]}
        longest = max(len(line) for lines in broken[forms] for line in lines)
        room -= max(longest, len(headers[forms]) + 2)
    broken[0] = [style.wrap_path(row[0], max(room, _LEAST)) for row in cells]
    rows = []
    for number, row in enumerate(cells):
        columns = [broken[i][number] if i in broken else [cell] for i, cell in enumerate(row)]
        rows += [list(line) for line in zip_longest(*columns, fillvalue="")]
    return rows


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
        value = exact_text(wrong.guess.value(exactly(wrong.point))).replace("_", ",")
        text = (
            f"first counterexample, {wrong.what}: with {point} it is {wrong.actual:,}, where "
            f"{guess}, right so far, gives {value}"
        )
        lines += style.wrap(text, options.width, "  ", "  ")
    return lines
