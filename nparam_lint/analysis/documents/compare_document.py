"""The document of `compare`: several models side by side, by the roles of their parameters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from string import ascii_uppercase
from typing import TYPE_CHECKING

from nparam_lint import report as doc
from nparam_lint.analysis.roles import ROLES, Role, RolePart
from nparam_lint.count.measured import Environment, Measured, NotMeasured
from nparam_lint.ground.metrics import METRICS
from nparam_lint.report import style
from nparam_lint.report.json_records import (
    JsonDocument,
    MeasuredRecord,
    NotMeasuredRecord,
    Placed,
    at,
    measured_fields,
    not_measured_fields,
    record,
)
from nparam_lint.report.not_counted import absent
from nparam_lint.report.pictures import DrawnModel, Picture
from nparam_lint.report.style import clean

if TYPE_CHECKING:
    from nparam_lint.analysis.roles import Roles
    from nparam_lint.gate.report import ModelReport

_NAMED = 3  # modules that a note on `other` names, and ties
_NOTED = 0.005  # of a model: what is less and has no role needs no word


@dataclass(frozen=True, slots=True)
class Compared:
    """One model of a comparison. `given`: its target as it was asked for; `roles`: None where it
    was not measured."""

    given: str
    model: ModelReport
    roles: Roles | None = None
    environment: Environment | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The models in the order in which they were asked for. `error`: why nothing could be measured
    at all."""

    models: tuple[Compared, ...] = ()
    seconds: float = 0.0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class _Counted:
    """A model that was measured, and the letter that stands for it."""

    letter: str
    name: str
    roles: Roles
    measured: Measured

    @property
    def total(self) -> int:
        return self.measured.counts.total


def compare_document(comparison: Comparison) -> doc.Document:
    return doc.Document(
        "compare",
        lambda: _data(comparison),
        lambda options: _page(comparison, options),
        comparison.error,
        lines=tuple(f"{one.given}: {_total(one)}" for one in comparison.models),
    )


def _total(compared: Compared) -> str:
    measured = compared.model.measurement
    if isinstance(measured, Measured):
        return f"{measured.counts.total:,}"
    return f"not measured: {measured.reason}"


def _page(comparison: Comparison, options: doc.Options) -> doc.Page:
    if comparison.error is not None:
        return doc.Page()
    legend, models = [], []
    for number, one in enumerate(comparison.models):
        name, measured = letter(number), one.model.measurement
        below: tuple[doc.Text, ...] = ()
        if isinstance(measured, NotMeasured):
            below = tuple(absent(measured, " " * (len(name) + 2)))
        elif one.roles is not None:
            called = clean(one.model.target).partition("::")[2]
            models.append(_Counted(name, called, one.roles, measured))
        legend.append(doc.Fact(name, one.given, kind="target", below=below))
    sections = [doc.Section((doc.Facts(tuple(legend), "bold", ""),), always=True)]
    if models:
        sides = (DrawnModel(_title(m), m.measured.modules, m.measured.parameters) for m in models)
        picture = Picture(tuple(sides))
        sections.append(doc.Section((_counts(models),), always=True, picture=picture))
    notes = [doc.Fact(m.letter, note, tone="dim") for m in models for note in _notes_of(m)]
    if notes:
        sections.append(doc.Section((doc.Facts(tuple(notes), "dim", ""),)))
    if options.verbose:
        sections += [doc.Section((_parts(model),), always=True) for model in models]
    return doc.Page(tuple(sections), headline=style.plural(len(comparison.models), "model"))


def letter(number: int) -> str:
    """A, B, …, Z, AA, AB, …"""
    more, last = divmod(number, len(ascii_uppercase))
    return (letter(more - 1) if more else "") + ascii_uppercase[last]


# --- counts ---------------------------------------------------------------------------------------


def _counts(models: Sequence[_Counted]) -> doc.Table:
    """By role, then the totals; differences are those to the first model."""
    rows = [
        doc.Row((role, *(_role(model, role) for model in models)))
        for role in ROLES
        if any(model.roles.counts[role] for model in models)
        or (role == "output" and any(model.roles.output_tied for model in models))
    ]
    totals = [model.total for model in models]
    bold = [doc.Cell("total", "bold"), *(doc.Cell(f"{total:,}", "bold") for total in totals)]
    rows.append(doc.Row(tuple(bold), rule=True))
    if len(models) > 1:
        more = (f"{total - totals[0]:+,}" for total in totals[1:])
        rows.append(doc.Row((f"against {models[0].letter}", "", *more)))
    if len(models) > 1 and totals[0]:
        rows.append(doc.Row(("", "", *(_ratio(total, totals[0]) for total in totals[1:]))))
    hidden = ("total", "frozen", "buffers")
    metrics = [one for name, one in METRICS.items() if one.is_listed and name not in hidden]
    for metric in sorted(metrics, key=lambda metric: metric.unit == "bytes"):
        counts = [model.measured.counts.of(metric.name) for model in models]
        if metric.needs_routing and counts == totals:
            continue  # no expert is idle
        cells = [_metric(metric.name, *pair) for pair in zip(counts, totals, strict=True)]
        rows.append(doc.Row((metric.label, *cells), rule=metric.name == "trainable"))
    names = [doc.Column(_title(model), "number") for model in models]
    return doc.Table((doc.Column(""), *names), tuple(rows), bands=True)


def _title(model: _Counted) -> str:
    return f"{model.letter} {model.name}"


def _role(model: _Counted, role: str) -> doc.Cell:
    count = model.roles.counts[role]  # type: ignore[index]
    if not count:
        return doc.Cell("tied" if role == "output" and model.roles.output_tied else "–")
    return doc.Cell(f"{count:,}", share=style.share(count, model.total))


def _metric(name: str, count: int | None, total: int) -> doc.Cell:
    if count is None:
        return doc.Cell("unknown")
    shared = name != "bytes" and count != total
    return doc.Cell(f"{count:,}", share=style.share(count, total) if shared else "")


def _ratio(count: int, first: int) -> str:
    """Near the first in percent, else how many times as much."""
    ratio = count / first
    if 0.5 <= ratio < 2:
        return f"{100 * (ratio - 1):+.2f} %"
    return f"× {ratio:,.1f}" if ratio >= 10 else f"× {ratio:.3g}"


def _parts(model: _Counted) -> doc.Table:
    """Which modules have which role, and why."""
    rows = []
    for part, times in grouped(model.roles.parts):
        what = part.role, part.path or "(root)", part.type
        number = f"{times:,} ×" if times > 1 else ""
        rows.append(doc.Row((*what, number, f"{part.count:,}", part.because)))
    module = f"module of {model.letter}"
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

_NUMBER = re.compile(r"(?<![^. ])\d+(?![^., ])|(?<=_)\d+(?=\.)")  # h.11.attn, layer_11.attn


def grouped(parts: Iterable[RolePart]) -> list[tuple[RolePart, int]]:
    """Parts that differ only in numbers as one (`h.*.attn.c_attn`) with their sum, and how many
    there are; in the order of the roles, then of the model."""

    def place(part: RolePart) -> RolePart:
        path, because = (_NUMBER.sub("*", text) for text in (part.path, part.because))
        return replace(part, path=path, because=because, count=0)

    groups = style.grouped(parts, place).items()
    sums = [(replace(one, count=sum(p.count for p in alike)), len(alike)) for one, alike in groups]
    return sorted(sums, key=lambda group: ROLES.index(group[0].role))


def _notes_of(model: _Counted) -> list[str]:
    """What has no role, what is counted once though it has two names, and what is not counted."""
    notes = []
    other = model.roles.counts["other"]
    if other > _NOTED * model.total:
        parts = [part for part, _ in grouped(model.roles.parts) if part.role == "other"]
        parts.sort(key=lambda part: -part.count)
        named = [f"{clean(p.path or '(root)')} ({clean(p.type)}) {p.count:,}" for p in parts]
        notes.append(f"other: {', '.join(style.first(named, _NAMED))}")
    if model.roles.tied:
        ties = style.first([clean(tie) for tie in model.roles.tied], _NAMED)
        notes.append(f"tied, counted once: {'; '.join(ties)}")
    # The metric `non_embedding` leaves out what embedding layers hold, and nothing else.
    parents = {row.path.rpartition(".")[0] for row in model.measured.modules if row.path}
    layers = {row.path for row in model.measured.modules if row.embedding} - parents
    embedding = [part for part in model.roles.parts if part.role == "embedding"]
    unlike = sum(part.count for part in embedding if part.path not in layers)
    if unlike > _NOTED * model.total:
        notes.append(f"non-embedding: with {unlike:,} embedding parameters outside nn.Embedding")
    if model.measured.no_routing:
        notes.append(f"active: {clean(model.measured.no_routing)}")
    for hidden in model.measured.hidden:
        text = f"{hidden.path}: {hidden.count:,} parameters that parameters() does not return"
        notes.append(clean(f"not counted: {text} ({hidden.what})"))
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
    roles: None = None


@dataclass(kw_only=True)
class CompareSummary:
    models: int
    measured: int
    not_measured: int
    seconds: float


@dataclass(kw_only=True)
class CompareDocument(JsonDocument):
    error: str | None
    models: Sequence[MeasuredComparison | FailedComparison]
    summary: CompareSummary


def _data(comparison: Comparison) -> CompareDocument:
    models = [_model_data(column) for column in comparison.models]
    measured = sum(isinstance(model, MeasuredComparison) for model in models)
    summary = CompareSummary(
        models=len(models),
        measured=measured,
        not_measured=len(models) - measured,
        seconds=comparison.seconds,
    )
    return CompareDocument(error=comparison.error, models=models, summary=summary)


def _model_data(column: Compared) -> MeasuredComparison | FailedComparison:
    model, measured, roles = column.model, column.model.measurement, column.roles
    common = {
        **at(model.position),
        "target": model.target,
        "cached": measured.cached,
        "notes": measured.notes,
        "tied": roles.tied if roles else (),
        "parts": roles.parts if roles else (),
    }
    if not isinstance(measured, Measured) or roles is None:
        assert not isinstance(measured, Measured)
        return record(FailedComparison, column, **common, **not_measured_fields(measured))
    tied = roles.output_tied
    counted = measured_fields(measured)
    return record(
        MeasuredComparison, column, **common, **counted, roles=roles.counts, output_tied=tied
    )
