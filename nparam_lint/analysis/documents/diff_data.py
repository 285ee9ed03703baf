"""A comparison of revisions as data. Every module stands for itself; nothing is folded."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING

from nparam_lint.analysis.documents.diff_words import MARKS
from nparam_lint.records import Measured, Report
from nparam_lint.report import check_data

if TYPE_CHECKING:
    from nparam_lint.analysis.diff import DiffReport, ModelDiff, ModuleChange
    from nparam_lint.records import Measurement, ModuleRow
    from nparam_lint.report.document import Json

_MODEL = (
    *("target", "status", "delta", "before_target", "evidence"),
    *("declared", "top_level", "explained", "explanation"),
)
_ROW = ("path", "type", "own", "total", "trainable", "buffers", "bytes", "source")


def data_of(report: DiffReport) -> Json:
    common = check_data.data_of(as_report(report))
    return {
        "version": 1,
        "tool": common["tool"],
        "environment": common["environment"],
        "error": report.error,
        "base": {name: getattr(report.base, name) for name in ("revision", "commit", "called")},
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
    reason_before, reason_after = model.reasons
    percent = None
    if model.delta is not None and model.total_before:
        percent = model.delta / model.total_before
    return {
        **{name: getattr(model, name) for name in _MODEL},
        **asdict(model.position),
        "before": _counts(model.before),
        "after": _counts(model.after),
        "drift": percent,
        "call_before": _call(model.before),
        "call_after": _call(model.after),
        "reason_before": reason_before,
        "reason_after": reason_after,
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
    return None if row is None else {"count": count} | {name: getattr(row, name) for name in _ROW}


def as_report(report: DiffReport) -> Report:
    """What a check would have said: the findings, and who counted."""
    return Report(
        report.environment,
        (),
        report.findings,
        report.unmeasured,
        seconds=report.seconds,
        error=report.error,
    )
