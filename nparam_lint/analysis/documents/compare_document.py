"""The document of `compare`: several models side by side, by the roles of their parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase

from msgspec import Struct
from msgspec.structs import replace

from nparam_lint import report as doc
from nparam_lint.analysis.documents.compare_pairs import Distances, PairRecord, distances_of, ratio
from nparam_lint.analysis.roles import ROLES, Role, RolePart, Roles
from nparam_lint.count.measured import Environment, Measured, NotMeasured
from nparam_lint.gate.measures import fitting_measure
from nparam_lint.gate.report import ModelReport
from nparam_lint.ground import grouping
from nparam_lint.ground.metrics import METRICS
from nparam_lint.ground.notation.grammar import Bounds, Tolerance
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.report import style
from nparam_lint.report.budget_outcomes import total_of
from nparam_lint.report.json_records import (
    JsonDocument,
    MeasuredRecord,
    NotMeasuredRecord,
    Placed,
    record,
)
from nparam_lint.report.not_counted import absent
from nparam_lint.report.pictures import Picture

_NAMED = 3  # modules that a note on `other` names, and ties
_NOTED = 0.005  # of a model: what is less and has no role needs no word


class Compared(Struct, frozen=True):
    """One model of a comparison. `given`: its target as it was asked for; `roles`: None where it
    was not measured."""

    given: str
    model: ModelReport
    roles: Roles | None = None
    environment: Environment | None = None


class Comparison(Struct, frozen=True):
    """The models in the order in which they were asked for. `error`: why nothing could be measured
    at all. `within`: how far apart their totals may be, where that was asked."""

    models: tuple[Compared, ...] = ()
    seconds: float = 0.0
    error: str | None = None
    within: Tolerance | None = None

    @property
    def distances(self) -> Distances | None:
        totals = [total_of(compared.model) for compared in self.models]
        return distances_of(totals, self.within) if self.within else None

    @property
    def given(self) -> list[str]:
        return [compared.given for compared in self.models]


class _Column(Struct, frozen=True):
    """A model that was measured, and the letter that stands for it."""

    letter: str
    name: str
    roles: Roles
    measured: Measured

    @property
    def title(self) -> str:
        return f"{self.letter} {self.name}"

    @property
    def total(self) -> int:
        return self.measured.counts.total


def compare_document(comparison: Comparison) -> doc.Document:
    lines = []
    for compared in comparison.models:
        measured = compared.model.measurement
        if isinstance(measured, Measured):
            lines.append(f"{compared.given}: {measured.counts.total:,}")
        else:
            lines.append(f"{compared.given}: not measured: {measured.reason}")
    if distances := comparison.distances:
        lines += distances.lines(comparison.given)
    return doc.Document(
        "compare",
        lambda: _data(comparison),
        lambda options: _page(comparison, options),
        comparison.error,
        lines=tuple(lines),
    )


def _page(comparison: Comparison, options: doc.Options) -> doc.Page:
    if comparison.error is not None:
        return doc.Page()
    legend, columns = [], []
    for number, compared in enumerate(comparison.models):
        name, measured = letter(number), compared.model.measurement
        below: tuple[doc.Text, ...] = ()
        if isinstance(measured, NotMeasured):
            below = tuple(absent(measured, " " * (len(name) + 2)))
        elif compared.roles is not None:
            called = compared.model.target.partition("::")[2]
            columns.append(_Column(name, called, compared.roles, measured))
        legend.append(doc.Fact(name, compared.given, kind="target", below=below))
    sections = [doc.Section((doc.Facts(tuple(legend), "bold", ""),), always=True)]
    if columns:
        picture = Picture(tuple((column.title, column.measured) for column in columns))
        sections.append(doc.Section((_counts(columns),), always=True, picture=picture))
    if distances := comparison.distances:
        block = distances.block([fact.name for fact in legend])
        sections.append(doc.Section((block,), always=True))
    notes = [doc.Fact(c.letter, note, tone="dim") for c in columns for note in _notes(c, columns)]
    if notes:
        sections.append(doc.Section((doc.Facts(tuple(notes), "dim", ""),)))
    if options.verbose:
        sections += [doc.Section((_parts(column),), always=True) for column in columns]
    return doc.Page(tuple(sections), headline=style.plural(len(comparison.models), "model"))


def letter(number: int) -> str:
    """A, B, …, Z, AA, AB, …"""
    more, last = divmod(number, len(ascii_uppercase))
    return (letter(more - 1) if more else "") + ascii_uppercase[last]


# --- counts ---------------------------------------------------------------------------------------


def _counts(columns: Sequence[_Column]) -> doc.Table:
    """By role, then the totals; differences are those to the first model."""
    rows = []
    for role in ROLES:
        cells = []
        for column in columns:
            count = column.roles.counts[role]
            is_tied = role == "output" and column.roles.output_tied
            if count:
                cells.append(doc.Cell(f"{count:,}", share=style.share(count, column.total)))
            else:
                cells.append(doc.Cell("tied" if is_tied else "–"))
        if any(cell.text != "–" for cell in cells):
            rows.append(doc.Row((role, *cells)))
    totals = [column.total for column in columns]
    bold = [doc.Cell("total", "bold"), *(doc.Cell(f"{total:,}", "bold") for total in totals)]
    rows.append(doc.Row(tuple(bold), rule=True))
    if len(columns) > 1:
        more = (f"{total - totals[0]:+,}" for total in totals[1:])
        rows.append(doc.Row((f"against {columns[0].letter}", "", *more)))
    if len(columns) > 1 and totals[0]:
        rows.append(doc.Row(("", "", *(ratio(total, totals[0]) for total in totals[1:]))))
    hidden = ("total", "frozen", "buffers")
    metrics = [m for name, m in METRICS.items() if m.is_listed and name not in hidden]
    for metric in sorted(metrics, key=lambda metric: metric.unit == "bytes"):
        amounts = [column.measured.counts.of(metric.name) for column in columns]
        if metric.needs_routing and amounts == totals:
            continue  # no expert is idle
        cells = []
        for amount, total in zip(amounts, totals, strict=True):
            text, share = "unknown", ""
            if amount is not None:
                text = f"{amount:,}"
                share = style.share(amount, total) if amount != total else ""
            cells.append(doc.Cell(text, share="" if metric.name == "bytes" else share))
        rows.append(doc.Row((metric.label, *cells), rule=metric.name == "trainable"))
    names = [doc.Column(column.title, "number") for column in columns]
    return doc.Table((doc.Column(""), *names), tuple(rows), bands=True)


def _parts(column: _Column) -> doc.Table:
    """Which modules have which role, and why."""
    rows = []
    for part, times in grouped(column.roles.parts):
        what = part.role, part.path or "(root)", part.type
        number = f"{times:,} ×" if times > 1 else ""
        rows.append(doc.Row((*what, number, f"{part.count:,}", part.because)))
    module = f"module of {column.letter}"
    texts = doc.Column("role"), doc.Column(module, "code"), doc.Column("type")
    numbers = doc.Column("", "number"), doc.Column("parameters", "number")
    steps = (
        doc.Step("drop", "because"),
        doc.Step("shorten", module, 24),
        doc.Step("shorten", "type", 8),
        doc.Step("shorten", module, 8),
    )
    columns = (*texts, *numbers, doc.Column("because"))
    return doc.Table(columns, tuple(rows), steps, noun="part").filled


# --- words ----------------------------------------------------------------------------------------

_NUMBER = late_pattern(r"(?<![^. ])\d+(?![^., ])|(?<=_)\d+(?=\.)")  # h.11.attn, layer_11.attn


def grouped(parts: Iterable[RolePart]) -> list[tuple[RolePart, int]]:
    """Parts that differ only in numbers as one (`h.*.attn.c_attn`) with their sum, and how many
    there are; in the order of the roles, then of the model."""

    def place(part: RolePart) -> RolePart:
        path, because = (_NUMBER.sub("*", text) for text in (part.path, part.because))
        return replace(part, path=path, because=because, count=0)

    groups = grouping.grouped(parts, place).items()
    sums = [(replace(p, count=sum(a.count for a in alike)), len(alike)) for p, alike in groups]
    return sorted(sums, key=lambda group: ROLES.index(group[0].role))


def _notes(column: _Column, columns: Sequence[_Column]) -> list[str]:
    """Which other count of it a total beside it is, what has no role, what is counted once though
    it has two names, and what is not counted."""
    notes = []
    for other in columns:
        bounds = Bounds(other.total, other.total)
        if measure := fitting_measure(f"the total of {other.letter}", [bounds], column.measured):
            notes.append(measure)
    if column.roles.counts["other"] > _NOTED * column.total:
        parts = [part for part, _ in grouped(column.roles.parts) if part.role == "other"]
        parts.sort(key=lambda part: -part.count)
        names = [f"{p.path or '(root)'} ({p.type}) {p.count:,}" for p in parts]
        notes.append(f"other: {', '.join(style.first(names, _NAMED))}")
    if column.roles.tied:
        ties = style.first(column.roles.tied, _NAMED)
        notes.append(f"tied, counted once: {'; '.join(ties)}")
    # The metric `non_embedding` leaves out what embedding layers hold, and nothing else.
    parents = {row.path.rpartition(".")[0] for row in column.measured.modules if row.path}
    layers = {row.path for row in column.measured.modules if row.embedding} - parents
    embedding = [part for part in column.roles.parts if part.role == "embedding"]
    unlike = sum(part.count for part in embedding if part.path not in layers)
    if unlike > _NOTED * column.total:
        notes.append(f"non-embedding: with {unlike:,} embedding parameters outside nn.Embedding")
    if column.measured.no_routing:
        notes.append(f"active: {column.measured.no_routing}")
    for hidden in column.measured.hidden:
        text = f"{hidden.path}: {hidden.count:,} parameters that parameters() does not return"
        notes.append(f"not counted: {text} ({hidden.what})")
    return notes


# --- data -----------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class ComparedRecord(Placed):
    """`roles` sum to `counts.total`; `parts`: the modules that hold parameters themselves."""

    target: str
    given: str
    environment: Environment | None
    cached: bool
    notes: Sequence[str]
    tied: Sequence[str]
    parts: Sequence[RolePart]


@dataclass(kw_only=True)
class MeasuredComparison(ComparedRecord, MeasuredRecord):
    roles: Mapping[Role, int]
    output_tied: bool


@dataclass(kw_only=True)
class FailedComparison(ComparedRecord, NotMeasuredRecord):
    tied: Sequence[str] = ()
    parts: Sequence[RolePart] = ()
    roles: None = None


@dataclass(kw_only=True)
class CompareSummary:
    models: int
    measured: int
    not_measured: int
    seconds: float


@dataclass(kw_only=True)
class CompareDocument(JsonDocument):
    """`pairs`: of models that were counted, those that are furthest apart first, where `within`
    says how far apart they may be."""

    error: str | None
    models: Sequence[MeasuredComparison | FailedComparison]
    within: str | None
    pairs: Sequence[PairRecord]
    summary: CompareSummary


def _data(comparison: Comparison) -> CompareDocument:
    models: list[MeasuredComparison | FailedComparison] = []
    for compared in comparison.models:
        model, measured, roles = compared.model, compared.model.measurement, compared.roles
        sources = (compared, model, model.position, measured)
        if isinstance(measured, Measured) and roles is not None:
            numbers = {"roles": roles.counts, "counts": measured.counts.by_name()}
            models.append(record(MeasuredComparison, *sources, roles, **numbers))
        else:
            models.append(record(FailedComparison, *sources))
    number = sum(isinstance(model, MeasuredComparison) for model in models)
    summary = CompareSummary(
        models=len(models),
        measured=number,
        not_measured=len(models) - number,
        seconds=comparison.seconds,
    )
    distances = comparison.distances
    return CompareDocument(
        error=comparison.error,
        models=models,
        within=comparison.within.text if comparison.within else None,
        pairs=distances.records(comparison.given) if distances else (),
        summary=summary,
    )
