"""The closed forms of a model: one for each case, since truth values and choices are no numbers."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.derive import derive
from nparam_lint.analysis.closed_forms.exploration import Learned
from nparam_lint.analysis.closed_forms.form_records import ClosedForm, Derived
from nparam_lint.analysis.closed_forms.observations import (
    BuildHistory,
    Built,
    Value,
    Variable,
    differs,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nparam_lint.analysis.closed_forms.derive import TracedModel

CASES = 16  # combinations of choices that are all derived
ALONE = 4  # choices that are changed one at a time, unless more were requested


def derive_all(
    history: BuildHistory,
    variables: Sequence[Variable],
    traces: TracedModel,
    *,
    chosen: bool = False,
) -> tuple[list[Derived], list[str]]:
    """(the forms, the base's case first; the names of choices that have an effect but were
    skipped). `chosen`: all combinations of the choices are requested; otherwise each choice that
    has an effect is changed alone, to the values that give other parameters."""
    learned = Learned()
    found = derive(history, variables, traces, learned=learned)
    base = found[0]
    if not isinstance(base, ClosedForm):
        return found, []
    switches = [v for v in variables if not v.is_number and v.choices]
    # All at once: each time that models are built costs something.
    history.build([{v.name: value} for v in switches for value in _values(v)])
    others = {v.name: _others(history, v) for v in switches}
    telling = [v for v in switches if chosen or others[v.name]]
    every = list(product(*(_values(v) for v in telling)))
    left: list[str] = []
    if chosen and len(every) <= CASES:
        cases = [dict(zip([v.name for v in telling], values, strict=True)) for values in every]
    else:
        cases = [{v.name: value} for v in telling[:ALONE] for value in others[v.name]]
        left = [v.name for v in telling[ALONE:]]
    known = [(form.total, {*form.rules}) for form in found if isinstance(form, ClosedForm)]
    for case in cases:
        if any(differs(value, history.base[name]) for name, value in case.items()):
            if learned.is_late:
                left += [name for name in case if name not in left]
                continue
            for form in derive(history, variables, traces, case, learned):
                if not isinstance(form, ClosedForm) or (form.total, {*form.rules}) not in known:
                    found.append(form)
    return found, left


def _values(variable: Variable) -> list[Value]:
    return list(dict.fromkeys([variable.base, *variable.choices]))


def _others(history: BuildHistory, switch: Variable) -> list[Value]:
    """The choices that, alone, give other parameters, whatever those are called."""
    values = _values(switch)
    ((_, first), *built) = history.build([{switch.name: value} for value in values])
    return [
        value
        for value, (_, other) in zip(values[1:], built, strict=True)
        if isinstance(other, Built) and isinstance(first, Built) and other.sizes != first.sizes
    ]
