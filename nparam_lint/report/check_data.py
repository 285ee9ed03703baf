"""A report as data: the JSON document of `check` and `show`."""

from __future__ import annotations

import math
from dataclasses import asdict, fields
from itertools import chain
from typing import TYPE_CHECKING

from nparam_lint import __version__
from nparam_lint.records import LineRow, Measured, ModuleRow, Position

if TYPE_CHECKING:
    from nparam_lint.records import (
        BudgetResult,
        Finding,
        Inside,
        Measurement,
        ModelReport,
        NotMeasured,
        Report,
        Way,
    )
    from nparam_lint.report import Json

_ROW = tuple(field.name for field in fields(ModuleRow) if field.name != "more")
_LINE = tuple(field.name for field in fields(LineRow) if field.name != "file")


def data_of(report: Report) -> Json:
    data = _data_of(report)
    if report.shard:
        from nparam_lint.report.shard_data import shard_data  # only on several machines

        data["shard"] = shard_data(report)
    return data


def _data_of(report: Report) -> Json:
    """The models are made one by one: all their modules as dictionaries would take more memory than
    the report."""
    return {
        "version": 1,
        "tool": {"name": "nparam-lint", "version": __version__},
        "environment": None if report.environment is None else asdict(report.environment),
        "error": report.error,
        "models": chain(map(_model, report.models), map(_inside, report.inside)),
        "findings": [_placed(finding) for finding in report.findings],
        "skipped": [
            {
                "target": target,
                "reason": failure.reason,
                "cause": failure.cause,
                "top_level": target not in report.containment.users,
            }
            for target, failure in report.skipped
        ],
        "failed_ways": [
            {
                "target": one.target,
                "reason": one.failure.reason,
                "cause": one.failure.cause,
                "source": one.failure.source,
                "way": _way(one.way),
            }
            for one in report.failed_ways
        ],
        "ways_left": dict(report.ways_left),
        "summary": _summary(report),
    }


def _summary(report: Report) -> Json:
    measured = sum(isinstance(model.measurement, Measured) for model in report.models)
    errors = sum(finding.severity == "error" for finding in report.findings)
    return {
        "models": len(report.models),
        "measured": measured,
        "not_measured": len(report.models) - measured,
        "cached": sum(model.measurement.cached for model in report.models),
        "findings": len(report.findings),
        "errors": errors,
        "warnings": len(report.findings) - errors,
        "skipped": len(report.skipped),
        "files": report.files,
        "test_files": report.test_files,
        "elsewhere": None if report.elsewhere is None else asdict(report.elsewhere),
        "seconds": _finite(report.seconds) or 0.0,
    }


def _model(model: ModelReport) -> Json:
    return {
        "target": model.target,
        **asdict(model.position),
        **measurement_data(model.measurement),
        "declared": model.declared,
        "top_level": model.top_level,
        "because": model.because or None,
        "way": None if model.way is None else _way(model.way),
        "budgets": [_placed(one) | {"drift": _finite(one.drift)} for one in model.budgets],
    }


def _inside(one: Inside) -> Json:
    """A class as a model builds it; its modules are among that model's."""
    row = one.row
    path, _, line = (row.source or row.target.partition("::")[0] + ":1").rpartition(":")
    return {
        "target": row.target,
        **asdict(Position(path, int(line))),
        "call": row.call,
        "status": "measured",
        "reason": None,
        "counts": one.counts,
        "cached": one.model.measurement.cached,
        "devices": {},
        "modules": [],
        "declared": False,
        "top_level": False,
        "because": None,
        "way": _way(one.way),
        "inside": one.model.target,
        "paths": list(row.paths),
        "share": one.share,
        "budgets": [],
    }


def _way(way: Way) -> Json:
    told = {"kind": way.kind, **asdict(way.position), "name": way.name or None}
    return {**told, "note": way.note} if way.note else told


def measurement_data(measured: Measurement) -> Json:
    devices = {
        name: {key: value for key, value in asdict(device).items() if value not in (None, ())}
        for name, device in measured.devices.items()
    }
    for device in devices.values():
        del device["is_absent"]  # `reason` says it
    common = {
        "cached": measured.cached,
        "seconds": measured.seconds,
        "devices": devices,
        "notes": list(measured.notes),
    }
    if measured.why_built:
        common["why_built"] = measured.why_built
    if not isinstance(measured, Measured):
        more: Json = {"modules": [], "cause": measured.cause, "source": measured.source}
        return not_measured_data(measured) | more | common
    found = measured_data(measured) | {
        "modules": [_module(row) for row in measured.modules],
        "lines": [_line(row) for row in measured.lines],
        "rung": measured.rung,
        "type": measured.type,
        "dtypes": [asdict(row) for row in measured.dtypes],
    }
    if measured.parameters:
        found["parameters"] = [asdict(parameter) for parameter in measured.parameters]
    return found | common


def measured_data(measured: Measured) -> Json:
    """Without its modules."""
    return {
        "call": measured.call,
        "status": "measured",
        "reason": None,
        "counts": measured.counts.by_name(),
        "no_routing": measured.no_routing,
        "hidden": [asdict(hidden) for hidden in measured.hidden],
    }


def not_measured_data(measured: NotMeasured) -> Json:
    return {
        "call": None,
        "status": "not_measured",
        "reason": measured.reason,
        "counts": None,
        "code": measured.code,
        "hint": measured.hint,
        "missing": list(measured.missing),
    }


def _module(row: ModuleRow) -> Json:
    # There may be a hundred thousand of them: `asdict` would take seconds.
    return {name: getattr(row, name) for name in _ROW} | {"frozen": row.frozen, **dict(row.more)}


def _line(row: LineRow) -> Json:
    return {name: getattr(row, name) for name in _LINE}


def _placed(item: BudgetResult | Finding) -> Json:
    found: Json = asdict(item)
    at: Json = found.pop("position")
    for told in ("timed_out", "result", "lines"):  # by the message, the budgets, the source
        found.pop(told, None)
    return found | at


def _finite(value: float | None) -> float | None:
    """JSON has no NaN and no infinity."""
    return value if value is not None and math.isfinite(value) else None
