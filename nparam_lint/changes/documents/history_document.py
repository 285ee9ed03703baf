"""The document of `history`: the count of a model at each commit, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from nparam_lint import report as doc
from nparam_lint.report import style
from nparam_lint.report.json_records import JsonDocument, record
from nparam_lint.report.style import plural

if TYPE_CHECKING:
    from nparam_lint.changes.history import History, Point

_COLUMNS = (
    doc.Column("commit", "code"),
    doc.Column("date", tone="dim"),
    doc.Column("count", "number"),
    doc.Column("change", "number"),
    doc.Column("subject", "words", notes=True),
)


def history_document(history: History) -> doc.Document:
    lines = []
    for point in history.points:
        commit, state = point.commit, point.state
        count = f"{state.count:,}" if state.count is not None else "not counted"
        change = f" ({point.change:+,})" if point.change else ""
        lines.append(f"{commit.sha[:7]} {commit.date} {count}{change} {commit.subject}")
    return doc.Document(
        "history",
        lambda: _data(history),
        lambda options: _page(history, options),
        history.error,
        lines=tuple(lines),
    )


@dataclass(kw_only=True)
class CommitRecord:
    """`path`: of the file that had the model then; `change`: since the commit before that has a
    count; `reason`: why there is no count."""

    commit: str
    parents: Sequence[str]
    date: str
    author: str
    subject: str
    path: str | None
    count: int | None
    change: int | None
    reason: str | None
    cached: bool


@dataclass(kw_only=True)
class HistorySummary:
    commits: int
    changes: int
    gaps: int
    cached: int
    seconds: float


@dataclass(kw_only=True)
class HistoryDocument(JsonDocument):
    command: Literal["history"] = "history"
    target: str
    selector: str
    error: str | None
    commits: Sequence[CommitRecord]
    notes: Sequence[str]
    summary: HistorySummary


def _data(history: History) -> HistoryDocument:
    commits = [
        record(
            CommitRecord,
            point.commit,
            commit=point.commit.sha,
            path=point.state.path or None,
            count=point.state.count,
            change=point.change,
            reason=point.state.reason or None,
            cached=point.cached,
        )
        for point in history.points
    ]
    return record(HistoryDocument, history, commits=commits, summary=_summary(history))


def _summary(history: History) -> HistorySummary:
    points = history.points
    return HistorySummary(
        commits=len(points),
        changes=sum(bool(point.change) for point in points),
        gaps=sum(point.state.count is None for point in points),
        cached=sum(point.cached for point in points),
        seconds=history.seconds,
    )


def _page(history: History, options: doc.Options) -> doc.Page:
    if history.error is not None:
        return doc.Page()
    points, name = history.points, history.name
    if not points:
        nothing = f"No commit has {name}."
        return doc.Page((), "–", nothing, nothing)
    shown = points if options.verbose else [*_turning_points(points)]
    hidden = len(points) - len(shown)
    notes = (f"{plural(hidden, 'commit')} without a change (-v lists them)",) if hidden else ()
    rows = []
    for point in shown:
        commit, state, change = point.commit, point.state, point.change or 0
        count = doc.Cell("–", "dim") if state.count is None else doc.Cell(f"{state.count:,}")
        delta = doc.Cell(f"{change:+,}" if change else "", "green" if change > 0 else "red")
        reason = style.short_reason(state.reason, history.target.partition("::")[2])
        below = (f"not counted: {reason}",) if state.reason else ()
        cells = (commit.sha[:7], commit.date, count, delta, commit.subject)
        rows.append(doc.Row(cells, below=below))
    table = doc.Table(_COLUMNS, tuple(rows), notes=notes, noun="commit")
    first, last = points[-1].commit, points[0].commit
    span = f"{first.sha[:7]} {first.date} … {last.sha[:7]} {last.date}"
    sections = (
        doc.Section((doc.Text(span, "dim"),), title=name, always=True),
        doc.Section((table,), always=True),
        doc.Section(tuple(doc.Text(f"note: {note}", "dim", hang="  ") for note in history.notes)),
    )
    summary = _summary(history)
    counts = [plural(summary.commits, "commit"), plural(summary.changes, "change")]
    if summary.gaps:
        counts.append(f"{summary.gaps:,} not counted")
    headline = " · ".join(counts)
    if summary.cached:
        counts.append(f"{summary.cached:,} from the cache")
    parts = (*(("", count) for count in counts), ("dim", f"{history.seconds:.1f} s"))
    return doc.Page(sections, headline=headline, summary=(doc.Parts(parts),))


def _turning_points(points: Sequence[Point]) -> Iterator[Point]:
    """The newest and the oldest, what changed the count, and the ends of gaps."""
    for number, point in enumerate(points):
        after, before = points[number - 1 : number], points[number + 1 : number + 2]
        is_gap = point.state.count is None
        begins = is_gap and [p.state.reason for p in before] != [point.state.reason]
        ends = not is_gap and any(p.state.count is None for p in before)
        if not (after and before) or point.change or begins or ends:
            yield point
