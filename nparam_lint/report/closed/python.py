"""The closed form as a Python function, which needs nothing of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.closed_form import ClosedForm
from nparam_lint.analysis.closed_forms.form_writer import factored

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from nparam_lint.analysis.closed_forms.observations import Value
    from nparam_lint.report import Options
    from nparam_lint.report.closed import Formula


def render(formula: Formula, options: Options) -> str:  # noqa: ARG001
    """Nothing where not every case has a form: half a function would be wrong."""
    cases = [case for case in formula.cases if isinstance(case, ClosedForm)]
    if not formula.has_form:
        return ""
    first = cases[0]
    used = {name for case in cases for name in (*case.total.names, *case.case)}
    lines = [
        f"def parameter_count({_parameters(first.base, formula.order, used)}):",
        f'    """Parameters of {formula.call}: {first.value:,}.',
        "",
        f"    {_evidence(formula, cases)}",
    ]
    rules = dict.fromkeys(str(rule) for case in cases for rule in case.rules)
    if rules:
        lines += ["", *(f"    Needs {rule}." for rule in rules)]
    lines.append('    """')
    for case in cases[1:]:
        condition = " and ".join(f"{name} == {value!r}" for name, value in case.case.items())
        lines += [
            f"    if {condition}:",
            f"        return {factored(case.total, formula.order, 'python')}",
        ]
    lines.append(f"    return {factored(first.total, formula.order, 'python')}")
    return "\n".join(lines) + "\n"


def _evidence(formula: Formula, cases: Sequence[ClosedForm]) -> str:
    if formula.is_given:
        return "No argument was varied."
    places = sum(case.verified for case in cases)
    return f"Verified by building the model with {places} other arguments."


def _parameters(base: Mapping[str, Value], order: Sequence[str], used: Container[str]) -> str:
    """The names with their defaults; a list of which one element is used, as a whole."""
    elements: dict[str, dict[str, Value]] = {}
    for name in order:
        elements.setdefault(name.partition("[")[0], {})[name] = base[name]
    plain, lists = [], []
    for name, parts in elements.items():
        if name in parts and name in used:
            plain.append(f"{name}={base[name]!r}")
        elif name not in parts and any(part in used for part in parts):
            lists.append(name)
    return ", ".join(lists + plain)
