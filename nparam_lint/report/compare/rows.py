"""What a comparison says, in rows: one for each role, then the totals; and the notes below."""

from __future__ import annotations

import re
from dataclasses import dataclass
from string import ascii_uppercase
from typing import TYPE_CHECKING

from nparam_lint.analysis.roles import ROLES, Part
from nparam_lint.records import Measured
from nparam_lint.report import style
from nparam_lint.report.style import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nparam_lint.analysis.roles import Roles
    from nparam_lint.records import Counts
    from nparam_lint.report.compare import Column

_NAMED = 3  # modules that a note on `other` names, and ties
_NOTED = 0.005  # of a model: what is less and has no role needs no word


@dataclass(frozen=True, slots=True)
class Entry:
    """A model that was measured, and the letter that stands for it."""

    letter: str
    name: str
    counts: Counts
    roles: Roles
    measured: Measured


@dataclass(frozen=True, slots=True)
class Row:
    """`cells`: a count and its share for each model, in text; `rule`: a line above it."""

    label: str
    cells: tuple[tuple[str, str], ...]
    rule: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Parts that differ only in numbers, as `h.*.attn.c_attn`."""

    path: str
    type: str
    role: str
    because: str
    times: int
    count: int


def letter(number: int) -> str:
    """A, B, …, Z, AA, AB, …"""
    more, last = divmod(number, len(ascii_uppercase))
    return (letter(more - 1) if more else "") + ascii_uppercase[last]


def entries(columns: Sequence[Column]) -> list[Entry]:
    found = []
    for number, column in enumerate(columns):
        measured = column.model.measurement
        if isinstance(measured, Measured) and column.roles is not None:
            name = clean(column.model.target).rpartition("::")[2]
            found.append(Entry(letter(number), name, measured.counts, column.roles, measured))
    return found


def rows_of(models: Sequence[Entry]) -> list[Row]:
    """Differences are those to the first model."""
    by_role = [model.roles.counts for model in models]
    rows = [
        Row(role, tuple(_role(model, role) for model in models))
        for role in ROLES
        if any(counts[role] for counts in by_role)
        or (role == "output" and any(model.roles.output_tied for model in models))
    ]
    rows.append(Row("total", tuple((f"{m.counts.total:,}", "") for m in models), rule=True))
    if len(models) > 1:
        rows += _differences([model.counts.total for model in models], models[0].letter)
    metrics: dict[str, list[int | None]] = {
        "trainable": [m.counts.trainable for m in models],
        "non-embedding": [m.counts.non_embedding for m in models],
        "active": [m.counts.active for m in models],
        "bytes": [m.counts.bytes for m in models],
    }
    sparse = any(m.counts.active != m.counts.total for m in models)
    for name, counts in metrics.items():
        if name != "active" or sparse:
            cells = [_metric(name, n, m.counts.total) for n, m in zip(counts, models, strict=True)]
            rows.append(Row(name, tuple(cells), rule=name == "trainable"))
    return rows


def _role(model: Entry, role: str) -> tuple[str, str]:
    count = model.roles.counts[role]  # type: ignore[index]
    if not count:
        return ("tied" if role == "output" and model.roles.output_tied else "–"), ""
    return f"{count:,}", style.share(count, model.counts.total)


def _metric(name: str, count: int | None, total: int) -> tuple[str, str]:
    if count is None:
        return "unknown", ""
    shared = name != "bytes" and count != total
    return f"{count:,}", style.share(count, total) if shared else ""


def _differences(totals: Sequence[int], first: str) -> list[Row]:
    more = ["", *(f"{total - totals[0]:+,}" for total in totals[1:])]
    rows = [Row(f"against {first}", tuple((text, "") for text in more))]
    if totals[0]:
        ratios = ["", *(_ratio(total, totals[0]) for total in totals[1:])]
        rows.append(Row("", tuple((text, "") for text in ratios)))
    return rows


def _ratio(count: int, first: int) -> str:
    """Near the first in percent, else how many times as much."""
    ratio = count / first
    if 0.5 <= ratio < 2:
        return f"{100 * (ratio - 1):+.2f} %"
    return f"× {ratio:,.1f}" if ratio >= 10 else f"× {ratio:.3g}"


# --- words ------------------------------------------------------------------------------------


def grouped(parts: Iterable[Part]) -> list[Group]:
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


def notes_of(model: Entry) -> list[str]:
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


def _in_embedding_layers(model: Entry) -> int:
    """The part of the embedding that the metric `non_embedding` leaves out."""
    parents = {row.path.rpartition(".")[0] for row in model.measured.modules if row.path}
    layers = {row.path for row in model.measured.modules if row.embedding} - parents
    parts = model.roles.parts
    return sum(part.count for part in parts if part.role == "embedding" and part.path in layers)


def _name(group: Group) -> str:
    return clean(f"{group.path or '(root)'} ({group.type})")
