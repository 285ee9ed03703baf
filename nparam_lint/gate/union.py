"""The union of all shards of a run: what the run would have reported as a whole."""

from __future__ import annotations

from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.count.measured import Measured
from nparam_lint.gate.judgements import Outcomes, in_order, said_once
from nparam_lint.gate.report import Report
from nparam_lint.ground.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nparam_lint.gate.report import ModelReport, Shard

_AGAIN = "next: run all shards of one run again, on the same commit, with the same options"
# What differs, and between which values where these say something.
_DIFFER = {
    "tool": "were made by nparam-lint {} and {}",
    "commit": "are of the commits {} and {}",
    "sources": "are of different source files",
    "settings": "were made with different options or settings",
    "models": "divide the models in different ways",
    "count": "are of runs with {} and {} models",
}


def united(files: Mapping[str, Report]) -> tuple[Report, list[str]]:
    """The report of the whole run, and what is to be said about the files, each of which has the
    report of a shard. Raises UsageError if they are not all shards of one run."""
    first, *others = files
    for name in others:
        _refuse_other_run((first, files[first]), (name, files[name]))
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


def _refuse_other_run(file: tuple[str, Report], other_file: tuple[str, Report]) -> None:
    """Raises UsageError if two reports are not of shards of one run."""
    both = f"{file[0]} and {other_file[0]}"
    first, second = _shard(file[1]), _shard(other_file[1])
    if first.of != second.of:
        raise UsageError(f"{both} are parts of different runs: {first}, and {second}\n{_AGAIN}")
    for name, words in _DIFFER.items():
        values = [getattr(shard.partition, name) for shard in (first, second)]
        if values[0] != values[1]:
            difference = words.format(*(value or "no repository" for value in values))
            raise UsageError(f"{both} {difference}\n{_AGAIN}")
    torches = [where.torch for _, report in (file, other_file) if (where := report.environment)]
    if len({*filter(None, torches)}) > 1:
        versions = " and ".join(map(str, torches))
        raise UsageError(f"{both} were built with torch {versions}, which may count differently")


def _refuse_disagreement(file: tuple[str, Report], other_file: tuple[str, Report]) -> None:
    """Raises UsageError if two reports of one shard say different things."""
    first, second = (
        [
            replace(model, measurement=replace(model.measurement, cached=False))
            for model in report.models
        ]
        for _, report in (file, other_file)
    )
    start = f"{file[0]} and {other_file[0]} are both {file[1].shard}, and disagree"
    for here, there in zip(first, second, strict=False):
        if here != there:
            outcomes = f"{_outcome(here)}, and {_outcome(there)}"
            raise UsageError(f"{start} about {here.target}: {outcomes}")
    if len(first) != len(second) or any(
        getattr(file[1], name) != getattr(other_file[1], name)
        for name in ("findings", "skipped", "failed_ways", "error")
    ):
        raise UsageError(f"{start}\nnext: merge only one of them")


def _outcome(model: ModelReport) -> str:
    answer = model.measurement
    if not isinstance(answer, Measured):
        return f"not measured ({answer.reason})"
    broken = [f"{finding.code} {finding.message}" for finding in model.findings]
    return "; ".join([f"{answer.counts.total:,} parameters", *broken])


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
    # The comments that silence nothing in any shard.
    unused = [f for f in shards[0].unused if all(f in shard.unused for shard in shards)]
    every = chain(*(report.findings for report in reports), unused)
    findings = said_once(in_order(every), models)
    reported = set(findings)
    recipes = {target: lines for report in reports for target, lines in report.recipes.items()}
    errors = (f"{r.shard}: {r.error}" for r in reports if r.error is not None)
    environments = [report.environment for report in reports if report.environment]
    environment = environments[0] if environments else None
    if environment:  # the first interpreter, the devices of all, and the guards that all had
        devices = dict.fromkeys(name for where in environments for name in where.devices)
        guards = [g for g in environment.guards if all(g in where.guards for where in environments)]
        environment = replace(environment, devices=tuple(devices), guards=tuple(guards))
    return replace(
        first,
        environment=environment,
        models=tuple(
            replace(model, findings=tuple(f for f in model.findings if f in reported))
            for model in models
        ),
        findings=tuple(findings),
        skipped=tuple(skipped),
        seconds=sum(report.seconds for report in reports),
        error=next(errors, None),
        failed_ways=tuple(way for _, way in sorted(outcomes.failed_ways, key=itemgetter(0))),
        recipes={target: recipes[target] for target, _ in skipped if target in recipes},
        shard=None,
    )
