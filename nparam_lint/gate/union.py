"""The union of all shards of a run: what the run would have reported as a whole."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import chain
from typing import TYPE_CHECKING

from nparam_lint.count.measured import Measured
from nparam_lint.gate.judgements import Outcomes, in_order, said_once
from nparam_lint.gate.report import Partition, Report
from nparam_lint.ground.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nparam_lint.count.measured import Environment
    from nparam_lint.gate.report import ModelReport, Shard
    from nparam_lint.ground.findings import Finding

_AGAIN = "next: run all shards of one run again, on the same commit, with the same options"
# What differs, and between which values where these say something.
_DIFFER = {
    "tool": "were made by nparam-lint {} and {}",
    "commit": "are of the commits {} and {}",
    "sources": "are of different source files",
    "settings": "were made with different options or settings",
    "models": "divide the models in different ways; --costs has to name the same report everywhere",
    "count": "are of runs with {} and {} models",
}


def united(files: Mapping[str, Report]) -> tuple[Report, list[str]]:
    """The report of the whole run, and what is to be said about the files, each of which has the
    report of a shard. Raises UsageError if they are not all shards of one run."""
    first, *others = files
    for name in others:
        _compare((first, files[first]), (name, files[name]))
    reports: dict[int, tuple[str, Report]] = {}
    notes = []
    for name, report in files.items():
        number = _shard(report).number
        if number in reports:
            _refuse_disagreement(reports[number], (name, report))
            notes.append(f"{name} says the same as {reports[number][0]} ({report.shard})")
        reports.setdefault(number, (name, report))
    of = _shard(files[first]).of
    if missing := [str(number) for number in range(1, of + 1) if number not in reports]:
        what = "shard" if len(missing) == 1 else "shards"
        raise UsageError(
            f"{what} {', '.join(missing)} of {of} is not among the {len(reports)} reports\n"
            f"next: nparam-lint --shard {missing[0]}/{of} --format json --output-file FILE"
        )
    whole = [report for _, (_, report) in sorted(reports.items())]
    places = sorted(place for report in whole for place in _shard(report).places)
    if places != list(range(_shard(whole[0]).partition.count)):
        raise UsageError(f"the reports do not have every model of the run once\n{_AGAIN}")
    return _union(whole), notes


def _shard(report: Report) -> Shard:
    assert report.shard is not None
    return report.shard


# --- whether they are of one run --------------------------------------------------------------


def _compare(one: tuple[str, Report], other: tuple[str, Report]) -> None:
    names, (first, second) = (one[0], other[0]), (_shard(one[1]), _shard(other[1]))
    both = f"{names[0]} and {names[1]}"
    if first.of != second.of:
        raise UsageError(f"{both} are parts of different runs: {first}, and {second}\n{_AGAIN}")
    for field in fields(Partition):
        values = [getattr(shard.partition, field.name) for shard in (first, second)]
        if values[0] != values[1]:
            said = _DIFFER[field.name].format(*(value or "no repository" for value in values))
            raise UsageError(f"{both} {said}\n{_AGAIN}")
    torches = [where.torch for _, report in (one, other) if (where := report.environment)]
    if len({*filter(None, torches)}) > 1:
        versions = " and ".join(map(str, torches))
        raise UsageError(f"{both} were built with torch {versions}, which may count differently")


def _refuse_disagreement(one: tuple[str, Report], other: tuple[str, Report]) -> None:
    """Raises UsageError if two reports of one shard say different things."""
    first, second = (list(map(_without_time, report.models)) for _, report in (one, other))
    start = f"{one[0]} and {other[0]} are both {one[1].shard}, and disagree"
    for here, there in zip(first, second, strict=False):
        if here != there:
            raise UsageError(f"{start} about {here.target}: {_said(here)}, and {_said(there)}")
    same = ("findings", "skipped", "failed_ways", "error")
    if len(first) != len(second) or any(
        getattr(one[1], name) != getattr(other[1], name) for name in same
    ):
        raise UsageError(f"{start}\nnext: merge only one of them")


def _without_time(model: ModelReport) -> ModelReport:
    return replace(model, measurement=replace(model.measurement, cached=False))


def _said(model: ModelReport) -> str:
    found = model.measurement
    if not isinstance(found, Measured):
        return f"not measured ({found.reason})"
    broken = [f"{finding.code} {finding.message}" for finding in model.findings]
    return "; ".join([f"{found.counts.total:,} parameters", *broken])


# --- the whole --------------------------------------------------------------------------------


def _union(reports: Sequence[Report]) -> Report:
    shards = [_shard(report) for report in reports]
    first = reports[0]
    outcomes = Outcomes()
    for report, shard in zip(reports, shards, strict=True):
        outcomes.models.extend(zip(shard.models, report.models, strict=True))
        outcomes.failed_ways.extend(zip(shard.failed_ways, report.failed_ways, strict=True))
        outcomes.failures.extend(shard.failures)
    models, skipped = outcomes.together(shards[0].uncalled, first.containment)
    findings = said_once(in_order(chain(*(r.findings for r in reports), _unused(shards))), models)
    kept = set(findings)
    recipes = {target: lines for report in reports for target, lines in report.recipes.items()}
    named = [target for target, _ in skipped]
    errors = (f"{r.shard}: {r.error}" for r in reports if r.error is not None)
    return replace(
        first,
        environment=_environment([r.environment for r in reports if r.environment]),
        models=tuple(
            replace(model, findings=tuple(f for f in model.findings if f in kept))
            for model in models
        ),
        findings=tuple(findings),
        skipped=tuple(skipped),
        seconds=sum(report.seconds for report in reports),
        error=next(errors, None),
        failed_ways=tuple(way for _, way in sorted(outcomes.failed_ways, key=lambda one: one[0])),
        recipes={target: recipes[target] for target in named if target in recipes},
        shard=None,
    )


def _unused(shards: Sequence[Shard]) -> Iterator[Finding]:
    """The comments that silence nothing in any shard."""
    others = [set(shard.unused) for shard in shards[1:]]
    return (one for one in shards[0].unused if all(one in unused for unused in others))


def _environment(found: Sequence[Environment]) -> Environment | None:
    """Where the models were built: the first of the interpreters, the devices of all, and the
    guards that were on everywhere."""
    if not found:
        return None
    devices = dict.fromkeys(name for one in found for name in one.devices)
    guards = (name for name in found[0].guards if all(name in one.guards for one in found))
    return replace(found[0], devices=tuple(devices), guards=tuple(guards))
