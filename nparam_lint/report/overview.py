"""What is in a repository, and how big: each model that stands for itself, with the ways in which
the repository builds it; the layers inside it folded away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from nparam_lint.count.measured import Measured
from nparam_lint.gate.report import Inside, ModelReport, Report
from nparam_lint.report import Column, Listing, ListingLine, Options, Row, Table, Text
from nparam_lint.report.budget_outcomes import is_empty, total_of, worst
from nparam_lint.report.style import clean, first, grouped, plural, rounded, share

_MODELS = 30  # without -v, the largest
_NAMES = 3
_PLACES = 2
_FEW = 3  # of one kind, that are listed one by one
_NOUNS = {  # of the kinds of ways, in the order in which they are shown
    "": "definition",
    "factory": "function",
    "size": "size",
    "config": "config file",
    "inside": "place inside others",
    "call": "call",
}


@dataclass(slots=True)
class Group:
    """A model that stands for itself: what it is called, and each way in which it was counted.
    `parts`: targets of the models inside it, and how it builds them, where that is known.
    `part_of`: the models that contain it, none of which could be counted."""

    target: str
    ways: list[ModelReport] = field(default_factory=list)
    parts: dict[str, Inside | None] = field(default_factory=dict)
    part_of: tuple[str, ...] = ()

    @property
    def largest(self) -> int:
        return max(total_of(model) or 0 for model in self.ways)


def groups_of(report: Report, models: Iterable[ModelReport]) -> list[Group]:
    """The models that stand for themselves, in the order of the report."""
    own = list(models)
    of_type = TypeIndex(report)
    groups: dict[str, Group] = {}
    for model in (one for one in own if one.top_level):
        target = _stands_for(model, report, of_type)
        groups.setdefault(target, Group(target)).ways.append(model)
    for model in (one for one in own if not one.top_level):
        bare = bare_target(model)
        target = bare if bare in groups else _stands_for(model, report, of_type)
        if target in groups:
            groups[target].ways.append(model)
        elif holder := next((g for g in groups.values() if _holds(g, model, bare, report)), None):
            holder.parts[bare] = None
        else:
            groups[bare] = Group(bare, [model])
    counted = groups.keys() | {bare_target(m) for m in report.models if total_of(m) is not None}
    for group in groups.values():
        group.parts |= dict.fromkeys(sorted(of_type.inside(group.ways)))
        group.parts |= {one.row.target: one for one in report.inside if one.model is group.ways[0]}
        group.parts.pop(group.target, None)
        users = report.containment.users
        whole = [one for one in users.get(group.target, ()) if one not in users]
        group.part_of = () if counted.intersection(whole) else tuple(whole)
    return list(groups.values())


def bare_target(model: ModelReport) -> str:
    return model.target.partition("(")[0]


class TypeIndex:
    """Finds the target of a class that the worker names in full: `nets.gpt.Block`."""

    def __init__(self, report: Report) -> None:
        targets = {bare_target(model) for model in report.models if "::" in model.target}
        targets |= {target for target, _ in report.skipped}
        targets |= {*report.containment.users, *report.containment.returns.values()}
        self._known: dict[str, list[tuple[str, str]]] = {}
        for target in targets:
            path, _, name = target.partition("::")
            full = f".{path.removesuffix('.py').replace('/', '.')}.{name}"
            full = full.replace(".__init__.", ".")
            self._known.setdefault(name.rpartition(".")[2], []).append((full, target))

    def target(self, full: str) -> str | None:
        """A file may be imported by a part of its path alone."""
        candidates = self._known.get(full.rpartition(".")[2], ())
        return next((target for known, target in candidates if known.endswith(f".{full}")), None)

    def inside(self, models: Iterable[ModelReport]) -> set[str]:
        """The targets of the modules inside models that were built."""
        built = (m.measurement for m in models if isinstance(m.measurement, Measured))
        return self._targets({kind for measured in built for kind in measured.types})

    def made(self, models: Iterable[ModelReport]) -> set[str]:
        """The targets of the models that were built, whatever made them."""
        return self._targets({getattr(model.measurement, "type", "") for model in models})

    def _targets(self, types: Iterable[str]) -> set[str]:
        return {target for full in types if (target := self.target(full))}


def _stands_for(model: ModelReport, report: Report, of_type: TypeIndex) -> str:
    """The class that a factory made or a config file describes, where the project has it."""
    bare, kind = bare_target(model), getattr(model.measurement, "type", "")
    if bare.rpartition("::")[2] == kind.rpartition(".")[2]:
        return bare
    return of_type.target(kind) or report.containment.returns.get(bare) or bare


def _holds(group: Group, model: ModelReport, bare: str, report: Report) -> bool:
    users = report.containment.users.get(bare, ())
    kind = getattr(model.measurement, "type", "")
    inner = (getattr(way.measurement, "types", ()) for way in group.ways)
    return group.target in users or any(kind in types for types in inner)


# --- lines ----------------------------------------------------------------------------------------


def overview(
    report: Report, models: Iterable[ModelReport], options: Options
) -> tuple[Listing | Text, ...]:
    """Below the path of each file its models, each way with its count and its place."""
    if not options.verbose:
        models = _without_inner([model for model in models if not is_empty(model)], report)
    groups = groups_of(report, models)
    shown = [*groups]
    if not options.verbose:
        shown = sorted(shown, key=lambda group: -group.largest)[:_MODELS]
    shown.sort(key=lambda group: group.target.partition("::")[0])
    files: dict[str, list[ListingLine]] = {}
    for group in shown:
        where = clean(group.target.partition("::")[0])
        files.setdefault(where, []).extend(_lines(group, options.verbose))
    columns = Column("model", "code"), Column("parameters", "number"), Column("as built", "words")
    rows = (
        Row((clean(way.target), f"{total_of(way):,}", place_of_way(way, group.target)))
        for group in groups
        for way in group.ways
    )
    table = Table(columns, tuple(rows), noun="model")
    listing = Listing(tuple((at, tuple(lines)) for at, lines in files.items()), table)
    left = [group.largest for group in groups if group not in shown]
    if not left:
        return (listing,) if groups else ()
    told = f"… and {plural(len(left), 'smaller model')}, {_range(left)} (-v lists them)"
    return listing, Text(told, "dim")


def _lines(group: Group, verbose: int) -> Iterator[ListingLine]:
    """The first names the model."""
    name = clean(group.target.partition("::")[2] or group.target)
    rows, layers = _rows(group, verbose), _layers(group, verbose)
    for number, (count, words) in enumerate(rows):
        mark = worst(f for way in group.ways for f in way.findings) or "–"
        tone = {"✗": "red", "!": "yellow"}.get(mark, "dim")
        below = layers if number == len(rows) - 1 else ""
        if number:
            name, mark = "", " "
        yield ListingLine(mark, name, after=count, verdict=words, below=below, tone=tone)
    told = [one for one in group.parts.values() if one is not None] if verbose else []
    for one in sorted(told, key=lambda one: -one.times * one.row.total):
        called = clean(one.row.target.partition("::")[2])
        part = share(one.times * one.row.total, total_of(one.model) or 0)
        words = ", ".join(filter(None, (f"{one.times:,}× in it", part)))
        yield ListingLine(" ", f"  {called}", after=f"{one.row.total:,}", verdict=words, tone="dim")


def _layers(group: Group, verbose: int) -> str:
    """`+ 3 layers, as built in it: Block, Mlp, Norm`; the names of a few, and of all of which no
    more is known."""
    names = sorted(clean(part.partition("::")[2]) for part in group.parts)
    if not names:
        return ""
    is_told = verbose and any(group.parts.values())
    listed = f": {', '.join(names)}" if not is_told and (verbose or len(names) <= _NAMES) else ""
    return f"+ {plural(len(names), 'layer')}, as built in it{listed}"


def _rows(group: Group, verbose: int) -> list[tuple[str, str]]:
    """A count or a range of counts, and the ways that lead to it: those of one count together."""
    rows: dict[int | str, list[ModelReport]] = {}
    kinds = grouped(group.ways, lambda way: _kind(way, group.target))
    for kind in sorted(kinds, key=list(_NOUNS).index):
        ways = kinds[kind]
        totals = {total_of(way) or 0 for way in ways}
        if not verbose and len(totals) > (_FEW if kind in ("", "call") else 1):
            rows[_fold(kind, ways)] = ways
        else:
            for way in ways:
                rows.setdefault(total_of(way) or 0, []).append(way)
    lines = []
    for row, ways in rows.items():
        if isinstance(row, str):
            count, words = _range({total_of(way) or 0 for way in ways}), row
        else:
            places = list(dict.fromkeys(place_of_way(way, group.target) for way in ways))
            count, words = f"{row:,}", ", ".join(places if verbose else first(places, _PLACES))
        codes = sorted({finding.code for way in ways for finding in way.findings})
        lines.append((count, "  ".join([words, *codes])))
        # What may be otherwise when the repository runs.
        notes = dict.fromkeys(way.way.note for way in ways if way.way and way.way.note)
        lines += [("", f"({clean(note)})") for note in notes]
    if group.part_of:
        names = first([clean(one.partition("::")[2]) for one in group.part_of], _PLACES)
        lines.append(("", f"(a part of {', '.join(names)}, not counted)"))
    return lines


def _without_inner(models: Iterable[ModelReport], report: Report) -> list[ModelReport]:
    """Those without the calls that stand in functions which were counted, with the same count; and
    without the sizes that are these functions."""
    own = (model for model in report.models if model.way is None and _is_function(model))
    functions = grouped(own, lambda model: model.position.path)

    def is_inner(one: ModelReport) -> bool:
        if one.way is None or one.way.kind not in ("size", "call"):
            return False
        at = one.way.position
        here = functions.get(at.path, ())
        if one.way.kind == "size":
            return any(model.position == at for model in here)
        above = [model for model in here if model.position.line < at.line]
        nearest = max(above, key=lambda model: model.position.line, default=None)
        return nearest is not None and total_of(nearest) == total_of(one)

    return [model for model in models if not is_inner(model)]


def _is_function(model: ModelReport) -> bool:
    """Whether it is a function that makes a model of another name."""
    kind = getattr(model.measurement, "type", "")
    return bare_target(model).rpartition("::")[2].rpartition(".")[2] != kind.rpartition(".")[2]


def _kind(model: ModelReport, target: str) -> str:
    """That of its way; `factory`: a function that returns the model; "" is the model itself."""
    if model.way is not None:
        return model.way.kind
    return "" if bare_target(model) == target else "factory"


def place_of_way(model: ModelReport, target: str) -> str:
    """How and where the repository builds it: `tiny (whisper/__init__.py:18)`."""
    way, call = model.way, clean(getattr(model.measurement, "call", ""))
    if way is None:
        return "with its defaults" if call.endswith("()") and bare_target(model) == target else call
    return clean(way.place)


def _fold(kind: str, ways: Sequence[ModelReport]) -> str:
    """`8 sizes (nets/vit.py:12 … 19)`; `5 functions (vit_tiny … vit_huge)`."""
    if kind in ("", "factory"):
        places = [bare_target(way).partition("::")[2] for way in ways]
    else:
        places = [str(way.way.position) for way in ways if way.way]
    start, end = clean(places[0]), clean(places[-1])
    path = start.rpartition(":")[0]
    if path and end.startswith(f"{path}:"):
        end = end.removeprefix(f"{path}:")
    ends = dict.fromkeys((start, end if end != start.rpartition(":")[2] else start))
    return f"{plural(len(ways), _NOUNS[kind])} ({' … '.join(ends)})"


def _range(totals: Iterable[int]) -> str:
    ordered = sorted(totals)
    ends = dict.fromkeys((rounded(ordered[0]), rounded(ordered[-1])))
    return " … ".join(ends)
