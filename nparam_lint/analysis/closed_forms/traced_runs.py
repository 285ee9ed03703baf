"""Builds with traced numbers, read: the form of every parameter, and the decisions on the way."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import chain, islice
from math import ceil, prod
from typing import TYPE_CHECKING

from msgspec import Struct, field

from nparam_lint.analysis.closed_forms import limits
from nparam_lint.analysis.closed_forms.algebra import substituted
from nparam_lint.analysis.closed_forms.expressions import ExpressionTable
from nparam_lint.analysis.closed_forms.observations import Built, exactly, key_of
from nparam_lint.analysis.closed_forms.polynomial import ONE, Polynomial, plain, quotient
from nparam_lint.gate.judge import UNEQUAL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from nparam_lint.analysis.closed_forms.conditions import Condition
    from nparam_lint.analysis.closed_forms.observations import (
        BuildHistory,
        NamedParameter,
        Value,
        Variable,
    )
    from nparam_lint.analysis.closed_forms.polynomial import Number
    from nparam_lint.count.measured import TracedBuild, TracedTensor, Traces

    # Several jobs, each with its points, at once.
    Trace = Callable[[Sequence[Sequence[Mapping[str, Value]]]], Sequence[Traces | None]]


class TracedParameter(Struct, frozen=True):
    """`shape`: the form of each length, None where its origin was lost; `form`: of what is counted
    of it, a number where that was lost."""

    name: str
    shape: tuple[Polynomial, ...] | None
    form: Polynomial


def size_of(parameters: Sequence[TracedParameter]) -> Polynomial:
    """The form of the count of all of them."""
    forms = Counter(parameter.form for parameter in parameters)
    return Polynomial.sum(form * number for form, number in forms.items())


@lru_cache(maxsize=4096)  # of many layers
def _counted(
    shape: tuple[Polynomial, ...], weight: Number, uses: tuple[tuple[Polynomial, Polynomial], ...]
) -> Polynomial | None:
    """What is counted of a parameter; None where that is no product. `uses`: how many experts are
    used, of how many: a length, a part of one, or a number of modules, that is."""
    factors = list(shape)
    for active, number in uses:
        if number.number is not None:
            factors.append(active * Fraction(1, number.number))
            continue
        shares = [quotient(factor, number) for factor in factors]
        place = next((place for place, share in enumerate(shares) if share is not None), None)
        if place is None:
            return None
        factors[place] = active * (shares[place] or ONE)
    return prod(factors, start=ONE) * (1 if uses else weight)


class Run(Struct, dict=True):
    """`decisions`: as they were taken, in their order, each with the place of the first."""

    point: Mapping[str, Value]
    parameters: list[TracedParameter]
    decisions: dict[Condition, str]
    lost: list[tuple[str, Polynomial]]
    total: int = 0  # as it was counted
    error: str | None = None

    @cached_property
    def form(self) -> Polynomial:
        return size_of(self.parameters)

    @cached_property
    def numbers(self) -> Mapping[str, Number]:
        """The point, as far as it is numbers: exact."""
        return exactly(self.point)

    def at_values(self, form: Polynomial, names: Iterable[str]) -> Polynomial:
        """A form with the values that these names have here. Raises ArithmeticError."""
        return substituted(form, {n: Polynomial.constant(self.numbers[n]) for n in names})


class Tracer(Struct, dict=True):
    """Builds each point once. `selected`: of each module that is counted, the places of its
    parameters among all; where there are several, what is said is true of each."""

    trace: Trace
    selected: Callable[[Sequence[NamedParameter]], Sequence[Sequence[int]]]
    variables: Sequence[Variable]
    is_late: Callable[[], bool] = bool
    history: BuildHistory | None = None  # of builds with plain numbers
    runs: dict[tuple[tuple[str, str], ...], Run | None] = field(default_factory=dict)
    constants: set[int] = field(default_factory=set)  # in the conditions

    @cached_property
    def base(self) -> Mapping[str, Value]:
        return {variable.name: variable.base for variable in self.variables}

    @property
    def names(self) -> list[str]:
        return list(self.base)

    @cached_property
    def whole(self) -> frozenset[str]:
        return frozenset(v.name for v in self.variables if isinstance(v.base, int))

    @cached_property
    def least(self) -> dict[str, int]:
        """The least value that is tried, of each."""
        return {v.name: int(isinstance(v.base, int) and v.base != 0) for v in self.variables}

    def build(self, points: Sequence[Mapping[str, Value]]) -> list[Run | None]:
        """None for a point that could not be traced, or for which there was no time."""
        full = [{**self.base, **point} for point in points]
        keys = [key_of(point) for point in full]
        new = dict(zip(keys, full, strict=True))
        todo = [(key, point) for key, point in new.items() if key not in self.runs]
        while todo and not self.is_late():
            some, todo = todo[: limits.BATCH], todo[limits.BATCH :]
            size = max(limits.JOB_POINTS, -(-len(some) // limits.JOBS_AT_ONCE))
            batches = [some[place : place + size] for place in range(0, len(some), size)]
            answers = self.trace([[point for _, point in batch] for batch in batches])
            for batch, answer in zip(batches, answers, strict=True):
                if answer is None or not answer.runs:
                    self.runs.update((key, None) for key, _ in batch)
                    continue
                table = ExpressionTable(answer.expressions, self.whole, self.least)
                for (key, point), run in zip(batch, answer.runs, strict=False):
                    self.runs[key] = None if run is None else self._read(table, point, run)
                # There was no time for the others.
                todo = batch[len(answer.runs) :] + todo
        return [self.runs.get(key) for key in keys]

    def build_groups(self, groups: Sequence[Sequence[Mapping[str, Value]]]) -> list[list[Run]]:
        """At once: the runs of each group."""
        runs = iter(self.build([*chain(*groups)]))
        return [[r for r in islice(runs, len(group)) if r is not None] for group in groups]

    def plain(self, runs: Sequence[Run]) -> list[int | None]:
        """What is counted with plain numbers at the points of runs; None where nothing is built."""
        models = self.history.build([run.point for run in runs]) if self.history else ()
        return [model.total if isinstance(model, Built) else None for _, model in models]

    def _read(self, table: ExpressionTable, point: Mapping[str, Value], run: TracedBuild) -> Run:
        named = [((name, *also), origin) for name, *_, origin, also in run.parameters]
        parts = self.selected(named)
        sizes = {sum(_size(run.parameters[place]) for place in part) for part in parts}
        total = ceil(max(sizes, default=0))
        error = run.error or (UNEQUAL if len(sizes) > 1 else None)
        first = next(iter(parts), ())
        parameters = [_parameter(table, run.parameters[place]) for place in first]
        decisions: dict[Condition, str] = {}
        for row, is_true, place in run.decisions:
            condition = table.condition(row)
            if condition is not None:
                self.constants |= condition.constants
                decisions.setdefault(condition if is_true else condition.negated, place)
        lost = [(kind, table.form(row)) for kind, row in run.lost]
        return Run(point, parameters, decisions, lost, total, error)


def _size(tensor: TracedTensor) -> Number:
    _, weight, lengths, *_ = tensor
    return prod(lengths) * plain(Fraction(weight))


def _parameter(table: ExpressionTable, tensor: TracedTensor) -> TracedParameter:
    name, weight, lengths, rows, uses, *_ = tensor
    size = Polynomial.constant(_size(tensor))
    if lengths and not rows:
        return TracedParameter(name, None, size)
    shape = tuple(map(table.form, rows))
    experts = tuple((table.form(active), table.form(number)) for active, number in uses)
    form = _counted(shape, plain(Fraction(weight)), experts)
    return TracedParameter(name, shape, size if form is None else form)
