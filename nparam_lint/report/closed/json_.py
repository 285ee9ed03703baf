"""The closed form for programs: one JSON document, schema version 1. Keys may be added, none
changed."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from nparam_lint.analysis.closed_forms.closed_form import NoForm
from nparam_lint.analysis.closed_forms.form_writer import expanded, factored
from nparam_lint.analysis.closed_forms.parameter_forms import Wrong
from nparam_lint.report import json_

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nparam_lint.analysis.closed_forms.closed_form import Derived
    from nparam_lint.analysis.closed_forms.parameter_forms import ShapeForm
    from nparam_lint.report import Options
    from nparam_lint.report.closed import Formula

Json = dict[str, Any]


def render(formula: Formula, options: Options) -> str:  # noqa: ARG001
    return json_.text_of(document(formula))


def document(formula: Formula) -> Json:
    return {
        "version": 1,
        "tool": {"name": "nparam-lint", "version": formula.version},
        "environment": None if formula.environment is None else asdict(formula.environment),
        "error": formula.error,
        "target": formula.target,
        "call": formula.call or None,
        "reason": formula.reason,
        "missing": list(formula.missing),
        "variables": [asdict(variable) for variable in formula.variables],
        "cases": [_case(case, formula.order) for case in formula.cases],
        "also_matter": list(formula.untold),
        "seconds": formula.seconds,
    }


def _case(case: Derived, order: Sequence[str]) -> Json:
    if isinstance(case, NoForm):
        wrong = case.wrong or Wrong()
        return {
            "case": dict(case.case),
            "formula": None,
            "reason": case.reason,
            "parameters": wrong.name or None,
            "quantity": wrong.what or None,
            "guess": None if wrong.guess is None else factored(wrong.guess, order),
            "counterexample": dict(wrong.point) or None,
            "actual": wrong.actual,
        }
    return {
        "case": dict(case.case),
        "formula": factored(case.total, order),
        "expanded": expanded(case.total, order),
        "python": factored(case.total, order, "python"),
        "latex": factored(case.total, order, "latex"),
        "value": case.value,
        "base": dict(case.base),
        "rules": [str(rule) for rule in case.rules],
        "no_effect": list(case.idle),
        "fixed": dict(case.fixed),
        "built": case.built,
        "verified": case.verified,
        "parameters": [_shape(form, order) for form in case.shapes],
    }


def _shape(form: ShapeForm, order: Sequence[str]) -> Json:
    shape = None
    if form.shape is not None:
        shape = [expanded(length, order) for length in form.shape]
    return {
        "name": form.name,
        "number": factored(form.number, order),
        "shape": shape,
        "formula": factored(form.size, order),
        "value": form.value,
        "source": form.source,
    }
