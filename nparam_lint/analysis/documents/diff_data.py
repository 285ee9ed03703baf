"""A comparison of revisions as data. Every module stands for itself; nothing is folded."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING

from nparam_lint.analysis.documents.diff_words import MARKS
from nparam_lint.count.measured import Measured
from nparam_lint.gate.report import Report
from nparam_lint.report import check_data

if TYPE_CHECKING:
    from nparam_lint.analysis.diff import DiffReport, ModelDiff, ModuleChange
    from nparam_lint.count.measured import ModuleRow
    from nparam_lint.report import Json

_MODEL = (
    *("target", "status", "delta", "before_target", "evidence"),
    *("declared", "top_level", "explained", "explanation"),
)
_ROW = ("path", "type", "own", "total", "trainable", "buffers", "bytes", "source")


def data_of(report: DiffReport) -> Json:
    common = check_data.data_of(as_report(report))
    statuses = Counter(model.status for model in report.models)
    shared = ("skipped", "findings", "errors", "warnings", "seconds", "files")
    return {
        "version": 1,
        "tool": common["tool"],
        "environment": common["environment"],
        "error": report.error,
        "base": asdict(report.base),
        "now": report.now,
        "tolerance": report.tolerance,
        "models": [_model(model) for model in report.models],
        "findings": common["findings"],
        "skipped": common["skipped"],
        "notes": list(report.notes),
        "summary": {
            "models": len(report.models),
            **{status: statuses[status] for status in MARKS},
            **{name: common["summary"][name] for name in shared},
        },
    }


def _model(model: ModelDiff) -> Json:
    reason_before, reason_after = model.reasons
    delta, total = model.delta, model.total_before
    before, after = (
        side if isinstance(side, Measured) else None for side in (model.before, model.after)
    )
    return {
        **{name: getattr(model, name) for name in _MODEL},
        "way": check_data.way_data(model.way),
        **asdict(model.position),
        "before": before and before.counts.by_name(),
        "after": after and after.counts.by_name(),
        "drift": delta / total if delta is not None and total else None,
        "call_before": before and before.call,
        "call_after": after and after.call,
        "reason_before": reason_before,
        "reason_after": reason_after,
        "notes": list(model.notes),
        "modules": [_module(change) for change in model.modules],
    }


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
        report.files,
        report.seconds,
        report.error,
    )
