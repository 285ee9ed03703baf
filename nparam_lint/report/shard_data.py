"""The report of a shard as data, from which the whole run's can be made: all of it, in one text
beside what `check_data` tells for everybody."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from nparam_lint import UsageError
from nparam_lint.records import Measured, ModelReport, NotMeasured, Report

if TYPE_CHECKING:
    from nparam_lint.report import Json

_FAST = 1  # of zlib's levels: a hundred megabytes in a second
# What only the whole can tell, or can be told from the shard.
_LEFT_OUT = {"top_level", "inside", "skipped", "source_only"}


def shard_data(report: Report) -> Json:
    """What a shard's document has beside that of a whole run."""
    import msgspec

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
    """The report that `shard_data` wrote. Raises ValueError for anything else."""
    import msgspec

    kinds, kinds_of_model = get_type_hints(Report), get_type_hints(ModelReport)

    def read(found: Json, kinds: Json) -> Json:
        return {name: msgspec.convert(value, kinds[name]) for name, value in found.items()}

    def read_model(found: Json) -> ModelReport:
        measured, failure = found.pop("measured"), found.pop("failure")
        kind = Measured if measured else NotMeasured
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
