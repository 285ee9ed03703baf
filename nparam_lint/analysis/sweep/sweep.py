"""The rows of a sweep, in the order of its configurations, with constant memory."""

from __future__ import annotations

import random
import re
from itertools import islice
from math import prod
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

from nparam_lint.analysis.closed_forms import limits
from nparam_lint.analysis.closed_forms.compiled_form import NOWHERE, compiled
from nparam_lint.analysis.closed_forms.form_records import ClosedForm
from nparam_lint.analysis.closed_forms.observations import Built, differs
from nparam_lint.analysis.closed_forms.requirements import Requirements
from nparam_lint.count.measured import NotMeasured

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from nparam_lint.analysis.closed_forms.form_records import Derived
    from nparam_lint.analysis.closed_forms.observations import Outcome, Point, Value
    from nparam_lint.analysis.model_builder import Model


class Grid(Struct, frozen=True):
    """All combinations of the `values` of some arguments; the last argument changes first."""

    values: Mapping[str, Sequence[Value]]

    def __iter__(self) -> Iterator[Point]:
        for row in _combinations([*self.values.values()]):
            yield dict(zip(self.values, row, strict=True))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.values)

    @property
    def count(self) -> int:
        return prod(map(len, self.values.values()))


def _combinations(columns: Sequence[Sequence[Value]]) -> Iterator[tuple[Value, ...]]:
    """As `itertools.product`, which keeps every value of a range in memory."""
    if not columns:
        yield ()
        return
    for value in columns[0]:
        for row in _combinations(columns[1:]):
            yield (value, *row)


class SweepRow(Struct, frozen=True):
    """A configuration with its count; `reason`: why it has none. `by`: form or built."""

    point: Point
    count: int | None
    by: Literal["form", "built"]
    reason: str | None = None


class Tally(Struct):
    """How many rows there are of which kind. `checked`: those by form that were built as well;
    `unchecked`: those that should have been, and were too large for it."""

    rows: int = 0
    form: int = 0
    built: int = 0
    failed: int = 0
    checked: int = 0
    unchecked: int = 0
    reasons: dict[str, int] = field(default_factory=dict)

    def add(self, row: SweepRow) -> None:
        self.rows += 1
        if row.count is None:
            self.failed += 1
            if row.reason and (row.reason in self.reasons or len(self.reasons) < limits.CHUNK):
                self.reasons[row.reason] = self.reasons.get(row.reason, 0) + 1
        elif row.by == "form":
            self.form += 1
        else:
            self.built += 1


class Mismatch(Exception):
    """A count that is not what was said of it; the sweep ends."""


class Sweep:
    """Counts configurations, by those of the `forms` that are proved: one that is only verified may
    be wrong where nobody looked."""

    def __init__(self, model: Model, forms: Iterable[Derived]) -> None:
        self.model = model
        closed = (form for form in forms if isinstance(form, ClosedForm))
        self.cases = [ProvedCase(form) for form in closed if form.is_proved]
        self.tally, self.chance = Tally(), random.Random(0)

    def rows(self, points: Iterable[Point]) -> Iterator[list[SweepRow]]:
        """The rows, in pieces that are known to be right. Raises Mismatch."""
        points = iter(points)
        checks, size = limits.CHECKED_FIRST, limits.CHUNK if self.cases else limits.CHUNK_BUILDS
        while chunk := list(islice(points, size)):
            rows = self.count(chunk, checks)
            for row in rows:
                self.tally.add(row)
            yield rows
            by_form = sum(row.by == "form" for row in rows)
            # Where most are built, smaller pieces: the next one is not long in coming.
            size = limits.CHUNK if 2 * by_form > len(rows) else limits.CHUNK_BUILDS
            checks = limits.CHECKED

    def count(self, chunk: Sequence[Point], checks: int) -> list[SweepRow]:
        """By form; what no case is about is built, with a sample of the others."""
        rows = []
        for point in chunk:
            by_form = (case.count(point) for case in self.cases)
            count = next((count for count in by_form if count is not None), None)
            rows.append(SweepRow(point, count, "form"))
        places = [place for place, row in enumerate(rows) if row.count is None]
        by_form_places = [place for place, row in enumerate(rows) if row.count is not None]
        places += self.chance.sample(by_form_places, min(checks, len(by_form_places)))
        outcomes = self.model.build([chunk[place] for place in places])
        for place, outcome in zip(places, outcomes, strict=True):
            if rows[place].count is not None:
                self.check(rows[place], outcome)
            elif isinstance(outcome, NotMeasured):
                # In one line, without the call, which the row says.
                call = rf"{re.escape(self.model.target.callable)}\(.*\) (?=raised )"
                reason = re.sub(call, "", " ".join(outcome.reason.split()))
                rows[place] = SweepRow(chunk[place], None, "built", reason)
            else:
                rows[place] = SweepRow(chunk[place], outcome.total, "built")
        return rows

    def check(self, row: SweepRow, outcome: Outcome) -> None:
        """Compare what the form says with what was built."""
        if isinstance(outcome, Built):
            what = f"has {outcome.total:,}"
        elif outcome.is_transient:  # this says nothing about the form
            self.tally.unchecked += 1
            return
        else:
            what = f"cannot be built: {outcome.reason}"
        self.tally.checked += 1
        if not isinstance(outcome, Built) or outcome.total != row.count:
            where = ", ".join(f"{name}={value!r}" for name, value in row.point.items())
            raise Mismatch(
                f"the closed form is wrong at {where}: it gives {row.count:,}, the model that was "
                f"built {what}\nnext: nparam-lint sweep --built, and please report this model"
            )


class ProvedCase:
    """A form as a function of configurations. `numbers`: the arguments that it is about; `steady`:
    those that must have the values that they had."""

    def __init__(self, form: ClosedForm) -> None:
        base = {**form.base, **form.case}
        numbers = [n for n, v in base.items() if type(v) in (int, float) and n not in form.case]
        self.numbers = {name: base[name] for name in numbers if name not in form.fixed}
        open_ = self.numbers.keys() | (set(form.idle) - form.fixed.keys())
        self.steady = {name: value for name, value in base.items() if name not in open_}
        self.form = compiled(form.total, [*self.numbers])
        self.rules = Requirements(base, self.numbers, {}, form.rules)

    def count(self, point: Point) -> int | None:
        """None where its conditions do not hold."""
        for name, value in self.steady.items():
            if name in point and differs(point[name], value):
                return None
        values: dict[str, Value] = {}
        for name, value in self.numbers.items():
            values[name] = number = point.get(name, value)
            if type(number) is not type(value) or not (number > 0 or number == value):  # type: ignore[operator]
                return None
        if not self.rules.hold(values):  # type: ignore[arg-type]
            return None
        count = self.form(*values.values())
        return None if count == NOWHERE else int(count)
