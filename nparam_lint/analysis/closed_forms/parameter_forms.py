"""The forms of all parameters that some builds have."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.fitting import fit, polynomial
from nparam_lint.analysis.closed_forms.observations import Family, Point, Value, exactly, families
from nparam_lint.analysis.closed_forms.polynomial import ONE, ZERO, Polynomial, Samples

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from nparam_lint.analysis.closed_forms.constraints import Constraint
    from nparam_lint.analysis.closed_forms.experiments import Seen
    from nparam_lint.analysis.closed_forms.polynomial import Columns, Values

PRESENT = 4  # builds that have to have a parameter that is not always there


@dataclass(frozen=True, slots=True)
class ShapeForm:
    """A family of parameters: how many there are, and the shape of each; None where only their
    `size`, the number of all their elements, has a form. `value`: that in the base call."""

    name: str
    number: Polynomial
    shape: tuple[Polynomial, ...] | None
    size: Polynomial
    value: int
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Wrong:
    """A quantity without a form: `what` of which family (or total), the simplest form that goes as
    far as it does, and the first point at which it is wrong, with the `actual` value there."""

    name: str = ""
    what: str = ""
    guess: Polynomial | None = None
    point: Mapping[str, Value] = field(default_factory=dict)
    actual: int | None = None


@dataclass(frozen=True, slots=True)
class ClosedForm:
    """What was derived, and from what. `base`: the arguments' values in the call that was asked
    about; `idle`: arguments that make no difference; `fixed`: those that cannot be varied, and why;
    `rules`: what the model asks of its arguments, and the form beyond that; `case`: the choices
    that it holds for; `unproved`: what was lost on the way, and is only known from building at
    other places, nothing where the form is proved; `distinct`: of each argument, the number of
    values that these places have."""

    total: Polynomial
    shapes: tuple[ShapeForm, ...]
    base: Mapping[str, Value]
    value: int
    rules: tuple[Constraint, ...]
    idle: tuple[str, ...]
    fixed: Mapping[str, str]
    built: int
    verified: int
    case: Mapping[str, Value] = field(default_factory=dict)
    unproved: tuple[str, ...] = ()
    distinct: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_proved(self) -> bool:
        """Every decision on the way is among the rules, and nothing else was lost than how often
        something is repeated, which was fitted with more points than the form has degrees."""
        return not self.unproved

    @property
    def limits(self) -> list[Constraint]:
        """Where the form holds; the model can be built elsewhere too."""
        return [rule for rule in self.rules if rule.is_limit]

    @property
    def requirements(self) -> list[Constraint]:
        """What the model requires of its arguments."""
        return [rule for rule in self.rules if not rule.is_limit]


@dataclass(frozen=True, slots=True)
class NoForm:
    """Why there is none; `wrong`: the quantity that has none, and where its simplest form fails."""

    reason: str
    wrong: Wrong | None = None
    case: Mapping[str, Value] = field(default_factory=dict)


Derived = ClosedForm | NoForm


class ParameterForms:
    """The forms of all families that the builds so far show, up to the first that has none, which
    is `unknown`. `suspect`: one that had none before; it is looked at first, and for no more than a
    `simple` form where that is enough."""

    def __init__(
        self, seen: Seen, names: Sequence[str], suspect: str = "", *, simple: bool = False
    ) -> None:
        self.seen, self.names = seen, names
        self.points = [exactly(point) for point in seen.points]
        self.columns: dict[tuple[int, ...], Columns] = {}  # where quantities were seen
        self.known: dict[tuple[int | None, ...], Polynomial | None] = {}
        self.families = families(seen.builds)
        self.unknown: Family | None = None
        forms: dict[str, ShapeForm] = {}
        for family in sorted(self.families, key=lambda family: family.name != suspect):
            self.rounding = not (simple and family.name == suspect)
            form = self.of_family(family)
            if form is None:
                self.unknown = family
                break
            forms[family.name] = form
        self.shapes = [forms[f.name] for f in self.families if f.name in forms]
        self.total = sum((form.size for form in self.shapes), ZERO)

    def of_family(self, family: Family) -> ShapeForm | None:
        """The form of the shape of a family; None if none was found."""
        at_base = family.sizes[0]
        present = sum(number > 0 for number in family.numbers)
        if present < PRESENT and present < len(self.points):
            return None  # seen too seldom to say what it depends on
        number = self.form(family.numbers)
        if family.is_uniform and number is not None:
            dims = [self.form(lengths) for lengths in self.lengths(family)]
            if all(dim is not None for dim in dims):
                shape = tuple(dim for dim in dims if dim is not None)
                size = number * prod(shape, start=ONE)
                return ShapeForm(family.name, number, shape, size, at_base, family.source)
        size_form = self.form(family.sizes)
        if size_form is None:
            return None
        ones = Polynomial.constant(family.numbers[0]) if number is None else number
        return ShapeForm(family.name, ones, None, size_form, at_base, family.source)

    def form(self, observed: Sequence[int | None]) -> Polynomial | None:
        """The form of a quantity; None at the points at which there is no such thing."""
        key = tuple(observed)
        if key not in self.known:
            self.known[key] = self._fitted(observed)
        return self.known[key]

    def _fitted(self, observed: Sequence[int | None]) -> Polynomial | None:
        samples = self.samples(range(len(observed)), observed)
        if len(set(samples.observed)) == 1:
            return Polynomial.constant(samples.observed[0])
        names = next(self.candidates(samples, observed), None)
        return None if names is None else fit(samples, names, rounding=self.rounding)

    def samples(self, indices: Iterable[int], observed: Sequence[int | None]) -> Samples:
        """What was observed at those of the points at which there was something."""
        there = {i: Fraction(value) for i in indices if (value := observed[i]) is not None}
        points = [self.points[i] for i in there]
        return Samples(points, [*there.values()], self.columns.setdefault((*there,), {}))

    def candidates(
        self, samples: Samples, observed: Sequence[int | None]
    ) -> Iterator[Sequence[str]]:
        """Names that a quantity may depend on: those that change it alone; one more; all."""
        needed = [
            name
            for name in self.names
            if any(observed[i] != observed[0] for i in self.seen.influence[name])
        ]
        more = [name for name in self.names if name not in needed]
        for names in (needed, *([*needed, name] for name in more)):
            if samples.depend_only_on(names):
                yield names
        # What matters only together with others: all but those that can be done without.
        enough = list(self.names)
        for name in more:
            fewer = [other for other in enough if other != name]
            if samples.depend_only_on(fewer):
                enough = fewer
        if samples.depend_only_on(enough):
            yield enough

    def parts(self) -> Iterator[Polynomial]:
        """All polynomials that the form is made of."""
        for form in self.shapes:
            yield form.number
            yield from form.shape or (form.size,)

    def total_at(self, point: Point) -> Fraction | None:
        """What the total is by its form; None where something is divided by zero."""
        try:
            return self.total.value(exactly(point))
        except ZeroDivisionError:
            return None

    def misses(self, seen: Seen, indices: Iterable[int]) -> Iterator[int]:
        """Those of these points, built since, at which a form is wrong."""
        found = families(seen.builds)  # as they are now
        forms = {form.name: form for form in self.shapes}
        for index in indices:
            point = exactly(seen.points[index])
            right = all(_holds(forms.get(family.name), family, index, point) for family in found)
            if not right or self.total.value(point) != seen.builds[index].total:
                yield index

    def wrong(self, family: Family) -> Wrong:
        """Where what seems to be the form of a family goes wrong: the first of its quantities that
        has none, along the argument that is at fault, if one alone is."""
        lengths = enumerate(self.lengths(family))
        own = [("how many there are", family.numbers), *((f"dimension {n}", d) for n, d in lengths)]
        for what, observed in [*(own if family.is_uniform else ()), ("elements", family.sizes)]:
            if self.form(observed) is not None:
                continue
            ways: list[tuple[Sequence[int], Sequence[str]]] = [
                (sorted([0, *self.seen.influence[n]], key=lambda i: self.points[i][n]), [n])
                for n in self.names
            ]
            every = range(len(observed))
            enough = next(self.candidates(self.samples(every, observed), observed), self.names)
            for indices, names in [*ways, (every, enough)]:
                found = self.first_wrong(indices, observed, names)
                if found is not None:
                    return Wrong(family.name, what, *found)
        return Wrong(family.name)

    @staticmethod
    def lengths(family: Family) -> list[list[int | None]]:
        """Of each axis, at each point; nothing where the members have several shapes."""
        shapes = [shape for shape in family.shapes if shape is not None]
        axes = range(len(shapes[0])) if family.is_uniform else ()
        return [[None if s is None else s[axis] for s in family.shapes] for axis in axes]

    def first_wrong(
        self, indices: Sequence[int], observed: Sequence[int | None], names: Sequence[str]
    ) -> tuple[Polynomial, dict[str, Value], int] | None:
        """The polynomial that goes furthest, with the first of these points where it is wrong."""
        there = [i for i in indices if observed[i] is not None]
        samples = self.samples(there, observed)
        if fit(samples, names) is not None:
            return None
        for spare, end in product((1, 0), range(len(there) - 1, 1, -1)):
            guess = polynomial(samples.some(range(end)), names, range(3), spare)
            if guess is None:
                continue
            for index, point, value in zip(there, samples.points, samples.observed, strict=True):
                if guess.value(point) != value:
                    return guess, self.seen.points[index], int(value)
        return None


def _holds(form: ShapeForm | None, family: Family, index: int, point: Values) -> bool:
    """Whether a form has the right value for what was built at a point."""
    if form is None or form.size.value(point) != family.sizes[index]:
        return False
    shape = family.shapes[index]
    if shape is None or form.shape is None:
        return True
    return [dim.value(point) for dim in form.shape] == list(shape)
