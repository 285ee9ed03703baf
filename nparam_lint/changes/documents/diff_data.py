"""A comparison of revisions as data. Every module stands for itself; nothing is folded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from nparam_lint.changes.records import Base, DiffReport, Kind, Status
from nparam_lint.count.measured import Measured
from nparam_lint.report.json_records import (
    CountedDocument,
    FindingRecord,
    Placed,
    SkippedRecord,
    WayRecord,
    finding_records,
    record,
    skipped_records,
    summary_fields,
    way_record,
)


@dataclass(kw_only=True)
class ModuleSide:
    """`count`: the parameters that the change is about; `own` and `total` are the module's."""

    count: int
    path: str
    type: str
    own: int
    total: int
    trainable: int
    buffers: int
    bytes: int
    source: str | None


@dataclass(kw_only=True)
class ModuleRecord:
    path: str
    status: Kind
    before: ModuleSide | None
    after: ModuleSide | None
    delta: int
    notes: Sequence[str]


@dataclass(kw_only=True)
class ModelRecord(Placed):
    target: str
    status: Status
    delta: int | None
    before_target: str | None
    evidence: str | None
    declared: bool
    top_level: bool
    explained: bool | None
    explanation: str | None
    way: WayRecord | None
    before: Mapping[str, int | None] | None
    after: Mapping[str, int | None] | None
    drift: float | None
    call_before: str | None
    call_after: str | None
    reason_before: str | None
    reason_after: str | None
    notes: Sequence[str]
    modules: Sequence[ModuleRecord]


@dataclass(kw_only=True)
class DiffSummary:
    """How many models there are, and how many of each status."""

    models: int
    same: int = 0
    changed: int = 0
    renamed: int = 0
    added: int = 0
    removed: int = 0
    not_measured: int = 0
    skipped: int
    findings: int
    errors: int
    warnings: int
    seconds: float
    files: int


@dataclass(kw_only=True)
class DiffDocument(CountedDocument):
    base: Base
    now: Literal["working tree", "index"]
    tolerance: str | None
    models: Sequence[ModelRecord]
    findings: Sequence[FindingRecord]
    skipped: Sequence[SkippedRecord]
    notes: Sequence[str]
    summary: DiffSummary


def data_of(report: DiffReport) -> DiffDocument:
    models = []
    for model in report.models:
        sides = model.before, model.after
        before, after = (side if isinstance(side, Measured) else None for side in sides)
        reason_before, reason_after = model.reasons
        delta, total = model.delta, model.total_before
        modules = []
        for change in model.modules:
            then = change.before and record(ModuleSide, change.before, count=change.count_before)
            now = change.after and record(ModuleSide, change.after, count=change.count_after)
            modules.append(record(ModuleRecord, change, status=change.kind, before=then, after=now))
        entry = record(
            ModelRecord,
            model,
            model.position,
            way=way_record(model.way),
            before=before.counts.by_name() if before else None,
            after=after.counts.by_name() if after else None,
            drift=delta / total if delta is not None and total else None,
            call_before=before.call if before else None,
            call_after=after.call if after else None,
            reason_before=reason_before,
            reason_after=reason_after,
            modules=modules,
        )
        models.append(entry)
    summary = DiffSummary(
        models=len(report.models),
        **Counter[str](model.status for model in report.models),
        **summary_fields(report.check),
    )
    return record(
        DiffDocument,
        report,
        report.check,
        models=models,
        findings=finding_records(report.check.findings),
        skipped=skipped_records(report.check),
        summary=summary,
    )
