"""The report of a shard as data, from which the whole run's can be made: all of it, in one text
beside what `check_data` tells for everybody."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nparam_lint import UsageError
from nparam_lint.records import (
    BudgetResult,
    Containment,
    Elsewhere,
    Environment,
    FailedWay,
    Finding,
    Measured,
    ModelReport,
    NotMeasured,
    Position,
    Report,
    Shard,
    Way,
)

if TYPE_CHECKING:
    from nparam_lint.report import Json

_FAST = 1  # of zlib's levels: a hundred megabytes in a second


@dataclass(frozen=True, slots=True)
class _Model:
    """A `ModelReport`, with its measurement in one of two fields: a union of both has no tag in
    JSON. Which models stand for themselves only the whole can tell."""

    target: str
    position: Position
    measured: Measured | None
    failure: NotMeasured | None
    budgets: tuple[BudgetResult, ...]
    findings: tuple[Finding, ...]
    declared: bool
    because: str
    way: Way | None
    host: Measured | None

    @classmethod
    def of(cls, model: ModelReport) -> _Model:
        found = model.measurement
        both = (found, None) if isinstance(found, Measured) else (None, found)
        rest = (getattr(model, field.name) for field in fields(cls)[4:])
        return cls(model.target, model.position, *both, *rest)

    @property
    def report(self) -> ModelReport:
        found = self.measured or self.failure
        if found is None:
            raise ValueError(f"{self.target} has no measurement")
        rest = {field.name: getattr(self, field.name) for field in fields(self)[4:]}
        return ModelReport(self.target, self.position, found, **rest)


@dataclass(frozen=True, slots=True)
class _Record:
    """A `Report` of a shard; what it skips can be told from the shard."""

    shard: Shard
    environment: Environment | None
    models: tuple[_Model, ...]
    findings: tuple[Finding, ...]
    files: int
    seconds: float
    error: str | None
    staged: bool
    elsewhere: Elsewhere | None
    failed_ways: tuple[FailedWay, ...]
    ways_left: tuple[tuple[str, int], ...]
    containment: Containment
    recipes: dict[str, tuple[str, ...]]
    test_files: int
    declared_only: bool


_ALIKE = [field.name for field in fields(_Record) if field.name != "models"]


def shard_data(report: Report) -> Json:
    """What a shard's document has beside that of a whole run."""
    import msgspec

    shard = report.shard
    assert shard is not None
    rest: dict[str, Any] = {name: getattr(report, name) for name in _ALIKE}
    record = _Record(models=tuple(map(_Model.of, report.models)), **rest)
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


def read_shard(data: Json) -> Report:
    """The report that `shard_data` wrote. Raises ValueError for anything else."""
    import msgspec

    try:
        body = zlib.decompress(base64.b64decode(data["record"], validate=True))
        record = msgspec.convert(json.loads(body), _Record)
        models = tuple(model.report for model in record.models)
        for places, found in (
            (record.shard.models, models),
            (record.shard.failed_ways, record.failed_ways),
        ):
            if len(places) != len(found):
                raise ValueError(f"it has {len(found)} models with {len(places)} places")
    except (LookupError, TypeError, ValueError, RecursionError, zlib.error) as error:
        raise ValueError(str(error)) from None
    rest: dict[str, Any] = {name: getattr(record, name) for name in _ALIKE}
    return Report(models=models, **rest)


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
