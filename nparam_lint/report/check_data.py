"""A report as data: the JSON document of `check` and `show`, and what `Counts.to_dict` gives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from msgspec import UNSET, UnsetType

from nparam_lint.count.measured import (
    Cause,
    DtypeRow,
    Measured,
    Measurement,
    ModuleRow,
    ParameterRow,
)
from nparam_lint.gate.report import Elsewhere, Report
from nparam_lint.ground.values import Position
from nparam_lint.report.claims_document import ClaimRecord, claim_record
from nparam_lint.report.json_records import (
    BudgetRecord,
    CountedDocument,
    FindingRecord,
    MeasuredRecord,
    NotMeasuredRecord,
    Placed,
    SkippedRecord,
    WayRecord,
    finding_records,
    finite,
    record,
    skipped_records,
    summary_fields,
    way_record,
)
from nparam_lint.report.shard_data import ShardRecord, shard_record
from nparam_lint.report.training import TrainingRecord


@dataclass(kw_only=True)
class DeviceRecord:
    status: Literal["measured", "failed", "skipped"]
    total: int | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    bytes: int | UnsetType = UNSET
    differences: Sequence[str] | UnsetType = UNSET


@dataclass(kw_only=True)
class LineRecord:
    path: str
    line: int
    count: int
    own: int
    through: int
    times: int


@dataclass(kw_only=True)
class BuiltRecord:
    """What is said of a build, whatever came of it."""

    cached: bool
    seconds: float | None
    devices: Mapping[str, DeviceRecord]
    notes: Sequence[str]


@dataclass(kw_only=True)
class MeasuredBuild(BuiltRecord, MeasuredRecord):
    modules: Sequence[ModuleRow]
    lines: Sequence[LineRecord]
    rung: str
    type: str
    dtypes: Sequence[DtypeRow]
    parameters: Sequence[ParameterRow] | UnsetType = UNSET


@dataclass(kw_only=True)
class FailedBuild(BuiltRecord, NotMeasuredRecord):
    modules: Sequence[ModuleRow] = ()
    cause: Cause
    source: str | None
    output: str


@dataclass(kw_only=True)
class CheckedModel(Placed):
    target: str
    declared: bool
    top_level: bool
    because: str | None
    way: WayRecord | None
    budgets: Sequence[BudgetRecord]


@dataclass(kw_only=True)
class MeasuredModel(CheckedModel, MeasuredBuild): ...


@dataclass(kw_only=True)
class FailedModel(CheckedModel, FailedBuild): ...


@dataclass(kw_only=True)
class InsideModel(CheckedModel):
    """A class as a model builds it; its modules are among that model's."""

    declared: bool = False
    top_level: bool = False
    because: str | None = None
    budgets: Sequence[BudgetRecord] = ()
    call: str
    status: Literal["measured"] = "measured"
    reason: None = None
    counts: Mapping[str, int | None]
    cached: bool
    devices: Mapping[str, DeviceRecord]
    modules: Sequence[ModuleRow] = ()
    inside: str
    paths: Sequence[str]
    share: float


@dataclass(kw_only=True)
class FailedWayRecord:
    target: str
    reason: str
    cause: Cause
    source: str | None
    way: WayRecord | None


@dataclass(kw_only=True)
class CheckSummary:
    models: int
    measured: int
    not_measured: int
    cached: int
    findings: int
    errors: int
    warnings: int
    skipped: int
    files: int
    test_files: int
    elsewhere: Elsewhere | None
    seconds: float


@dataclass(kw_only=True)
class CheckDocument(CountedDocument):
    """`models`: made one by one, as all of them at once would take more memory than the report.
    `shard`: of a part of a run, what `merge` reads; `training`: of `show --training`."""

    models: Iterable[MeasuredModel | FailedModel | InsideModel]
    findings: Sequence[FindingRecord]
    skipped: Sequence[SkippedRecord]
    failed_ways: Sequence[FailedWayRecord]
    ways_left: Mapping[str, int]
    claims: Sequence[ClaimRecord] = ()
    summary: CheckSummary
    shard: ShardRecord | UnsetType = UNSET
    training: TrainingRecord | UnsetType = UNSET


def check_data(report: Report) -> CheckDocument:
    failed_ways = [
        record(FailedWayRecord, failed.failure, target=failed.target, way=way_record(failed.way))
        for failed in report.failed_ways
    ]
    measured = sum(isinstance(model.measurement, Measured) for model in report.models)
    summary = record(
        CheckSummary,
        report,
        models=len(report.models),
        measured=measured,
        not_measured=len(report.models) - measured,
        cached=sum(model.measurement.cached for model in report.models),
        **summary_fields(report),
    )
    return record(
        CheckDocument,
        report,
        models=_models(report),
        findings=finding_records(report.findings),
        skipped=skipped_records(report),
        failed_ways=failed_ways,
        ways_left=dict(report.ways_left),
        claims=[claim_record(outcome) for outcome in report.stated],
        summary=summary,
        shard=shard_record(report) if report.shard else UNSET,
    )


def _models(report: Report) -> Iterator[MeasuredModel | FailedModel | InsideModel]:
    for model in report.models:
        is_measured = isinstance(model.measurement, Measured)
        kind: type[MeasuredModel | FailedModel] = MeasuredModel if is_measured else FailedModel
        yield record(
            kind,
            model,
            model.position,
            model.measurement,
            because=model.because or None,
            way=way_record(model.way),
            budgets=[
                record(BudgetRecord, budget, budget.position, drift=finite(budget.drift))
                for budget in model.budgets
            ],
            **_build_values(model.measurement),
        )
    for inside in report.inside:
        row = inside.row
        yield record(
            InsideModel,
            row,
            Position.read(row.source) or Position(row.target.partition("::")[0]),
            inside,
            cached=inside.model.measurement.cached,
            devices={},
            way=way_record(inside.way),
            inside=inside.model.target,
        )


def build_data(measured: Measured) -> MeasuredBuild:
    """A measurement alone, without the model that it is of."""
    return record(MeasuredBuild, measured, **_build_values(measured))


def _build_values(measured: Measurement) -> dict[str, Any]:
    """What a record does not have as the measurement has it."""
    devices = {}
    for name, device in measured.devices.items():  # `reason` says of an absent one that it is
        named = {n: getattr(device, n) for n in ("total", "reason", "bytes")}
        answers = {n: value for n, value in named.items() if value is not None}
        differences = device.differences or UNSET
        devices[name] = DeviceRecord(status=device.status, **answers, differences=differences)
    values: dict[str, Any] = {"devices": devices}
    if not isinstance(measured, Measured):
        return values
    rows: Any = measured.modules
    if rows[0].more:  # else as they are: of a hundred thousand, dictionaries would take seconds
        names = [name for name in ModuleRow.__struct_fields__ if name != "more"]
        rows = [{n: getattr(row, n) for n in names} | dict(row.more or ()) for row in rows]
    lines = [record(LineRecord, row) for row in measured.lines]
    counts, parameters = measured.counts.by_name(), measured.parameters or UNSET
    return values | {"modules": rows, "lines": lines, "counts": counts, "parameters": parameters}
