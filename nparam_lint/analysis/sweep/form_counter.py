"""Counts by closed form: which case a configuration belongs to, and what its form gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.compiled_form import NOWHERE, compiled
from nparam_lint.analysis.closed_forms.observations import Point, Value, differs
from nparam_lint.analysis.closed_forms.requirements import Requirements, as_formula

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nparam_lint.analysis.closed_forms.form_records import ClosedForm


class FormCounter:
    """The proved cases of a form. A form that is only verified may be wrong where nobody looked."""

    def __init__(self, forms: Iterable[ClosedForm]) -> None:
        self.cases = [_Case(form) for form in forms if form.is_proved]

    def count(self, point: Point) -> int | None:
        """None where no form is proved, or its conditions do not hold: then it has to be built."""
        counts = (case.count(point) for case in self.cases)
        return next((count for count in counts if count is not None), None)


class _Case:
    """`choices`: the values that it holds for; `steady`: those of arguments that it says nothing
    about; `numbers`: those that it is about."""

    def __init__(self, form: ClosedForm) -> None:
        base = {**form.base, **form.case}
        numbers = [n for n, v in base.items() if type(v) in (int, float) and n not in form.case]
        self.numbers = {name: base[name] for name in numbers if name not in form.fixed}
        open_ = self.numbers.keys() | (set(form.idle) - form.fixed.keys())
        self.steady = {name: value for name, value in base.items() if name not in open_}
        self.form = compiled(form.total, [*self.numbers])
        self.rules = Requirements(base, self.numbers, {}, [*map(as_formula, form.rules)])

    def count(self, point: Point) -> int | None:
        for name, value in self.steady.items():
            if name in point and differs(point[name], value):
                return None
        values: dict[str, Value] = {}
        for name, value in self.numbers.items():
            values[name] = own = point.get(name, value)
            if type(own) is not type(value) or not (own > 0 or own == value):  # type: ignore[operator]
                return None
        if not self.rules.hold(values):  # type: ignore[arg-type]
            return None
        found = self.form(*values.values())
        return None if found == NOWHERE else int(found)
