"""Models that are built with other arguments, here and now, in place of the worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from nparam_lint.analysis.closed_forms.derive import derive
from nparam_lint.analysis.closed_forms.form_writer import expanded, factored
from nparam_lint.analysis.closed_forms.observations import (
    BuildHistory,
    Built,
    Variable,
    exactly,
)
from nparam_lint.claims.expression import parse_formula
from nparam_lint.records import NotMeasured, ParameterRow

if TYPE_CHECKING:
    from nparam_lint.analysis.closed_forms.parameter_forms import ClosedForm, NoForm


def asking(make, **base):
    """Asks for models that `make` builds, from these arguments unless a point says otherwise."""

    def ask(points):
        return [_outcome(make, {**base, **point}) for point in points]

    return ask


def _outcome(make, arguments):
    try:
        with torch.device("meta"):
            model = make(**arguments)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        return NotMeasured("NPL004", reason, cause="raised")
    named = model.named_parameters()
    rows = (ParameterRow(name, tuple(p.shape), str(p.dtype), p.requires_grad) for name, p in named)
    return Built(tuple(rows))


def derived(make, **base) -> ClosedForm | NoForm:
    variables = [Variable(name, value) for name, value in base.items()]
    return derive(BuildHistory(asking(make, **base), variables), variables)


def count(make, **arguments) -> int:
    with torch.device("meta"):
        return sum(p.numel() for p in make(**arguments).parameters())


def told(form: ClosedForm, order, point):
    """What a form says at a point: by itself, and in each way that it is written."""
    texts = [write(form.total, order) for write in (expanded, factored)]
    python = factored(form.total, order, "python")
    return [
        form.total.value(exactly(point)),
        *(parse_formula(text).evaluate(point) for text in texts),
        eval(python, {}, dict(point)),
    ]
