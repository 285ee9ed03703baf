"""Models that are built with other arguments, here and now, in place of the worker."""

from __future__ import annotations

import inspect
import math
import sys
import warnings
from contextlib import contextmanager
from fractions import Fraction
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
from nparam_lint.count.measured import NotMeasured, ParameterRow, TracedBuild, Traces
from nparam_lint.ground.notation import FormulaError
from nparam_lint.ground.notation.expression import parse_formula
from nparam_lint.worker.state import STATE
from nparam_lint.worker.symbolic.recorder import Exhausted, Recorder
from nparam_lint.worker.symbolic.shadows import shadowed
from nparam_lint.worker.symbolic.shapes import ROWS, carried
from nparam_lint.worker.symbolic.traced_numbers import symbol

if TYPE_CHECKING:
    from nparam_lint.analysis.closed_forms.form_records import ClosedForm, NoForm


@contextmanager
def built_on_meta():
    with torch.device("meta"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def asking(make, **base):
    """Asks for models that `make` builds, from these arguments unless a point says otherwise."""

    def ask(points):
        return [_outcome(make, {**base, **point}, point) for point in points]

    return ask


def _outcome(make, arguments, point):
    try:
        with built_on_meta():
            model = make(**arguments)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        return NotMeasured("NPL004", reason, cause="raised")
    named = model.named_parameters()
    rows = (ParameterRow(name, tuple(p.shape), str(p.dtype), p.requires_grad) for name, p in named)
    order = [name for name in inspect.signature(make).parameters if name in point]
    values = ", ".join(f"{name}={point[name]}" for name in order)
    return Built(tuple(rows), f"{make.__name__}({values})")


class InProcess:
    """A model that is built in this process; with traced numbers as the worker does."""

    def __init__(self, make, hints=()):
        self.make, self.hints = make, hints
        names = inspect.getmodule(make).__name__, __name__, "constructors"
        self.modules = [sys.modules[name] for name in dict.fromkeys(names) if name in sys.modules]

    def selected(self, parameters):
        return [range(len(parameters))]

    def why_unknown(self, _):
        return None

    def history(self, variables):
        return BuildHistory(asking(self.make), variables)

    def trace(self, batches, base, seconds):
        return [self.traced(points, base, seconds) for points in batches]

    def traced(self, points, base, seconds):
        STATE.trace = Recorder()
        layers = [m for n, m in list(sys.modules.items()) if n.startswith("torch.nn.modules.")]
        own = [m for m in self.modules if not m.__name__.startswith("torch.")]
        try:
            with shadowed(own, layers):
                runs = tuple(self.run(point, base, seconds) for point in points)
            return Traces(tuple(STATE.trace.rows), runs)
        finally:
            STATE.trace = None

    def run(self, point, base, seconds):
        trace = STATE.trace
        trace.begin(seconds)
        rows, error = (), None
        try:
            with built_on_meta(), carried(torch):
                model = self.make(**{**base, **{n: symbol(n, v) for n, v in point.items()}})
            trace.paused += 1
            rows = tuple(
                (name, "1", tuple(p.shape), tuple(getattr(p, ROWS, ())), (), "", ())
                for name, p in model.named_parameters()
            )
        except Exhausted:
            return None
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
        return TracedBuild(rows, tuple(trace.decisions), tuple(trace.lost), error)


def all_derived(make, hints=(), **base) -> list[ClosedForm | NoForm]:
    """All cases, that of the base first."""
    variables = [Variable(name, value) for name, value in base.items()]
    return derive(BuildHistory(asking(make, **base), variables), InProcess(make, hints))


def derived(make, **base) -> ClosedForm | NoForm:
    return all_derived(make, **base)[0]


def count(make, **arguments) -> int:
    with built_on_meta():
        return sum(p.numel() for p in make(**arguments).parameters())


NAMES = {**vars(math), "math": math, "Fraction": Fraction}


def value(text: str, point) -> object:
    """What a form or a rule is at a point, in Python."""
    return eval(text, dict(NAMES), dict(point))


def holds(form: ClosedForm, point) -> bool:
    """Whether a point is within the rules of a form."""
    try:
        return all(value(str(rule), point) for rule in form.rules)
    except ArithmeticError:
        return False


def told(form: ClosedForm, order, point):
    """What a form says at a point: by itself, and in each way that it is written."""
    texts = [write(form.total, order) for write in (expanded, factored)]
    found = [form.total.value(exactly(point)), value(factored(form.total, order, "python"), point)]
    for text in texts:
        try:
            found.append(parse_formula(text).evaluate(point))
        except FormulaError:  # budgets have fewer functions
            found.append(found[0])
    return found


def held_against(make, forms, points, tries):
    """Hold the forms, and what is written of them, against models that are built at the points
    that one of them holds at, as many as `tries`; gives how many there were."""
    known = 0
    for point in points:
        at_point = [form for form in forms if holds(form, point)]
        try:
            real = count(make, **point) if at_point else 0
        except (ValueError, AssertionError, RuntimeError, LookupError, ZeroDivisionError):
            continue
        ways = 2 if any(isinstance(v, float) for v in point.values()) else 4  # budgets are exact
        for form in at_point:
            assert told(form, [*form.base], point)[:ways] == [real] * ways, point
        known += bool(at_point)
        if known == tries:
            break
    return known
