"""The report of a shard, all of it in one text beside its JSON document; and how it is read
again."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_type_hints

import msgspec

from nparam_lint.count.measured import Measured, NotMeasured
from nparam_lint.gate.report import ModelReport, Partition, Report
from nparam_lint.report import Json
from nparam_lint.report.json_records import record
from nparam_lint.report.style import plural

_FAST = 1  # of zlib's levels: a hundred megabytes in a second
# What only the whole can tell, or can be told from the shard.
_LEFT_OUT = {"top_level", "inside", "skipped", "source_only", "stated", "gaps"}


@dataclass(kw_only=True)
class ShardRecord:
    """`record`: all of the report, so that the report of the whole run can be made."""

    number: int
    of: int
    partition: Partition
    judged: Sequence[str]
    record: str


def shard_record(report: Report) -> ShardRecord:
    shard = report.shard
    assert shard is not None
    values = _fields(report) | {"models": [*map(_fields, report.models)]}
    try:
        body = msgspec.json.encode(values)
    except UnicodeEncodeError:  # a surrogate, for what could not be decoded
        body = json.dumps(msgspec.to_builtins(values)).encode()
    packed = base64.b64encode(zlib.compress(body, _FAST)).decode()
    return record(ShardRecord, shard, record=packed)


def _fields(source: Report | ModelReport) -> Json:
    names = (name for name in source.__struct_fields__ if name not in _LEFT_OUT)
    return {name: getattr(source, name) for name in names}


def read_shard(data: Json) -> Report:
    """The report that `shard_record` wrote. Raises ValueError for anything else."""
    kinds, kinds_of_model = get_type_hints(Report), get_type_hints(ModelReport)

    def read(values: Json, kinds: Json) -> Json:
        return {name: msgspec.convert(value, kinds[name]) for name, value in values.items()}

    def read_model(values: Json) -> ModelReport:
        measured = values.pop("measurement")
        kind: Any = Measured if "modules" in measured else NotMeasured
        measurement = msgspec.convert(measured, kind)
        return ModelReport(measurement=measurement, **read(values, kinds_of_model))

    try:
        body = zlib.decompress(base64.b64decode(data["record"], validate=True))
        values: Json = msgspec.convert(json.loads(body), dict[str, Any])
        rows = msgspec.convert(values.pop("models"), list[dict[str, Any]])
        models = tuple(map(read_model, rows))
        report = Report(models=models, **read(values, kinds))
        if report.shard is None:
            raise ValueError("it has no shard")
        for places, items in (
            (report.shard.models, models),
            (report.shard.failed_ways, report.failed_ways),
        ):
            if len(places) != len(items):
                found = f"{plural(len(items), 'model')} with {plural(len(places), 'place')}"
                raise ValueError(f"it has {found}")
    except (LookupError, TypeError, ValueError, RecursionError, zlib.error) as error:
        raise ValueError(str(error)) from None
    return report
