"""What `compare` says: several models side by side, by what their parameters are for."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from string import ascii_uppercase
from typing import TYPE_CHECKING

from nparam_lint.analysis.roles import ROLES, RolePart
from nparam_lint.count.worker.capabilities import METRICS
from nparam_lint.records import Measured, NotMeasured
from nparam_lint.report import style
from nparam_lint.report.check_data import measured_data, not_measured_data
from nparam_lint.report.document import (
    Cell,
    Column,
    Document,
    Fact,
    Facts,
    Json,
    Options,
    Page,
    Row,
    Section,
    Step,
    Table,
    Text,
)
from nparam_lint.report.show_document import absent
from nparam_lint.report.style import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nparam_lint.analysis.roles import Roles
    from nparam_lint.records import Environment, ModelReport, ModuleRow

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

    version: str
    models: tuple[Compared, ...] = ()
    seconds: float = 0.0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class _Counted:
    """A model that was measured, and the letter that stands for it."""

    letter: str
    name: str
    counts: ModuleRow
    roles: Roles
    measured: Measured


@dataclass(frozen=True, slots=True)
class Group:
    """Parts that differ only in numbers, as `h.*.attn.c_attn`."""

    path: str
    type: str
    role: str
    because: str
    times: int
    count: int


def compare_document(comparison: Comparison) -> Document:
    return Document(
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


def _page(comparison: Comparison, options: Options) -> Page:
    if comparison.error is not None:
        return Page()
    models = _entries(comparison.models)
    legend = Facts(tuple(_legend(comparison)), "bold", "")
    sections = [Section((legend,), always=True)]
    if models:
        sections.append(Section((_counts(models),), always=True))
    notes = [Fact(m.letter, note, tone="dim") for m in models for note in _notes_of(m)]
    if notes:
        sections.append(Section((Facts(tuple(notes), "dim", ""),)))
    if options.verbose:
        sections += [Section((_parts(model),), always=True) for model in models]
    return Page(tuple(sections), headline=style.plural(len(comparison.models), "model"))


def _legend(comparison: Comparison) -> Iterator[Fact]:
    for number, one in enumerate(comparison.models):
        name = letter(number)
        measured = one.model.measurement
        below: tuple[Text, ...] = ()
        if isinstance(measured, NotMeasured):
            below = tuple(absent(measured, " " * (len(name) + 2)))
        yield Fact(name, one.given, kind="target", below=below)


def letter(number: int) -> str:
    """A, B, …, Z, AA, AB, …"""
    more, last = divmod(number, len(ascii_uppercase))
    return (letter(more - 1) if more else "") + ascii_uppercase[last]


def _entries(models: Sequence[Compared]) -> list[_Counted]:
    found = []
    for number, column in enumerate(models):
        measured = column.model.measurement
        if isinstance(measured, Measured) and column.roles is not None:
            name = clean(column.model.target).rpartition("::")[2]
            found.append(_Counted(letter(number), name, measured.counts, column.roles, measured))
    return found


# --- counts ---------------------------------------------------------------------------------------


def _counts(models: Sequence[_Counted]) -> Table:
    """By role, then the totals; differences are those to the first model."""
    rows = [
        Row((role, *(_role(model, role) for model in models)))
        for role in ROLES
        if any(model.roles.counts[role] for model in models)
        or (role == "output" and any(model.roles.output_tied for model in models))
    ]
    totals = [model.counts.total for model in models]
    bold = [Cell("total", "bold"), *(Cell(f"{total:,}", "bold") for total in totals)]
    rows.append(Row(tuple(bold), rule=True))
    if len(models) > 1:
        more = (f"{total - totals[0]:+,}" for total in totals[1:])
        rows.append(Row((f"against {models[0].letter}", "", *more)))
    if len(models) > 1 and totals[0]:
        rows.append(Row(("", "", *(_ratio(total, totals[0]) for total in totals[1:]))))
    metrics = [one for name, one in METRICS.items() if name not in ("total", "frozen", "buffers")]
    for metric in sorted(metrics, key=lambda metric: metric.unit == "bytes"):
        counts = [model.counts.of(metric.name) for model in models]
        if metric.needs_routing and counts == totals:
            continue  # no expert is idle
        cells = [_metric(metric.name, *pair) for pair in zip(counts, totals, strict=True)]
        rows.append(Row((metric.label, *cells), rule=metric.name == "trainable"))
    names = [Column(f"{model.letter} {model.name}", "number") for model in models]
    return Table((Column(""), *names), tuple(rows), bands=True)


def _role(model: _Counted, role: str) -> Cell:
    count = model.roles.counts[role]  # type: ignore[index]
    if not count:
        return Cell("tied" if role == "output" and model.roles.output_tied else "–")
    return Cell(f"{count:,}", share=style.share(count, model.counts.total))


def _metric(name: str, count: int | None, total: int) -> Cell:
    if count is None:
        return Cell("unknown")
    shared = name != "bytes" and count != total
    return Cell(f"{count:,}", share=style.share(count, total) if shared else "")


def _ratio(count: int, first: int) -> str:
    """Near the first in percent, else how many times as much."""
    ratio = count / first
    if 0.5 <= ratio < 2:
        return f"{100 * (ratio - 1):+.2f} %"
    return f"× {ratio:,.1f}" if ratio >= 10 else f"× {ratio:.3g}"


def _parts(model: _Counted) -> Table:
    """Which modules have which role, and why."""
    rows = [
        Row(
            (
                group.role,
                group.path or "(root)",
                group.type,
                f"{group.times:,} ×" if group.times > 1 else "",
                f"{group.count:,}",
                group.because,
            )
        )
        for group in grouped(model.roles.parts)
    ]
    module = f"module of {model.letter}"
    columns = (
        Column("role"),
        Column(module, "code"),
        Column("type"),
        Column("", "number"),
        Column("parameters", "number"),
        Column("because"),
    )
    steps = (
        Step("drop", "because"),
        Step("shorten", module, 24),
        Step("shorten", "type", 8),
        Step("shorten", module, 8),
    )
    return Table(columns, tuple(rows), steps, noun="part").filled


# --- words ----------------------------------------------------------------------------------------


def grouped(parts: Iterable[RolePart]) -> list[Group]:
    """Parts that differ only in numbers together, in the order of the roles, then of the model."""
    groups: dict[tuple[str, str, str, str], list[int]] = {}
    for part in parts:
        place = _NUMBER.sub("*", part.path), part.type, part.role, _NUMBER.sub("*", part.because)
        sums = groups.setdefault(place, [0, 0])
        sums[0] += 1
        sums[1] += part.count
    found = [Group(*place, *sums) for place, sums in groups.items()]
    order: dict[str, int] = {role: number for number, role in enumerate(ROLES)}
    return sorted(found, key=lambda group: order[group.role])


_NUMBER = re.compile(r"(?<![^. ])\d+(?![^., ])|(?<=_)\d+(?=\.)")  # h.11.attn, layer_11.attn


def _notes_of(model: _Counted) -> list[str]:
    """What has no role, what is counted once though it has two names, and what is not counted."""
    notes = []
    other = model.roles.counts["other"]
    if other > _NOTED * model.counts.total:
        groups = [group for group in grouped(model.roles.parts) if group.role == "other"]
        groups.sort(key=lambda group: -group.count)
        named = [f"{_name(group)} {group.count:,}" for group in groups[:_NAMED]]
        more = len(groups) - len(named)
        notes.append(f"other: {', '.join([*named, *([f'{more:,} more'] if more else [])])}")
    if model.roles.tied:
        ties, more = model.roles.tied[:_NAMED], len(model.roles.tied) - _NAMED
        told = "; ".join([*map(clean, ties), *([f"{more:,} more"] if more > 0 else [])])
        notes.append(f"tied, counted once: {told}")
    unlike = model.roles.counts["embedding"] - _in_embedding_layers(model)
    if unlike > _NOTED * model.counts.total:
        notes.append(f"non-embedding: with {unlike:,} that embed, but not in an nn.Embedding")
    if model.measured.no_routing:
        notes.append(f"active: {clean(model.measured.no_routing)}")
    for hidden in model.measured.hidden:
        text = f"{hidden.path}: {hidden.count:,} parameters that parameters() does not return"
        notes.append(clean(f"not counted: {text} ({hidden.what})"))
    return notes


def _in_embedding_layers(model: _Counted) -> int:
    """The part of the embedding that the metric `non_embedding` leaves out."""
    parents = {row.path.rpartition(".")[0] for row in model.measured.modules if row.path}
    layers = {row.path for row in model.measured.modules if row.embedding} - parents
    parts = model.roles.parts
    return sum(part.count for part in parts if part.role == "embedding" and part.path in layers)


def _name(group: Group) -> str:
    return clean(f"{group.path or '(root)'} ({group.type})")


# --- data -----------------------------------------------------------------------------------------


# `roles` sum to `counts.total`; `parts` are the modules that hold parameters themselves.
def _data(comparison: Comparison) -> Json:
    models = [_model_data(column) for column in comparison.models]
    measured = sum(model["status"] == "measured" for model in models)
    return {
        "version": 1,
        "tool": {"name": "nparam-lint", "version": comparison.version},
        "error": comparison.error,
        "models": models,
        "summary": {
            "models": len(models),
            "measured": measured,
            "not_measured": len(models) - measured,
            "seconds": comparison.seconds,
        },
    }


def _model_data(column: Compared) -> Json:
    model, measured = column.model, column.model.measurement
    common: Json = {
        "target": model.target,
        "given": column.given,
        **asdict(model.position),
        "environment": None if column.environment is None else asdict(column.environment),
        "cached": measured.cached,
        "notes": list(measured.notes),
    }
    if not isinstance(measured, Measured) or column.roles is None:
        assert not isinstance(measured, Measured)
        more: Json = {"roles": None, "tied": [], "parts": []}
        return common | not_measured_data(measured) | more
    found: Json = {
        "roles": column.roles.counts,
        "output_tied": column.roles.output_tied,
        "tied": list(column.roles.tied),
        "parts": [asdict(part) for part in column.roles.parts],
    }
    return common | measured_data(measured) | found
