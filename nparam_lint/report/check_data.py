"""A report as data: the JSON document of `check` and `show`; and beside it, in one text, all of the
report of a shard, from which the whole run's can be made."""

from __future__ import annotations

import base64
import json
import math
import zlib
from dataclasses import asdict, fields
from itertools import chain
from pathlib import Path
from typing import Any, get_type_hints

import msgspec

from nparam_lint.count.measured import LineRow, Measured, Measurement, ModuleRow, NotMeasured
from nparam_lint.discover.definitions import Way
from nparam_lint.gate.report import Inside, ModelReport, Report
from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.findings import BudgetResult, Finding
from nparam_lint.ground.values import Position
from nparam_lint.ground.version import __version__
from nparam_lint.report import Json

_FAST = 1  # of zlib's levels: a hundred megabytes in a second
# What only the whole can tell, or can be told from the shard.
_LEFT_OUT = {"top_level", "inside", "skipped", "source_only"}
_LINE = tuple(field.name for field in fields(LineRow) if field.name != "file")


def data_of(report: Report) -> Json:
    """The models are made one by one: all of them at once would take more memory than the report.
    Records whose JSON has just their fields stand in it as they are: `msgspec` writes them."""
    data = {
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
                "way": way_data(one.way),
            }
            for one in report.failed_ways
        ],
        "ways_left": dict(report.ways_left),
        "summary": _summary(report),
    }
    return data | {"shard": _shard(report)} if report.shard else data


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
        "way": way_data(model.way),
        "budgets": [_placed(one) | {"drift": _finite(one.drift)} for one in model.budgets],
    }


def _inside(one: Inside) -> Json:
    """A class as a model builds it; its modules are among that model's."""
    row = one.row
    at = Position.read(row.source) or Position(row.target.partition("::")[0])
    return {
        "target": row.target,
        **asdict(at),
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
        "way": way_data(one.way),
        "inside": one.model.target,
        "paths": list(row.paths),
        "share": one.share,
        "budgets": [],
    }


def way_data(way: Way | None) -> Json | None:
    if way is None:
        return None
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
    data = measured_data(measured) | {
        "modules": _modules(measured.modules),
        "lines": [{name: getattr(row, name) for name in _LINE} for row in measured.lines],
        "rung": measured.rung,
        "type": measured.type,
        "dtypes": measured.dtypes,
    }
    if measured.parameters:
        data["parameters"] = measured.parameters
    return data | common


def measured_data(measured: Measured) -> Json:
    """Without its modules."""
    return {
        "call": measured.call,
        "status": "measured",
        "reason": None,
        "counts": measured.counts.by_name(),
        "no_routing": measured.no_routing,
        "hidden": measured.hidden,
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


def _modules(rows: tuple[ModuleRow, ...]) -> object:
    if not rows[0].more:  # there may be a hundred thousand: dictionaries would take seconds
        return rows
    names = [field.name for field in fields(ModuleRow) if field.name != "more"]
    return [{n: getattr(row, n) for n in names} | dict(row.more or ()) for row in rows]


def _placed(item: BudgetResult | Finding) -> Json:
    found: Json = asdict(item)
    at: Json = found.pop("position")
    for told in ("timed_out", "result", "lines"):  # by the message, the budgets, the source
        found.pop(told, None)
    return found | at


def _finite(value: float | None) -> float | None:
    """JSON has no NaN and no infinity."""
    return value if value is not None and math.isfinite(value) else None


# --- the report of a shard ------------------------------------------------------------------------


def _shard(report: Report) -> Json:
    """What a shard's document has beside that of a whole run."""
    shard = report.shard
    assert shard is not None
    record = _fields(report) | {"models": [_model_fields(model) for model in report.models]}
    try:
        body = msgspec.json.encode(record)
    except UnicodeEncodeError:  # a surrogate, for what could not be decoded
        body = json.dumps(msgspec.to_builtins(record)).encode()
    return {
        "number": shard.number,
        "of": shard.of,
        "partition": msgspec.to_builtins(shard.partition),
        "judged": list(shard.judged),
        "record": base64.b64encode(zlib.compress(body, _FAST)).decode(),
    }


def _fields(record: Report | ModelReport) -> Json:
    names = (field.name for field in fields(record))
    return {name: getattr(record, name) for name in names if name not in _LEFT_OUT}


def _model_fields(model: ModelReport) -> Json:
    """Its measurement stands under one of two names: nothing else tells both kinds apart."""
    found = _fields(model)
    measured = found.pop("measurement")
    both = (measured, None) if isinstance(measured, Measured) else (None, measured)
    return found | dict(zip(("measured", "failure"), both, strict=True))


def read_shard(data: Json) -> Report:
    """The report that `_shard` wrote. Raises ValueError for anything else."""
    kinds, kinds_of_model = get_type_hints(Report), get_type_hints(ModelReport)

    def read(found: Json, kinds: Json) -> Json:
        return {name: msgspec.convert(value, kinds[name]) for name, value in found.items()}

    def read_model(found: Json) -> ModelReport:
        measured, failure = found.pop("measured"), found.pop("failure")
        kind: Any = Measured if measured else NotMeasured
        measurement = msgspec.convert(measured or failure, kind)
        return ModelReport(measurement=measurement, **read(found, kinds_of_model))

    try:
        body = zlib.decompress(base64.b64decode(data["record"], validate=True))
        record: Json = msgspec.convert(json.loads(body), dict[str, Any])
        rows = msgspec.convert(record.pop("models"), list[dict[str, Any]])
        models = tuple(map(read_model, rows))
        report = Report(models=models, **read(record, kinds))
        if report.shard is None:
            raise ValueError("it has no shard")
        for places, found in (
            (report.shard.models, models),
            (report.shard.failed_ways, report.failed_ways),
        ):
            if len(places) != len(found):
                raise ValueError(f"it has {len(found)} models with {len(places)} places")
    except (LookupError, TypeError, ValueError, RecursionError, zlib.error) as error:
        raise ValueError(str(error)) from None
    return report


def read_report(name: str) -> Json:
    """The JSON document of a check in a file. Raises UsageError."""
    try:
        data: Json = json.loads(Path(name).read_bytes())
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"{name} is not JSON, or was cut off: {error}") from None
    is_ours = isinstance(data, dict) and isinstance(data.get("tool"), dict)
    if not is_ours or data["tool"].get("name") != "nparam-lint" or "models" not in data:
        step = "next: write one with nparam-lint --format json --output-file FILE"
        raise UsageError(f"{name} is not the JSON report of a check by nparam-lint\n{step}")
    return data


def seconds_by_target(data: Json) -> dict[str, float]:
    """How long each model of a report took to build; of one that was built in several ways, on
    average."""
    found: dict[str, list[float]] = {}
    for model in data.get("models", ()):
        if (seconds := model.get("seconds")) is not None:
            found.setdefault(model["target"], []).append(float(seconds))
    return {target: sum(own) / len(own) for target, own in found.items()}
