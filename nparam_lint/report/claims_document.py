"""The document of `claims`: each count that the repository states, what it is about, and whether it
is right; the wrong ones first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from msgspec.structs import astuple

from nparam_lint.gate.report import Report, StatedOutcome, Strength, Verdict
from nparam_lint.report import Column, Document, Options, Page, Row, Section, Step, Table, Text
from nparam_lint.report.json_records import CountedDocument, Placed, record
from nparam_lint.report.style import plural

_COLUMNS = (
    Column("place", "path"),
    Column("stated", "words"),
    Column("model", "code"),
    Column("has", "number"),
    Column("why", "words", "dim", notes=True),
)
_STEPS = (
    Step("shorten", "place", 24),
    Step("cut", "stated", 16),
    Step("cut", "why", 20),
    Step("drop", "why"),
)
_MARKS = {"wrong": "✗", "right": "✓", "unknown": "–"}
_MOST = 40  # lines of one kind, without -v


@dataclass(kw_only=True)
class ClaimRecord(Placed):
    """A stated count. `verdict` is of the model at `target`, which has `actual` of the `metric`."""

    text: str
    metric: str
    verdict: Verdict
    strength: Strength
    target: str | None
    name: str
    actual: int | None
    because: str
    explanation: str


@dataclass(kw_only=True)
class ClaimsDocument(CountedDocument):
    command: Literal["claims"] = "claims"
    claims: Sequence[ClaimRecord]


def claims_document(report: Report, *, with_findings: bool = False) -> Document:
    outcomes = sorted(report.stated, key=_rank)
    return Document(
        "claims",
        lambda: record(ClaimsDocument, report, claims=[*map(claim_record, outcomes)]),
        lambda options: _page(outcomes, options),
        report.error,
        report if with_findings else None,
        lines=tuple(
            f"{o.position}:{o.position.column}: {o.verdict}: {o.count.text}"
            + (f" of {o.name}, which has {o.actual:,}" if o.actual is not None else "")
            for o in outcomes
        ),
    )


def claim_record(outcome: StatedOutcome) -> ClaimRecord:
    return record(
        ClaimRecord,
        outcome,
        outcome.position,
        outcome.count,
        metric=outcome.count.selector.metric,
        target=outcome.model.target if outcome.model else None,
    )


def _rank(outcome: StatedOutcome) -> tuple[object, ...]:
    kind = [*_TITLES].index((outcome.verdict, outcome.strength))
    return kind, *astuple(outcome.position)


_TITLES: dict[tuple[Verdict, Strength], str] = {  # in the order in which they are shown
    ("wrong", "certain"): "wrong",
    ("wrong", "likely"): "perhaps wrong",
    ("right", "certain"): "right",
    ("right", "likely"): "probably right",
    ("unknown", ""): "about no model that was counted",
}


def _page(outcomes: Sequence[StatedOutcome], options: Options) -> Page:
    by_kind = {kind: [o for o in outcomes if (o.verdict, o.strength) == kind] for kind in _TITLES}
    sections = []
    for kind, alike in by_kind.items():
        if not alike or (kind[0] == "unknown" and not options.verbose):
            continue
        shown = alike if options.verbose else alike[:_MOST]
        notes = [f"… and {len(alike) - len(shown):,} more: -v"] if len(shown) < len(alike) else []
        rows = []
        for outcome in shown:
            mark = _MARKS[outcome.verdict] if outcome.strength != "likely" else "?"
            actual = f"{outcome.actual:,}" if outcome.actual is not None else ""
            texts = (str(outcome.position), outcome.count.text, outcome.name)
            cells = (*texts, actual, outcome.because)
            below = (outcome.explanation,) if outcome.explanation else ()
            rows.append(Row(cells, mark, below))
        table = Table(_COLUMNS, tuple(rows), _STEPS, notes=tuple(notes), noun="count")
        sections.append(Section((table.filled,), title=_TITLES[kind], always=kind[0] == "wrong"))
    counts = [f"{len(alike):,} {_TITLES[kind]}" for kind, alike in by_kind.items() if alike]
    summary = f"{plural(len(outcomes), 'stated count')}: {' · '.join(counts)}"
    if not outcomes:
        summary = "No text here states the count of a model."
    mark = "✗" if by_kind["wrong", "certain"] else "✓" if outcomes else "–"
    sections.append(Section((Text(summary),), always=True))
    return Page(tuple(sections), mark, summary)
