"""The JSON document of a command is a record: its fields are the keys, and its schema is made from
their types (`api/schemas`). Here is what several documents have in common.

Version 1: keys may be added to a document, and none is changed. A field that is UNSET is no key.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import Any, Literal, TypeVar

from msgspec import UNSET, UnsetType

from nparam_lint.count.measured import Cause, Environment, Hidden
from nparam_lint.gate.report import Report
from nparam_lint.ground.findings import Change, Finding
from nparam_lint.ground.values import Origin, Severity, Way, WayKind
from nparam_lint.ground.version import __version__

T = TypeVar("T")


@dataclass(kw_only=True, frozen=True)
class Tool:
    name: Literal["nparam-lint"] = "nparam-lint"
    version: str = __version__


@dataclass(kw_only=True)
class JsonDocument:
    version: Literal[1] = 1
    tool: Tool = Tool()


@dataclass(kw_only=True)
class CountedDocument(JsonDocument):
    """Of a command that builds models; `error`: why there is no answer at all."""

    environment: Environment | None
    error: str | None


@dataclass(kw_only=True)
class Placed:
    path: str
    line: int
    column: int


@dataclass(kw_only=True)
class WayRecord(Placed):
    kind: WayKind
    name: str | None
    note: str | UnsetType = UNSET


@dataclass(kw_only=True)
class FindingRecord(Placed):
    code: str
    severity: Severity
    message: str
    target: str
    detail: Sequence[str]
    since: str
    changes: Sequence[Change]


@dataclass(kw_only=True)
class BudgetRecord(Placed):
    declared: str
    selector: str
    low: int | None
    high: int | None
    actual: int | None
    drift: float | None
    ok: bool
    origin: Origin
    module: str | None
    reason: str | None
    value: int | None


@dataclass(kw_only=True)
class SkippedRecord:
    target: str
    reason: str
    cause: Cause
    top_level: bool


@dataclass(kw_only=True)
class MeasuredRecord:
    """`counts`: that of each metric; null where it is unknown."""

    call: str
    status: Literal["measured"] = "measured"
    reason: None = None
    counts: Mapping[str, int | None]
    no_routing: str | None
    hidden: Sequence[Hidden]


@dataclass(kw_only=True)
class NotMeasuredRecord:
    call: None = None
    status: Literal["not_measured"] = "not_measured"
    reason: str
    counts: None = None
    code: str
    hint: str | None
    missing: Sequence[str]


def record(kind: type[T], *sources: object, **values: Any) -> T:
    """A record of a kind: a field has the value that is given here, else its default, else what the
    first of the sources that knows its name has."""
    for name in set(_without_default(kind)) - values.keys():  # type: ignore[arg-type]
        candidates = (getattr(source, name, MISSING) for source in sources)
        values[name] = next(value for value in candidates if value is not MISSING)
    return kind(**values)


@cache  # there may be a record for each line of source
def _without_default(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if field.default is MISSING)


def way_record(way: Way | None) -> WayRecord | None:
    if way is None:
        return None
    return record(WayRecord, way, way.position, name=way.name or None, note=way.words or UNSET)


def finding_records(findings: Iterable[Finding]) -> list[FindingRecord]:
    """Without what the message, the budgets and the source say."""
    return [record(FindingRecord, finding, finding.position) for finding in findings]


def skipped_records(report: Report) -> list[SkippedRecord]:
    users = report.containment.users
    return [
        record(SkippedRecord, failure, target=target, top_level=target not in users)
        for target, failure in report.skipped
    ]


def summary_fields(report: Report) -> dict[str, Any]:
    """What summaries of a check and of a comparison have in common."""
    errors = sum(finding.severity == "error" for finding in report.findings)
    return {
        "skipped": len(report.skipped),
        "findings": len(report.findings),
        "errors": errors,
        "warnings": len(report.findings) - errors,
        "files": report.files,
        "seconds": finite(report.seconds) or 0.0,
    }


def finite(value: float | None) -> float | None:
    """JSON has no NaN and no infinity."""
    return value if value is not None and math.isfinite(value) else None
