"""A comparison of revisions as data. Every module stands for itself; nothing is folded."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from nparam_lint.analysis.documents.diff_words import MARKS
from nparam_lint.records import Measured, Report
from nparam_lint.report import check_data

if TYPE_CHECKING:
    from nparam_lint.analysis.diff import DiffReport, ModelDiff, ModuleChange
    from nparam_lint.records import Measurement, ModuleRow
    from nparam_lint.report.document import Json


def data_of(report: DiffReport) -> Json:
    common = check_data.data_of(as_report(report))
    return {
        "version": 1,
        "tool": common["tool"],
        "environment": common["environment"],
        "error": report.error,
        "base": {
            "revision": report.base.revision,
            "commit": report.base.commit,
            "called": report.base.called,
        },
        "now": report.now,
        "tolerance": report.tolerance,
        "models": [_model(model) for model in report.models],
        "findings": common["findings"],
        "skipped": common["skipped"],
        "notes": list(report.notes),
        "summary": _summary(report, common["summary"]),
    }


def _summary(report: DiffReport, common: Json) -> Json:
    found = Counter(model.status for model in report.models)
    kept = ("findings", "errors", "warnings", "seconds")
    return {
        "models": len(report.models),
        **{status: found[status] for status in MARKS},
        "skipped": len(report.unmeasured),
        **{name: common[name] for name in kept},
        "files": report.files,
    }


def _model(model: ModelDiff) -> Json:
    at, (reason_before, reason_after) = model.position, model.reasons
    percent = None
    if model.delta is not None and model.total_before:
        percent = model.delta / model.total_before
    return {
        "target": model.target,
        "path": at.path,
        "line": at.line,
        "column": at.column,
        "status": model.status,
        "before": _counts(model.before),
        "after": _counts(model.after),
        "delta": model.delta,
        "drift": percent,
        "call_before": _call(model.before),
        "call_after": _call(model.after),
        "reason_before": reason_before,
        "reason_after": reason_after,
        "before_target": model.before_target,
        "evidence": model.evidence,
        "declared": model.declared,
        "top_level": model.top_level,
        "explained": model.explained,
        "explanation": model.explanation,
        "notes": list(model.notes),
        "modules": [_module(change) for change in model.modules],
    }


def _counts(measurement: Measurement | None) -> Json | None:
    return measurement.counts.by_name() if isinstance(measurement, Measured) else None


def _call(measurement: Measurement | None) -> str | None:
    return measurement.call if isinstance(measurement, Measured) else None


def _module(change: ModuleChange) -> Json:
    return {
        "path": change.path,
        "status": change.kind,
        "before": _row(change.before, change.count_before),
        "after": _row(change.after, change.count_after),
        "delta": change.delta,
        "notes": list(change.notes),
    }


def _row(row: ModuleRow | None, count: int) -> Json | None:
    """`count`: the parameters that the change is about; `own` and `total` are the module's."""
    if row is None:
        return None
    return {
        "path": row.path,
        "type": row.type,
        "count": count,
        "own": row.own,
        "total": row.total,
        "trainable": row.trainable,
        "buffers": row.buffers,
        "bytes": row.bytes,
        "source": row.source,
    }


def as_report(report: DiffReport) -> Report:
    """What a check would have said: the findings, and who counted."""
    return Report(
        report.version,
        report.environment,
        (),
        report.findings,
        report.unmeasured,
        seconds=report.seconds,
        error=report.error,
    )
