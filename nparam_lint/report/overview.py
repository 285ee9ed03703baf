"""What is in a repository, and how big: each model that stands for itself, with the ways in which
the repository builds it; the layers inside it folded away."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os.path import commonpath

from msgspec import Struct, field
from msgspec.structs import replace

from nparam_lint.count.measured import Measured
from nparam_lint.gate.report import FailedWay, Inside, ModelReport, Report
from nparam_lint.ground.grouping import grouped
from nparam_lint.report import Column, Listing, ListingLine, Options, Row, Table, Text
from nparam_lint.report.budget_outcomes import is_empty, total_of, worst
from nparam_lint.report.style import MARK_TONES, first, plural, rounded, share

_MODELS = 10  # without -v
_LINES, _LINES_BESIDE = 20, 12  # without -v: of models, and of these beside some not counted
_IN_FULL = 3  # of so few, all that is known is told
_NAMES = 3
_OTHERWISE = " by default, not as "  # of a value that is not the repository's
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


class Group(Struct):
    """A model that stands for itself: what it is called, and each way in which it was counted.
    `parts`: targets of the models inside it, and how it builds them, where that is known.
    `part_of`: the models that contain it, none of which could be counted. `copies`: how many more
    of its name and counts there are in other files, which are not listed. `failed`: the first way
    in which the project builds it, where each of them failed."""

    target: str
    ways: list[ModelReport] = field(default_factory=list)
    parts: dict[str, Inside | None] = field(default_factory=dict)
    part_of: tuple[str, ...] = ()
    copies: int = 0
    failed: FailedWay | None = None

    @property
    def name(self) -> str:
        return self.target.partition("::")[2] or self.target

    @property
    def mark(self) -> str:
        """The worst of its ways."""
        return worst(finding for way in self.ways for finding in way.findings) or "–"

    @property
    def totals(self) -> set[int]:
        return {total_of(way) or 0 for way in self.ways}

    @property
    def largest(self) -> int:
        return max(self.totals)


def groups_of(report: Report, models: Sequence[ModelReport]) -> list[Group]:
    """The models that stand for themselves, in the order of the report."""
    of_type, users = TypeIndex(report), report.containment.users
    groups: dict[str, Group] = {}
    for model in (model for model in models if model.top_level):
        target = _stands_for(model, report, of_type)
        groups.setdefault(target, Group(target)).ways.append(model)
    for group in groups.values():
        group.parts = dict.fromkeys(sorted(of_type.inside(group.ways)))
    for model in (model for model in models if not model.top_level):
        bare, kind = model.bare, getattr(model.measurement, "type", "")
        target = bare if bare in groups else _stands_for(model, report, of_type)
        around = users.get(bare, ())
        product = of_type.target(kind, model)
        holders = (g for g in groups.values() if g.target in around or product in g.parts)
        if target in groups:
            groups[target].ways.append(model)
        elif holder := next(holders, None):
            holder.parts[bare] = None
        else:
            parts = dict.fromkeys(sorted(of_type.inside([model])))
            groups[bare] = Group(bare, [model], parts)
    targets = groups.keys() | {m.bare for m in report.models if total_of(m) is not None}
    instances = grouped(report.inside, lambda inside: id(inside.model))
    failed = grouped(report.failed_ways, lambda failed: failed.target)
    for group in groups.values():
        if all(way.way is None for way in group.ways):
            group.failed = next(iter(failed.get(group.target, ())), None)
        group.parts |= {
            inside.row.target: inside for inside in instances.get(id(group.ways[0]), ())
        }
        group.parts.pop(group.target, None)
        outermost = tuple(user for user in users.get(group.target, ()) if user not in users)
        group.part_of = () if targets.intersection(outermost) else outermost
    return list(groups.values())


class TypeIndex:
    """Finds the target of a class that the worker names in full: `nets.gpt.Block`."""

    def __init__(self, report: Report) -> None:
        targets = {model.bare for model in report.models if "::" in model.target}
        targets |= {target for target, _ in report.skipped}
        targets |= {*report.containment.users, *report.containment.returns.values()}
        self._by_name: dict[str, list[tuple[str, str]]] = {}
        for target in sorted(targets):
            path, _, name = target.partition("::")
            full = f".{path.removesuffix('.py').replace('/', '.')}.{name}"
            full = full.replace(".__init__.", ".")
            self._by_name.setdefault(name.rpartition(".")[2], []).append((full, target))

    def target(self, full: str, model: ModelReport) -> str | None:
        """That of a class which a model is of, or contains. A file may be imported by a part of its
        path alone: of several that end alike, the one that lies nearest to the model is meant."""
        candidates = self._by_name.get(full.rpartition(".")[2], ())
        alike = (target for name, target in candidates if name.endswith(f".{full}"))
        shared = {target: len(commonpath([target, model.target])) for target in alike}
        return max(shared, key=shared.__getitem__, default=None)

    def inside(self, models: Iterable[ModelReport]) -> set[str]:
        """The targets of the modules inside models that were built."""
        built = [(m, m.measurement) for m in models if isinstance(m.measurement, Measured)]
        kinds = ((model, kind) for model, measured in built for kind in measured.types)
        return {target for model, kind in kinds if (target := self.target(kind, model))}


def _stands_for(model: ModelReport, report: Report, of_type: TypeIndex) -> str:
    """The class that a factory made or a config file describes, where the project has it."""
    if not model.is_function:
        return model.bare
    kind = getattr(model.measurement, "type", "")
    if kind.startswith("builtins."):  # several, in a tuple
        return model.bare
    return of_type.target(kind, model) or report.containment.returns.get(model.bare) or model.bare


# --- lines ----------------------------------------------------------------------------------------


def overview(
    report: Report, models: Sequence[ModelReport], options: Options
) -> tuple[Listing | Text, ...]:
    """Below the path of each file its models, each way with its count and its place."""
    if not options.verbose:
        models = _without_inner([model for model in models if not is_empty(model)], report)
    groups = groups_of(report, models)
    ordered = sorted(groups, key=lambda group: group.target.partition("::")[0])
    if not options.verbose:  # those that a reader looks for

        def rank(group: Group) -> tuple[bool, bool, int]:
            is_named = any(way.bare in report.named for way in group.ways)
            return not is_named, "/" in group.target, -group.largest

        ordered = []
        for same in grouped(
            sorted(groups, key=rank), lambda group: (group.name, group.mark, *sorted(group.totals))
        ).values():
            ordered.append(same[0])
            same[0].copies = len(same) - 1
    most = len(ordered) if options.verbose else _fitting(ordered, report)
    hidden, is_brief = ordered[most:], not options.verbose and len(ordered) > _IN_FULL
    lines = (
        (group.target.partition("::")[0], line)
        for group in ordered[:most]
        for line in ([_line(group)] if is_brief else _lines(group, options.verbose))
    )
    columns = Column("model", "code"), Column("parameters", "number"), Column("as built", "words")
    rows = (
        Row((way.target, f"{total_of(way):,}", place_of_way(way, group.target)))
        for group in groups
        for way in group.ways
    )
    table = Table(columns, tuple(rows), noun="model")
    listing = Listing.of(lines, table)
    if not hidden:
        return (listing,) if groups else ()
    sizes = _range(group.largest for group in hidden)
    more = f"… and {plural(len(hidden), 'more model')}, {sizes} (-v lists them)"
    return listing, Text(more, "dim")


def _fitting(groups: Sequence[Group], report: Report) -> int:
    """How many models the first screen has lines for, below the paths of their files."""
    most, paths = _LINES_BESIDE if report.skipped else _LINES, set[str]()
    for number, group in enumerate(groups[:_MODELS]):
        paths.add(group.target.partition("::")[0])
        if number + 1 + len(paths) > most:
            return number
    return _MODELS


def _besides(group: Group) -> list[str]:
    """What is said of a model besides how it was built."""
    failed = f"{group.failed.way.position} failed" if group.failed else ""
    copies = f"also in {plural(group.copies, 'other file')}" if group.copies else ""
    return [*filter(None, (failed, copies))]


def _line(group: Group) -> ListingLine:
    """All that it is counted as, and the first place where it is built."""
    ways = sorted(group.ways, key=lambda way: list(_NOUNS).index(_kind(way, group.target)))
    places = list(dict.fromkeys(place_of_way(way, group.target) for way in ways))
    return ListingLine(
        group.mark,
        group.name,
        after=f"{group.largest:,}" if len(group.totals) == 1 else _range(group.totals),
        verdict=", ".join([*first(places, 1), *_besides(group)]),
        tone=MARK_TONES[group.mark],
    )


def _lines(group: Group, verbose: int) -> list[ListingLine]:
    """The first names the model. Below its ways `+ 3 layers, as built in it: Block, Mlp, Norm`, by
    name where these are few, or lines with all that is known of them."""
    lines = [
        ListingLine(" ", "", after=count, verdict=words, tone=MARK_TONES[group.mark])
        for count, words in _rows(group, verbose)
    ]
    lines[0] = replace(lines[0], mark=group.mark, name=group.name)
    instances = [inside for inside in group.parts.values() if inside] if verbose else []
    if layers := sorted(part.partition("::")[2] for part in group.parts):
        is_named = not instances and (verbose or len(layers) <= _NAMES)
        names = f": {', '.join(layers)}" if is_named else ""
        below = f"+ {plural(len(layers), 'layer')}, as built in it{names}"
        lines[-1] = replace(lines[-1], below=below)
    for inside in sorted(instances, key=lambda inside: -inside.times * inside.row.total):
        name, each = inside.row.target.partition("::")[2], inside.row.total
        part = share(inside.times * each, total_of(inside.model) or 0)
        words = ", ".join(filter(None, (f"{inside.times:,}× in it", part)))
        lines.append(ListingLine(" ", f"  {name}", after=f"{each:,}", verdict=words, tone="dim"))
    return lines


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
    lines, said = [], set[str]()
    for row, ways in rows.items():
        if isinstance(row, str):
            sure = [way for way in ways if way.way is None or _OTHERWISE not in way.way.note]
            count, words = _range({total_of(way) or 0 for way in sure or ways}), row
        else:
            places = list(dict.fromkeys(place_of_way(way, group.target) for way in ways))
            count, words = f"{row:,}", ", ".join(places if verbose else first(places, _PLACES))
        codes = sorted({finding.code for way in ways for finding in way.findings})
        lines.append((count, "  ".join([words, *codes])))
        # What may be otherwise when the repository runs.
        told = [way.way for way in ways if way.way]
        commands = list(dict.fromkeys(way.command for way in told if way.command))
        notes = (note for way in told for note in way.note.split("; "))
        remarks = [n for n in dict.fromkeys(notes) if n and (verbose or n not in said)]
        said.update(note for note in remarks if _OTHERWISE not in note)
        remarks.sort(key=lambda note: _OTHERWISE not in note)
        otherwise = sum(_OTHERWISE in note for note in remarks)
        remarks = remarks if verbose else first(remarks, max(_PLACES, otherwise))
        # Each is of a way of its own, of which the first stands for the count.
        chosen = [note for note in remarks if note.startswith("with ")]
        is_plain = any(not way.note.startswith("with ") for way in told)
        others = chosen if is_plain else chosen[1:]
        remarks = [f"also {note}" if note in others else note for note in remarks]
        lines += [("", f"({note})") for note in remarks]
        if commands:
            shown = ", ".join(commands if verbose else first(commands, _PLACES))
            lines.append(("", f"(as in {shown})"))
    lines += [("", f"({words})") for words in _besides(group)]
    if group.part_of:
        names = first([user.partition("::")[2] for user in group.part_of], _PLACES)
        lines.append(("", f"(a part of {', '.join(names)}, not counted)"))
    return lines


def _without_inner(models: Iterable[ModelReport], report: Report) -> list[ModelReport]:
    """Those without the calls that stand in functions which were counted, with the same count; and
    without the sizes that are these functions."""
    functions = grouped(
        (model for model in report.models if model.way is None and model.is_function),
        lambda function: function.position.path,
    )

    def is_inner(model: ModelReport) -> bool:
        if model.way is None or model.way.kind not in ("size", "call"):
            return False
        at = model.way.position
        here = functions.get(at.path, ())
        if model.way.kind == "size":
            return any(function.position == at for function in here)
        above = [function for function in here if function.position.line < at.line]
        nearest = max(above, key=lambda function: function.position.line, default=None)
        return nearest is not None and total_of(nearest) == total_of(model)

    return [model for model in models if not is_inner(model)]


def _kind(model: ModelReport, target: str) -> str:
    """That of its way; `factory`: a function that returns the model; "" is the model itself."""
    if model.way is not None:
        return model.way.kind
    return "" if model.bare == target else "factory"


def place_of_way(model: ModelReport, target: str) -> str:
    """How and where the repository builds it: `tiny (whisper/__init__.py:18)`."""
    way, call = model.way, getattr(model.measurement, "call", "")
    if way is None:
        return "with its defaults" if call.endswith("()") and model.bare == target else call
    return way.place


def _fold(kind: str, ways: Sequence[ModelReport]) -> str:
    """`8 sizes (nets/vit.py:12 … 19)`; `5 functions (vit_tiny … vit_huge)`."""
    if kind in ("", "factory"):
        places = [way.bare.partition("::")[2] for way in ways]
    else:
        places = [str(way.way.position) for way in ways if way.way]
    start, end = places[0], places[-1]
    path = start.rpartition(":")[0]
    if path and end.startswith(f"{path}:"):
        end = end.removeprefix(f"{path}:")
    ends = dict.fromkeys((start, end if end != start.rpartition(":")[2] else start))
    return f"{plural(len(ways), _NOUNS[kind])} ({' … '.join(ends)})"


def _range(totals: Iterable[int]) -> str:
    ordered = sorted(totals)
    ends = dict.fromkeys((rounded(ordered[0]), rounded(ordered[-1])))
    return " … ".join(ends)
