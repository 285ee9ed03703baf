"""The form of one path: exact in what was traced, fitted in what counts loops."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import combinations, product
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms import limits
from nparam_lint.analysis.closed_forms.compiled_form import substituted
from nparam_lint.analysis.closed_forms.fitting import Samples, fit
from nparam_lint.analysis.closed_forms.form_records import ShapeForm
from nparam_lint.analysis.closed_forms.polynomial import (
    ONE,
    Composed,
    Generator,
    Opaque,
    Polynomial,
    monomial_of,
)
from nparam_lint.analysis.closed_forms.traced_runs import size_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from nparam_lint.analysis.closed_forms.fitting import Columns
    from nparam_lint.analysis.closed_forms.polynomial import Number
    from nparam_lint.analysis.closed_forms.traced_runs import Run, TracedParameter

    _Members = list[tuple[int, Generator]]
    _Family = list[list[TracedParameter]]  # those of each run

_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Fitted:
    """What depends on numbers that were lost. `symbols`: name → the expression that it stands for,
    a variable itself or what a loop was run for; `columns`: of the points of some runs, as many
    quantities are fitted to the same."""

    symbols: Mapping[str, Polynomial]
    columns: dict[tuple[int, ...], Columns] = field(default_factory=dict)

    @property
    def numbers(self) -> set[str]:
        """The variables that are numbers while a form is fitted in them."""
        return {n for n, form in self.symbols.items() if form == Polynomial.generator(n)}


def form_of(
    quantities: Sequence[Polynomial], runs: Sequence[Run], fitted: Fitted
) -> Polynomial | None:
    """The form of a quantity that has one of these in each run; None where none was found."""
    if not fitted.symbols:
        return quantities[0] if all(q == quantities[0] for q in quantities) else None
    known = fitted.numbers
    others = {n: form for n, form in fitted.symbols.items() if n not in known}
    try:
        rows = [run.at_values(own, known) for own, run in zip(quantities, runs, strict=True)]
        points = [{n: f.value(run.numbers) for n, f in fitted.symbols.items()} for run in runs]
        columns = fitted.columns.setdefault(tuple(map(id, runs)), {})
        total = _fitted(rows, Samples(points, [], columns), list(fitted.symbols))
        return None if total is None else substituted(total, others)
    except ArithmeticError:
        return None


def _fitted(
    rows: Sequence[Polynomial], samples: Samples, names: Sequence[str]
) -> Polynomial | None:
    """The form that is each row at its point."""
    if all(row == rows[0] for row in rows):
        return rows[0]
    if len({tuple(point.values()) for point in samples.points}) < limits.FIT_POINTS:
        return None
    terms = [dict(row.terms) for row in _aligned(rows, samples, names)]
    parts: list[Polynomial] = []
    for monomial in dict.fromkeys(m for row in terms for m in row):
        observed = [row.get(monomial, 0) for row in terms]
        coefficient = _coefficient(replace(samples, observed=observed), names)
        if coefficient is None:
            return None
        parts.append(coefficient * Polynomial(((monomial, 1),)))
    return Polynomial.sum(parts)


def _coefficient(samples: Samples, names: Sequence[str]) -> Polynomial | None:
    if len(set(samples.observed)) == 1:
        return Polynomial.constant(samples.observed[0])
    for number in range(1, len(names) + 1):  # in as few of them as will do
        for chosen in combinations(names, number):
            if samples.depend_only_on(chosen):
                found = fit(samples, chosen)
                if found is not None:
                    return found
    return None


def _aligned(
    rows: Sequence[Polynomial], samples: Samples, names: Sequence[str]
) -> list[Polynomial]:
    """The rows with one operation for those that differ in coefficients alone: `(2*d + c)//2` and
    `(5*d + c)//2` are `(n*d + c)//2`."""
    alike: dict[Hashable, list[tuple[int, Generator]]] = defaultdict(list)
    for place, row in enumerate(rows):
        for own in row.generators:
            alike[outline(own)].append((place, own))
    renamed: list[dict[Generator, Generator]] = [{} for _ in rows]
    for members in _groups([*alike.values()]):
        places, operations = zip(*members, strict=True)
        if len(set(operations)) > 1 and not any(own in renamed[p] for p, own in members):
            joint = _joint(operations, samples.some(places), names)
            if joint is not None:
                for place, own in members:
                    renamed[place][own] = joint
    return [
        Polynomial.of({monomial_of((new.get(g, g), e) for g, e in m): c for m, c in row.terms})
        if new
        else row
        for row, new in zip(rows, renamed, strict=True)
    ]


def _groups(alike: Sequence[_Members]) -> Iterator[_Members]:
    """What may be one operation: of each outline one in a row; first together with others of its
    kind, as a coefficient may be zero in some rows."""
    single = [one for one in alike if len({place for place, _ in one}) == len(one)]
    for number, members in enumerate(single):
        joined = list(members)
        for others in single[number + 1 :]:
            is_alike = _kind(others[0][1]) == _kind(members[0][1])
            if is_alike and {p for p, _ in joined}.isdisjoint(p for p, _ in others):
                joined += others
        if len(joined) > len(members):
            yield joined
    yield from single


def _kind(own: Generator) -> Hashable:
    if isinstance(own, str):
        return own
    return type(own), getattr(own, "text", ""), own.kind, *map(type, own.parts)


def _joint(
    operations: Sequence[Composed], samples: Samples, names: Sequence[str]
) -> Composed | None:
    """One for several of a kind; None where there is none."""
    if len(set(map(_kind, operations))) > 1:
        return None
    parts: list[Polynomial | Composed | None] = []
    for own in zip(*(one.parts for one in operations), strict=True):
        if isinstance(own[0], Opaque):
            parts.append(_joint(own, samples, names))
        else:
            parts.append(_fitted(own, samples, names))
    known = tuple(part for part in parts if part is not None)
    return operations[0].of_parts(known) if len(known) == len(parts) else None


@lru_cache(maxsize=4096)
def outline(own: Generator | Polynomial) -> Hashable:
    """What it is made of, without the coefficients."""
    if isinstance(own, str):
        return own
    if isinstance(own, Polynomial):
        return frozenset(frozenset((outline(g), e) for g, e in m) for m, _ in own.terms if m)
    kind = (own.operation, own.text) if isinstance(own, Opaque) else own.kind
    return kind, tuple(map(outline, own.parts))


def families_of(runs: Sequence[Run]) -> dict[str, _Family]:
    """Name with `*` for indices that run → the parameters of that name in each run."""
    members = [run.parameters for run in runs]
    patterns = _grouped(members, [[_NUMBER.sub("*", p.name) for p in own] for own in members])
    return dict(part for pattern, own in patterns for part in _parted(pattern.count("*"), own))


def _parted(width: int, members: _Family) -> list[tuple[str, _Family]]:
    """By the indices that do not run, as those of a Sequential, of the `width` in their names;
    then, where that makes their shapes the same, the first and the last apart from the others."""
    indices = [[_indices(p) for p in own] for own in members]
    there = [own for own in indices if own]
    running = [
        place
        for place in range(width)
        if len({frozenset(i[place] for i in own) for own in there}) > 1
    ]
    marks = dict.fromkeys(running, "*")
    groups = _grouped(members, [[_starred(p.name, marks) for p in own] for own in members])
    return [part for name, own in groups for part in _split(name, own, running)]


# The first and the last of a stack may differ from the others: the simplest way first.
_ENDS = ((True, False), (False, True), (True, True))


def _split(name: str, members: _Family, running: Sequence[int]) -> list[tuple[str, _Family]]:
    if not running or _is_uniform(members):
        return [(name, members)]
    for place, ends in product(running, _ENDS):
        parts = _grouped(members, [_marked(own, running, place, ends) for own in members])
        if all(_is_uniform(own) for _, own in parts):
            return parts
    return [(name, members)]


def _marked(
    own: Sequence[TracedParameter], running: Sequence[int], place: int, ends: tuple[bool, bool]
) -> list[str]:
    """The names of parameters, with `0` and `-1` for the first and the last of them."""
    numbers = [int(_indices(parameter)[place]) for parameter in own]
    marks = {max(numbers): "-1"} if numbers and ends[1] else {}
    if numbers and ends[0]:
        marks[min(numbers)] = "0"
    stars = dict.fromkeys(running, "*")
    return [
        _starred(parameter.name, {**stars, place: marks.get(number, "*")})
        for parameter, number in zip(own, numbers, strict=True)
    ]


def _is_uniform(members: Sequence[Sequence[TracedParameter]]) -> bool:
    return all(len({p.shape for p in own}) < 2 for own in members)


def _indices(parameter: TracedParameter) -> list[str]:
    return _NUMBER.findall(parameter.name)


def _starred(name: str, marks: Mapping[int, str]) -> str:
    """A name with these in the place of some of its numbers."""
    places = iter(range(len(_NUMBER.findall(name))))
    return _NUMBER.sub(lambda match: marks.get(next(places), match.group()), name)


def _grouped(
    members: Sequence[Sequence[TracedParameter]], names: Sequence[Sequence[str]]
) -> list[tuple[str, _Family]]:
    groups: dict[str, _Family] = defaultdict(lambda: [[] for _ in members])
    for number, own in enumerate(members):
        for name, parameter in zip(names[number], own, strict=True):
            groups[name][number].append(parameter)
    return list(groups.items())


def shape_forms(
    runs: Sequence[Run], fitted: Fitted, value_at: Mapping[str, Number]
) -> list[ShapeForm] | None:
    """The forms of all families; None where one of them has none."""
    found = []
    for name, members in families_of(runs).items():
        size = form_of([size_of(own) for own in members], runs, fitted)
        if size is None:
            return None
        counts = [Polynomial.constant(len(own)) for own in members]
        number = form_of(counts, runs, fitted)
        shape = _shape(members, runs, fitted) if number is not None else None
        found.append(
            ShapeForm(
                name,
                number or ONE,
                shape,
                size,
                int(size.value(value_at)),
                first=next(p.name for own in members for p in own),
            )
        )
    return found


def _shape(
    members: Sequence[Sequence[TracedParameter]], runs: Sequence[Run], fitted: Fitted
) -> tuple[Polynomial, ...] | None:
    """Where all members have the same."""
    there = [({p.shape for p in own}, run) for own, run in zip(members, runs, strict=True) if own]
    shapes = [shape for own, _ in there if len(own) == 1 for shape in own if shape is not None]
    if len(shapes) < len(there) or len({*map(len, shapes)}) != 1:
        return None
    kept = [run for _, run in there]
    dims = [form_of(lengths, kept, fitted) for lengths in zip(*shapes, strict=True)]
    return None if None in dims else tuple(dim for dim in dims if dim is not None)
