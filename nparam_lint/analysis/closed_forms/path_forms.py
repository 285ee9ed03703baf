"""The form of one path: exact in what was traced, fitted in what counts loops."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import lru_cache, partial
from itertools import chain, combinations, count, product
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.analysis.closed_forms import limits
from nparam_lint.analysis.closed_forms.algebra import combined, substituted, transformed
from nparam_lint.analysis.closed_forms.fitting import Samples, fit
from nparam_lint.analysis.closed_forms.form_records import ShapeForm
from nparam_lint.analysis.closed_forms.polynomial import (
    ONE,
    Generator,
    Operation,
    Polynomial,
)
from nparam_lint.analysis.closed_forms.traced_runs import size_of
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

    from nparam_lint.analysis.closed_forms.polynomial import Number
    from nparam_lint.analysis.closed_forms.traced_runs import Run, TracedParameter

    # What forms are fitted in: name → the expression that it stands for, a variable itself or what
    # a loop was run for.
    Symbols = Mapping[str, Polynomial]
    _Members = list[tuple[int, Generator]]
    _Family = list[list[TracedParameter]]  # those of each run

_NUMBER = late_pattern(r"\d+")


def total_form(runs: Sequence[Run], symbols: Symbols) -> Polynomial | None:
    """The form of the count: the sum of those of its parts, which are simpler to find; None where
    one of them has none."""
    if not symbols:
        return form_of([run.form for run in runs], runs, symbols)
    sizes = Counter(tuple(map(size_of, family)) for family in families_of(runs).values())
    forms = [form_of(size, runs, symbols) for size in sizes]
    total = [f * number for f, number in zip(forms, sizes.values(), strict=True) if f is not None]
    return Polynomial.sum(total) if len(total) == len(forms) else None


def variables_of(symbols: Symbols) -> set[str]:
    """Those that are numbers while a form is fitted in them."""
    return {name for name, form in symbols.items() if form == Polynomial.generator(name)}


def form_of(
    quantities: Sequence[Polynomial], runs: Sequence[Run], symbols: Symbols
) -> Polynomial | None:
    """The form of a quantity that has one of these in each run; None where none was found."""
    if not symbols:
        return quantities[0] if all(q == quantities[0] for q in quantities) else None
    variables = variables_of(symbols)
    loops = {name: form for name, form in symbols.items() if name not in variables}
    try:
        rows = [run.at_values(q, variables) for q, run in zip(quantities, runs, strict=True)]
        points = [{n: form.value(run.numbers) for n, form in symbols.items()} for run in runs]
        total = _fitted(rows, Samples(points, []), list(symbols))
        return None if total is None else substituted(total, loops)
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
    # In as few of the names as will do.
    subsets = chain.from_iterable(combinations(names, n) for n in range(1, len(names) + 1))
    forms = (fit(samples, subset) for subset in subsets if samples.depend_only_on(subset))
    return next((form for form in forms if form is not None), None)


def _aligned(
    rows: Sequence[Polynomial], samples: Samples, names: Sequence[str]
) -> list[Polynomial]:
    """The rows with one operation for those that differ in coefficients alone: `(2*d + c)//2` and
    `(5*d + c)//2` are `(n*d + c)//2`."""
    alike: dict[Hashable, _Members] = defaultdict(list)
    for place, row in enumerate(rows):
        for generator in row.generators:
            alike[outline(generator)].append((place, generator))
    renamed: list[dict[Generator, Polynomial]] = [{} for _ in rows]
    for members in _groups([*alike.values()]):
        places, operations = zip(*members, strict=True)
        if len(set(operations)) > 1 and not any(g in renamed[place] for place, g in members):
            joint = _joint(operations, samples.some(places), names)
            if joint is not None:
                for place, operation in members:
                    renamed[place][operation] = joint
    return [transformed(row, new.get) for row, new in zip(rows, renamed, strict=True)]


def _groups(alike: Sequence[_Members]) -> Iterator[_Members]:
    """What may be one operation: of each outline one in a row; first together with others of its
    kind, as a coefficient may be zero in some rows."""
    single = [members for members in alike if len(dict(members)) == len(members)]
    for number, members in enumerate(single):
        joined = list(members)
        for more in single[number + 1 :]:
            is_alike = _kind(more[0][1]) == _kind(members[0][1])
            if is_alike and dict(joined).keys().isdisjoint(dict(more)):
                joined += more
        if len(joined) > len(members):
            yield joined
    yield from single


def _kind(generator: Generator) -> Hashable:
    return generator if isinstance(generator, str) else (generator.kind, len(generator.parts))


def _joint(
    operations: Sequence[Operation], samples: Samples, names: Sequence[str]
) -> Polynomial | None:
    """One for several of a kind; None where there is none."""
    if len(set(map(_kind, operations))) > 1:
        return None
    columns = zip(*(operation.parts for operation in operations), strict=True)
    parts = [part for column in columns if (part := _fitted(column, samples, names)) is not None]
    is_whole = len(parts) == len(operations[0].parts)
    return combined(operations[0].kind, *parts) if is_whole else None


@lru_cache(maxsize=4096)
def outline(part: Generator | Polynomial) -> Hashable:
    """What it is made of, without the coefficients."""
    if isinstance(part, str):
        return part
    if isinstance(part, Polynomial):
        return frozenset(frozenset((outline(g), e) for g, e in m) for m, _ in part.terms if m)
    return part.kind, tuple(map(outline, part.parts))


def families_of(runs: Sequence[Run]) -> dict[str, _Family]:
    """Name with `*` for indices that run → the parameters of that name in each run."""
    patterns = _grouped(
        [run.parameters for run in runs],
        lambda parameters: [_NUMBER.sub("*", p.name) for p in parameters],
    )
    return dict(part for _, family in patterns for part in _parted(family))


# The first and the last of a stack may differ from the others: the simplest way first.
_ENDS = (("0",), ("-1",), ("-1", "0"))


def _parted(family: _Family) -> list[tuple[str, _Family]]:
    """By the indices that do not run, as those of a Sequential; then, where that makes their shapes
    the same, the first and the last apart from the others."""
    indices = [[_NUMBER.findall(p.name) for p in parameters] for parameters in family if parameters]
    sets = [[frozenset(column) for column in zip(*rows, strict=True)] for rows in indices]
    places = [n for n, column in enumerate(zip(*sets, strict=True)) if len({*column}) > 1]
    stars = dict.fromkeys(places, "*")
    parts: list[tuple[str, _Family]] = []
    for name, members in _grouped(family, lambda row: [_named(p, stars) for p in row]):
        ways = () if _is_uniform(members) else product(places, _ENDS)
        splits = (_grouped(members, partial(_named_by_ends, stars, *way)) for way in ways)
        uniform = (split for split in splits if all(_is_uniform(part) for _, part in split))
        parts += next(uniform, [(name, members)])
    return parts


def _named_by_ends(
    stars: Mapping[int, str],
    place: int,
    ends: Sequence[str],
    parameters: Sequence[TracedParameter],
) -> list[str]:
    """The names of parameters, with `0` and `-1` for the first and the last of them."""
    if not parameters:
        return []
    numbers = [int(_NUMBER.findall(parameter.name)[place]) for parameter in parameters]
    edges = {"0": min(numbers), "-1": max(numbers)}
    marks = {edges[end]: end for end in ends}
    return [
        _named(parameter, {**stars, place: marks.get(number, "*")})
        for parameter, number in zip(parameters, numbers, strict=True)
    ]


def _is_uniform(family: _Family) -> bool:
    return all(len({p.shape for p in parameters}) < 2 for parameters in family)


def _named(parameter: TracedParameter, marks: Mapping[int, str]) -> str:
    """Its name, with these in the place of some of its numbers."""
    places = count()
    return _NUMBER.sub(lambda match: marks.get(next(places), match.group()), parameter.name)


def _grouped(
    family: _Family, names_of: Callable[[Sequence[TracedParameter]], Iterable[str]]
) -> list[tuple[str, _Family]]:
    groups: dict[str, _Family] = defaultdict(lambda: [[] for _ in family])
    for number, parameters in enumerate(family):
        for name, parameter in zip(names_of(parameters), parameters, strict=True):
            groups[name][number].append(parameter)
    return list(groups.items())


def shape_forms(
    runs: Sequence[Run], symbols: Symbols, value_at: Mapping[str, Number]
) -> list[ShapeForm] | None:
    """The forms of all families; None where one of them has none."""
    forms = []
    for name, family in families_of(runs).items():
        size = form_of([*map(size_of, family)], runs, symbols)
        if size is None:
            return None
        number = form_of([Polynomial.constant(len(p)) for p in family], runs, symbols)
        shape = _shape(family, runs, symbols) if number is not None else None
        first = next(p.name for parameters in family for p in parameters)
        value = int(size.value(value_at))
        forms.append(ShapeForm(name, number or ONE, shape, size, value, first=first))
    return forms


def _shape(family: _Family, runs: Sequence[Run], symbols: Symbols) -> tuple[Polynomial, ...] | None:
    """Where all members have the same."""
    runs = [run for parameters, run in zip(family, runs, strict=True) if parameters]
    distinct = [{p.shape for p in parameters} for parameters in family if parameters]
    shapes = [s for shapes in distinct if len(shapes) == 1 for s in shapes if s is not None]
    if len(shapes) < len(runs) or len({*map(len, shapes)}) != 1:
        return None
    lengths = [form_of(forms, runs, symbols) for forms in zip(*shapes, strict=True)]
    return None if None in lengths else tuple(length for length in lengths if length is not None)
