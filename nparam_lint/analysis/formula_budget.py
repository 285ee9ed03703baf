"""A closed form as the text of a budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.form_writer import factored

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nparam_lint.analysis.closed_forms.form_records import ClosedForm


def budget_of(cases: Sequence[ClosedForm], order: Sequence[str]) -> tuple[str, list[str]]:
    """(the formula, names of choices that it does not hold for). A choice between two values
    becomes a conditional; with more values, only the case of the call is used."""
    base, *further_cases = cases
    text = factored(base.total, order)
    switches = list(dict.fromkeys(name for case in further_cases for name in case.case))
    if len(further_cases) != 1 or len(switches) != 1:
        return text, switches
    (case,), (name,) = further_cases, switches
    value = case.case[name]
    condition = f"{name} == {value!r}"
    if isinstance(value, bool):
        condition = name if value else f"not {name}"
    return f"({factored(case.total, order)}) if {condition} else ({text})", []
