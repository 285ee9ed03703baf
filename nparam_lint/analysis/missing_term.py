"""Which term a wrong formula lacks: what the form that was derived has more than the formula."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.analysis.closed_forms.algebra import substituted
from nparam_lint.analysis.closed_forms.derive import derive
from nparam_lint.analysis.closed_forms.expressions import polynomial_of
from nparam_lint.analysis.closed_forms.form_records import ClosedForm
from nparam_lint.analysis.closed_forms.form_writer import factored
from nparam_lint.analysis.closed_forms.observations import variable_of
from nparam_lint.analysis.closed_forms.polynomial import ZERO, Polynomial
from nparam_lint.analysis.model_builder import Model
from nparam_lint.config.session import silent
from nparam_lint.count.measured import Measured
from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.notation.expression import Formula

if TYPE_CHECKING:
    from nparam_lint.config.session import Session
    from nparam_lint.ground.notation.budget import Budget


def missing_term(budget: Budget, session: Session) -> str:
    """The term that must be added to a budget's formula, in the names of the arguments, and the
    parameters that it stands for; empty where the form was not derived. If the formula is right for
    the declared arguments, this is about the first others for which it is wrong."""
    formula = next((t for t in budget.value.terms if isinstance(t, Formula)), None)
    if formula is None:
        return ""
    try:
        declared = polynomial_of(formula)
        if not declared.is_exact:
            return ""
        model = Model(replace(session, progress=silent), budget.target, budget.selector)
        first = model.first()
        if not isinstance(first, Measured) or model.why_unknown(first):
            return ""
        rows = [row for row in first.variables if row.value is not None or row.choices]
        # A form is about the booleans of the call.
        booleans = {
            row.name: row.value
            for row in rows
            if isinstance(row.value, bool) and row.name in formula.names
        }
        constants = {name: Polynomial.constant(value) for name, value in booleans.items()}
        declared = substituted(declared, constants)
        forms = derive(model.history([*map(variable_of, rows)]), model)
    except (UsageError, ArithmeticError):
        return ""
    closed = (form for form in forms if isinstance(form, ClosedForm))
    form = next((form for form in closed if _differs(form, declared)), None)
    if form is None or not formula.names <= {*form.base}:
        return ""
    missing = form.total - declared
    text = factored(missing, [*dict.fromkeys([*sorted(formula.names), *form.base])])
    word, text = ("too much", text[1:]) if text.startswith("-") else ("missing", text)
    groups: dict[str, Polynomial] = defaultdict(lambda: ZERO)
    for shape in form.shapes:
        groups[shape.name] += shape.size
        groups[f"all {shape.name.rpartition('.')[2]}"] += shape.size
    whose = next((f" ({name})" for name, size in groups.items() if size == missing), "")
    call = (f"{name}={value}" for name, value in booleans.items())
    where = " and ".join([*call, *map(str, form.limits)])
    return f"{word}: {text}{whose}" + (f" where {where}" if where else "")


def _differs(form: ClosedForm, declared: Polynomial) -> bool:
    """Whether the form has more, or less, where it holds: of `x` nothing is left at `x == 0`."""
    difference = form.total - declared
    for rule in form.limits:
        for name, value in rule.solutions.items():
            with suppress(ArithmeticError):
                difference = substituted(difference, {name: value})
    return difference != ZERO
