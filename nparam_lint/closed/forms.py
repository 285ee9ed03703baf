"""The forms of all parameters that some builds have."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from nparam_lint.closed.families import Family, families
from nparam_lint.closed.fit import depends_only_on, fit
from nparam_lint.closed.observe import Built, Value, exactly
from nparam_lint.closed.polynomial import Polynomial, product_of, sum_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nparam_lint.closed.constraints import Rule


@dataclass(slots=True)
class Seen:
    """Points that were built, the base first, and what was built. `influence`: for each variable,
    the indices of the points that differ from the base in it alone."""

    points: list[dict[str, Value]]
    builds: list[Built]
    influence: dict[str, list[int]] = field(default_factory=dict)

    def within(self, limits: Sequence[Rule]) -> Seen:
        """What was seen where these hold."""
        if not limits:
            return self
        kept = [
            place
            for place, point in enumerate(self.points)
            if all(limit.holds(exactly(point)) for limit in limits)
        ]
        moved = {place: now for now, place in enumerate(kept)}
        return Seen(
            [self.points[place] for place in kept],
            [self.builds[place] for place in kept],
            {n: [moved[i] for i in places if i in moved] for n, places in self.influence.items()},
        )


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


class Forms:
    """The forms of all families that the builds so far show; `unknown`: those without one, or the
    first of them where that is enough."""

    def __init__(self, seen: Seen, names: Sequence[str], *, all_or_none: bool = False) -> None:
        self.seen, self.names = seen, names
        self.points = [exactly(point) for point in seen.points]
        self.known: dict[tuple[int | None, ...], Polynomial | None] = {}
        self.families = families(seen.builds)
        self.shapes: list[ShapeForm] = []
        self.unknown: list[Family] = []
        for family in self.families:
            form = self.of_family(family)
            if form is None:
                self.unknown.append(family)
                if all_or_none:
                    break
            else:
                self.shapes.append(form)
        self.total = sum_of(form.size for form in self.shapes)

    def of_family(self, family: Family) -> ShapeForm | None:
        at_base = family.sizes[0]
        number = self.form(family.numbers)
        if family.is_uniform and number is not None:
            rank = len(next(shape for shape in family.shapes if shape is not None))
            dims = [
                self.form([None if shape is None else shape[axis] for shape in family.shapes])
                for axis in range(rank)
            ]
            if all(dim is not None for dim in dims):
                shape = tuple(dim for dim in dims if dim is not None)
                size = number * product_of(shape)
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
            self.known[key] = self.found(observed)
        return self.known[key]

    def found(self, observed: Sequence[int | None]) -> Polynomial | None:
        there = [i for i, o in enumerate(observed) if o is not None]
        points = [self.points[i] for i in there]
        values = [Fraction(o) for o in observed if o is not None]
        if len(set(values)) == 1:
            return Polynomial.constant(values[0])
        names = next(self.candidates(observed), None)
        return None if names is None else fit(points, values, names)

    def candidates(self, observed: Sequence[int | None]) -> Iterator[list[str]]:
        """Names that a quantity may depend on: those that change it alone; one more; all."""
        base = observed[0]
        needed = [
            name
            for name in self.names
            if any(observed[i] != base for i in self.seen.influence[name] if i < len(observed))
        ]
        points = [p for p, o in zip(self.points, observed, strict=True) if o is not None]
        seen = [Fraction(o) for o in observed if o is not None]
        more = [name for name in self.names if name not in needed]
        sets = [needed, *([*needed, name] for name in more), list(self.names)]
        yield from (names for names in sets if depends_only_on(names, points, seen))

    def parts(self) -> Iterator[Polynomial]:
        for form in self.shapes:
            yield form.number
            yield from form.shape or (form.size,)

    def hold(self, seen: Seen, indices: Iterable[int]) -> bool:
        """Whether every form has the right value at points that were built since."""
        builds = seen.builds
        found = families(builds)  # as they are now
        forms = {form.name: form for form in self.shapes}
        for index in indices:
            point = exactly(seen.points[index])
            for family in found:
                form = forms.get(family.name)
                if form is None or form.size.value(point) != family.sizes[index]:
                    return False
                shape = family.shapes[index]
                if shape is not None and form.shape is not None:
                    pairs = zip(form.shape, shape, strict=True)
                    if any(dim.value(point) != length for dim, length in pairs):
                        return False
            if self.total.value(point) != builds[index].total:
                return False
        return True

    def guess(self, family: Family) -> tuple[Polynomial | None, int | None]:
        """The simplest form that goes as far as it does, and the first point where it is wrong."""
        best: Polynomial | None = None
        for end in range(2, len(self.points)):
            names = next(self.candidates(family.sizes), list(self.names))
            values = [Fraction(n) for n in family.sizes[:end]]
            form = fit(self.points[:end], values, names, spare=1)
            if form is None and best is not None:
                wrong = (i for i, n in enumerate(family.sizes) if best.value(self.points[i]) != n)
                return best, next(wrong, None)
            best = form or best
        return best, None
