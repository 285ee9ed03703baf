"""The document of `formula`: the closed form, where it holds, and its parts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from nparam_lint import report as doc
from nparam_lint.analysis.closed_forms.form_records import ClosedForm, NoForm, ShapeForm
from nparam_lint.analysis.closed_forms.form_writer import expanded, factored
from nparam_lint.analysis.closed_forms.polynomial import ZERO, Polynomial
from nparam_lint.analysis.documents.formula_data import FormulaResult, formula_data
from nparam_lint.ground.grouping import grouped
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.report import style

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from nparam_lint.analysis.closed_forms.observations import Value

_DEPTH = 2  # of the table of modules
_CASES = 6  # that are shown
_LIMIT = late_pattern(r"(?P<name>[\w.\[\]']+) (?P<sign>[<>]=?) (?P<end>\S+)")
_OTHER = late_pattern(r"(?P<name>[\w.\[\]']+) != (?P<end>-?[\d.]+)")
_PARITY = {"== 0": "even", "!= 1": "even", "== 1": "odd", "!= 0": "odd"}
_HALF = late_pattern(rf"(?P<name>[\w.\[\]']+) % 2 (?P<rest>{'|'.join(_PARITY)})")
_SYMBOLS = "N", "P", "C", r"N_{\mathrm{param}}"  # of the count in LaTeX; the first that is free
_MANY = 6  # values of names, reasons, … on a line of facts


def formula_document(formula: FormulaResult) -> doc.Document:
    return doc.Document(
        "formula",
        lambda: formula_data(formula),
        lambda options: _page(formula, options),
        formula.error,
        lines=tuple(
            factored(case.total, formula.order) if isinstance(case, ClosedForm) else case.reason
            for case in formula.cases
        ),
        forms=lambda options: _forms(formula, options),
    )


def _page(formula: FormulaResult, options: doc.Options) -> doc.Page:
    if formula.error is not None:
        return doc.Page()
    call = "  ".join(filter(None, (formula.call, formula.place)))
    head = (doc.Text(call, "dim", "  ", kind="verbatim"),) if call else ()
    sections = [doc.Section(head, formula.target)]
    if formula.reason is not None:
        reason = doc.Text(f"– not built: {formula.reason}", "red", hang="  ")
        sections.append(doc.Section((reason,), always=True))
    shown = formula.cases if options.verbose else formula.cases[:_CASES]
    for number, case in enumerate(shown):
        if isinstance(case, NoForm):
            where = f" where {_equations(case.case)}" if case.case else ""
            blocks = [doc.Text(f"– {case.reason}{where}", "red", hang="  ")]
            for name, why in case.lost.items():
                blocks.append(doc.Text(f"{name} could not be followed: {why}", "dim", "  ", "    "))
            sections.append(doc.Section(tuple(blocks), always=True))
            continue
        form = doc.Text(factored(case.total, formula.order), "bold", "  ", "    ", "formula")
        condition = doc.Text(f"where {_equations(case.case)}:", "dim", kind="verbatim")
        blocks = [condition, form] if case.case else [form]
        sections.append(doc.Section(tuple(blocks), always=True))
        sections.append(doc.Section((doc.Facts(tuple(_facts(case, formula))),)))
        if number == 0 or options.verbose:
            sections.append(doc.Section((_modules(case, options, formula.order),)))
        if options.verbose:
            sections.append(doc.Section((_shapes(case, formula.order),), always=True))
    if more := len(formula.cases) - len(shown):
        text = doc.Text(f"and {style.plural(more, 'more case')}: -v", "dim", "  ")
        sections.append(doc.Section((text,), always=True))
    return doc.Page(tuple(sections), headline=formula.target)


def _equations(values: Mapping[str, Value]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items())


def _facts(case: ClosedForm, formula: FormulaResult) -> Iterator[doc.Fact]:
    names = case.total.names
    values = {name: case.base[name] for name in formula.order if name in names}
    where = f" with {_equations(values)}" if values else ""
    yield doc.Fact("value", f"{case.value:,}{where}")
    flat = expanded(case.total, formula.order)
    if flat != factored(case.total, formula.order):
        yield doc.Fact("expanded", flat, kind="formula")
    for name, rules in (("needs", case.requirements), ("holds for", case.limits)):
        if rules:
            yield doc.Fact(name, ", ".join(_in_short(rule.shown or rule.text for rule in rules)))
    if case.idle:
        yield doc.Fact("no effect", _listed(case.idle))
    if formula.also_matter and case is formula.cases[0]:
        choices = ", ".join(formula.also_matter)
        yield doc.Fact("matter too", f"{choices}: --vary {formula.also_matter[0]} shows how")
    texts = {n: v for n, v in case.base.items() if isinstance(v, str) and n not in case.case}
    if texts:
        listed = style.first([f"{name}={value!r}" for name, value in texts.items()], 4)
        yield doc.Fact("fixed", f"{', '.join(listed)}: no number to vary")
    for name, why in case.fixed.items():
        yield doc.Fact("fixed", f"{name}={case.base[name]!r}: {why}")
    places = style.plural(case.verified, "other place")
    if formula.is_constant:
        if len(formula.cases) == 1:  # no choice was varied either
            name, _, arguments = formula.call.partition("(")
            why = f"there is no number to vary in {formula.call}"
            if arguments == ")":
                step = f"; if it takes one, write it in the call: {name}(NAME=NUMBER)"
            else:
                step = (
                    ": only arguments written in the call are varied, not objects made before it; "
                    f"make them in the call: {name}(Config(NAME=NUMBER))"
                )
            yield doc.Fact("fixed", why + step)
    elif case.is_proved:
        yield doc.Fact("proved", f"by following the constructor; right at {places}")
    else:
        distinct = ", ".join(
            f"{name}: {style.plural(case.distinct[name], 'value')}"
            for name in values
            if name in case.distinct
        )
        yield doc.Fact("verified", f"at {places} ({distinct})" if distinct else f"at {places}")
        yield doc.Fact("not proved", _listed(case.unproved, "; "))


def _in_short(rules: Iterable[str]) -> list[str]:
    """As people would say them: limits that several names have in common once, and once the numbers
    that a name must not be."""
    texts: list[str] = []
    limited: dict[tuple[str, str], list[str]] = {}
    excluded: dict[str, list[str]] = {}
    for rule in rules:
        if limit := _LIMIT.fullmatch(rule):
            limited.setdefault((limit["sign"], limit["end"]), []).append(limit["name"])
        elif other := _OTHER.fullmatch(rule):
            excluded.setdefault(other["name"], []).append(other["end"])
        elif half := _HALF.fullmatch(rule):
            texts.append(f"{half['name']} is {_PARITY[half['rest']]}")
        else:
            texts.append(rule)
    for name, ends in excluded.items():
        texts.append(f"{name} not in ({', '.join(ends)})" if ends[1:] else f"{name} != {ends[0]}")
    for (sign, end), names in limited.items():
        end_of_all = "max" if sign.startswith("<") else "min"
        left = names[0] if len(names) == 1 else f"{end_of_all}({', '.join(names)})"
        texts.append(f"{left} {sign} {end}")
    return texts


def _listed(names: Sequence[str], between: str = ", ") -> str:
    more = len(names) - _MANY
    return between.join(names[:_MANY]) + (f" and {more} more" if more > 0 else "")


def _modules(case: ClosedForm, options: doc.Options, order: Sequence[str]) -> doc.Table:
    parts = _module_forms(case.shapes, _DEPTH if options.depth is None else options.depth)
    sizes = [("  " * part.level + part.path, part.size, part.value) for part in parts]
    root = [form for form in case.shapes if "." not in form.name]
    sizes += [(form.name, form.size, form.value) for form in root]
    rows = []
    for name, size, value in sizes:
        form = factored(size, order) if case.total.names else ""
        rows.append(doc.Row((name, form, f"{value:,}", style.share(value, case.value))))
    texts = doc.Column("module", "path"), doc.Column("parameters", "formula")
    numbers = doc.Column("value", "number"), doc.Column("share", "number")
    return doc.Table((*texts, *numbers), tuple(rows), noun="module").filled


def _shapes(case: ClosedForm, order: Sequence[str]) -> doc.Table:
    rows = []
    for form in case.shapes:
        shape = "of several shapes"
        if form.shape is not None:
            inside = ", ".join(expanded(length, order) for length in form.shape)
            shape = f"({inside},)" if len(form.shape) == 1 else f"({inside})"
        number = factored(form.number, order)
        times = "" if number == "1" else number
        rows.append(doc.Row((form.name, times, shape, f"{form.value:,}")))
    names = doc.Column("parameter", "path"), doc.Column("times", "number")
    sizes = doc.Column("shape", "formula"), doc.Column("value", "number")
    return doc.Table((*names, *sizes), tuple(rows), noun="parameter").filled


# --- modules --------------------------------------------------------------------------------------


class _ModuleForm(NamedTuple):
    """A module, or several that are made alike (`h.*`), with all that is below. `size`: of all of
    them together; `value`: that in the base call."""

    path: str
    level: int
    size: Polynomial
    value: int


def _module_forms(
    inside: Sequence[ShapeForm], depth: int, path: str = "", level: int = 0
) -> Iterator[_ModuleForm]:
    """The modules in that at `path`, which has the parameters `inside`, down to `depth`, in the
    order of the model; a module whose one part holds everything is left out for that part."""
    parts = _parts_of(path, inside)
    if not path and _is_whole(parts, inside):  # says no more than the total
        parts = _parts_of(next(iter(parts)), inside) or parts
    for name, forms in parts.items():
        while _is_whole(inner := _parts_of(name, forms), forms):  # down a chain of only children
            (name,) = inner
        size = sum((form.size for form in forms), ZERO)
        yield _ModuleForm(name, level, size, sum(form.value for form in forms))
        if level + 1 < depth:
            yield from _module_forms(forms, depth, name, level + 1)


def _parts_of(path: str, inside: Sequence[ShapeForm]) -> dict[str, list[ShapeForm]]:
    prefix = f"{path}." if path else ""
    below = [form for form in inside if "." in form.name.removeprefix(prefix)]
    return grouped(below, lambda f: prefix + f.name.removeprefix(prefix).partition(".")[0])


def _is_whole(parts: Mapping[str, Sequence[ShapeForm]], inside: Sequence[ShapeForm]) -> bool:
    """Whether there is one part, and it has everything."""
    return [*map(len, parts.values())] == [len(inside)]


# --- for programs ---------------------------------------------------------------------------------


def _forms(formula: FormulaResult, options: doc.Options) -> doc.FormSources:
    cases = [case for case in formula.cases if isinstance(case, ClosedForm)]
    missing = tuple(case.reason for case in formula.cases if isinstance(case, NoForm))
    if not cases:
        why = formula.reason or "the model could not be built"
        return doc.FormSources((), "", (), missing or (why,), ())
    order, first = formula.order, cases[0]
    choices = sorted({name for case in cases for name in case.case})
    names = {name for case in cases for name in (*case.total.names, *case.case)}
    names |= {name for case in cases for rule in case.limits for name in rule.names}
    rules = dict.fromkeys(str(rule) for case in cases for rule in case.requirements)
    needs = "\n".join(f"Needs {rule}." for rule in rules)
    evidence = "No argument was varied."
    if not formula.is_constant:
        places = sum(case.verified for case in cases)
        evidence = f"Verified by building the model with {places} other arguments."
    head = f"Parameters of {formula.call}: {first.value:,}."
    lengths = _lengths(first.base)
    parts = _module_forms(first.shapes, 1 if options.depth is None else options.depth)
    return doc.FormSources(
        tuple(
            doc.FormSource(
                (*lengths, *(f"{n} == {case.base[n]!r}" for n in choices), *map(str, case.limits)),
                (*(f"{n}={case.base[n]!r}" for n in choices), *_in_short(map(str, case.limits))),
                factored(case.total, order, "python"),
                factored(case.total, order, "latex"),
                case.value,
            )
            for case in cases
        ),
        _parameters(first.base, order, names),
        (head, evidence, *([needs] if needs else [])),
        missing,
        tuple((part.path, factored(part.size, order, "latex"), part.value) for part in parts),
        next(symbol for symbol in _SYMBOLS if symbol not in {_outermost(name) for name in order}),
    )


def _lengths(base: Mapping[str, Value]) -> list[str]:
    """That the lists and dictionaries among the arguments have as many elements as in the call."""
    keys: dict[str, list[str]] = {}
    for name in base:
        if match := re.fullmatch(r"(\w+)\[(\d+|'[^']*')\]", name):
            keys.setdefault(match[1], []).append(match[2])
    lists = {of: len(keys[of]) for of in keys if keys[of] == [*map(str, range(len(keys[of])))]}
    return [
        f"len({of}) == {lists[of]}" if of in lists else f"{{*{of}}} == {{{', '.join(keys[of])}}}"
        for of in keys
        if of in lists or not any(key.isdecimal() for key in keys[of])
    ]


def _outermost(name: str) -> str:
    """The argument that an element or a field is in."""
    return re.split(r"[.\[]", name)[0]


def _parameters(base: Mapping[str, Value], order: Sequence[str], names: Container[str]) -> str:
    """The names with their defaults; a list, or an object, of which one part is used, as a
    whole."""
    elements: dict[str, dict[str, Value]] = {}
    for name in order:
        elements.setdefault(_outermost(name), {})[name] = base[name]
    plain, lists = [], []
    for name, parts in elements.items():
        if name in parts and name in names:
            plain.append(f"{name}={base[name]!r}")
        elif name not in parts and any(part in names for part in parts):
            lists.append(name)
    return ", ".join(lists + plain)
