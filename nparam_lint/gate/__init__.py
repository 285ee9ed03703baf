"""The check, in the order in which data flows: discover → declare → count → judge → report.

`measure` implements this pipeline; `check` and `show` prepare its input. `requests` says what to
build, `judgements` compares the counts with the budgets and makes the report, and `formula_check`
tries formulas at other sizes.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from nparam_lint.count.measured import Measured
from nparam_lint.count.worker_process import end_waiting, reused_worker
from nparam_lint.discover import place_of
from nparam_lint.discover.syntax import rare_collection
from nparam_lint.gate.building import count_models, early_start, paths_read
from nparam_lint.gate.context import RunContext
from nparam_lint.gate.judgements import assemble_report, complete_codes, is_staged, judge_models
from nparam_lint.gate.reading import read_source, read_targets, scan_of, static_findings
from nparam_lint.gate.report import Report
from nparam_lint.gate.requests import ModelRequest, ProjectSource, Selection, select_models
from nparam_lint.ground.errors import Aside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from nparam_lint.claims import Target
    from nparam_lint.config.settings import Settings
    from nparam_lint.discover import Discovery
    from nparam_lint.gate.context import Causes, FormulaAnalysis, Progress
    from nparam_lint.gate.report import ModelReport
    from nparam_lint.gate.shards import Division
    from nparam_lint.ground.findings import Finding


@rare_collection()  # of large projects as much is kept as is read
def check(
    settings: Settings,
    paths: Sequence[Path],
    environ: Mapping[str, str],
    *,
    left_out: Sequence[Path] = (),
    declared_only: bool = False,
    static_only: bool = False,
    dependents: bool = True,
    progress: Progress | None = None,
    analysis: Callable[[], FormulaAnalysis] | None = None,
    causes: Causes | None = None,
    division: Division | None = None,
) -> Report:
    """Check every model under `paths` (the whole project when empty). `left_out`: directories whose
    entries in the config are skipped. `declared_only`: models without a declared budget are
    skipped, too. `static_only`: build nothing. `analysis`, `causes`: see RunContext. `division`:
    which part of the models is judged.

    With `dependents` the declared models elsewhere in the project that depend on `paths` are
    checked as well; a path may be data that they read, or deleted. Raises NoInterpreter, and
    UsageError for a path outside the project.
    """
    start = time.monotonic()
    context, elsewhere = RunContext(settings, environ, progress, None, analysis, causes), None
    try:
        begin = None if static_only else early_start(context)
        source = read_source(
            settings,
            paths,
            scan_of(declared_only),
            left_out=left_out,
            declared_only=declared_only,
            dependents=dependents,
            on_found=begin,
        )
        if source.places and dependents:
            from nparam_lint.gate.dependents import with_dependents

            # A run that builds nothing does not look for an interpreter; and what one machine
            # remembers, the others do not know.
            is_known = not static_only and division is None
            read = partial(paths_read, source=source, context=context) if is_known else None
            source, elsewhere = with_dependents(source, read)
        selection = Selection() if static_only else select_models(source.requests, declared_only)
        if not (static_only or declared_only):
            selection = as_the_project_builds(source, selection)
        whole, own = selection, source
        if division:
            from nparam_lint.gate.shards import take_shard  # only on several machines

            asked = f"{declared_only} {is_staged(settings)}"
            own, selection = take_shard(source, selection, division, asked)
        report = measure(
            own,
            selection,
            context,
            resize=True,
            complete=complete_codes(declared_only, static_only),
            lint=lambda: (
                static_findings(source, definitions_only=declared_only and not static_only)
                if division is None or division.number == 1
                else []
            ),
        )
    finally:
        end_waiting()
    report = replace(
        report,
        source_only=static_only,
        declared_only=declared_only,
        elsewhere=elsewhere,
        seconds=time.monotonic() - start,
    )
    if static_only or declared_only:
        return report
    from nparam_lint.gate.fill_in import arguments_to_fill_in

    ways = (request.recipe for request in whole.requests if request.way)
    calls = (way.call or f"model({way.arguments or ''})" for way in ways)
    with Aside("how to build what needs arguments"):
        report = replace(report, recipes=arguments_to_fill_in(report.skipped, source, calls))
    return replace(report, test_files=len(source.found.left_out))


def as_the_project_builds(source: ProjectSource, selection: Selection) -> Selection:
    """With the ways to build models that the project has, and which of them contain which. A hook
    has no use for these, and does not load what finds them."""
    from nparam_lint.discover.containment import find_containment
    from nparam_lint.gate.ways import with_ways

    containment = selection.containment
    with Aside("which models are parts of others"):
        containment = find_containment(source.found)
    return replace(with_ways(source, selection), containment=containment)


def show(
    settings: Settings,
    targets: Sequence[Target],
    environ: Mapping[str, str],
    progress: Progress | None = None,
) -> Report:
    """The models that `targets` of one project name, with every parameter, and their budgets where
    they have any; a target without arguments also in each way in which the project builds it, which
    stands for it where its defaults do not build it. Raises NoInterpreter."""
    start = time.monotonic()
    context = RunContext(settings, environ, progress)
    with reused_worker():
        source = read_targets(settings, targets)
        selection = Selection(source.requests, skip_failures=False)
        if wanted := [request for request in source.requests if request.is_open]:
            from nparam_lint.gate.ways import with_ways_of

            whole = read_source(settings, ())
            selection = with_ways_of(replace(whole, requests=wanted), selection)
            source = replace(source, found=whole.found)
        report = measure(source, selection, context)
        built = {m.target for m in report.models if m.way is not None}
        models = tuple(
            _inside_another(model, context)
            for model in report.models
            if isinstance(model.measurement, Measured) or model.target not in built
        )
    return replace(report, models=models, seconds=time.monotonic() - start)


def built_in_a_way(
    request: ModelRequest, context: RunContext
) -> tuple[ModelRequest, Discovery] | None:
    """What cannot be built as it is named, in the first way of the project that builds it, and the
    source that this was found in."""
    from nparam_lint.gate.ways import with_ways_of

    whole = read_source(context.settings, ())
    ways = with_ways_of(replace(whole, requests=[request]), Selection()).requests
    answers = count_models(ways, whole.found, context).measurements
    built = (way for number, way in enumerate(ways) if isinstance(answers[number], Measured))
    return next(((way, whole.found) for way in built), None)


def _inside_another(model: ModelReport, context: RunContext) -> ModelReport:
    """A class that nobody can call alone as a model of the project builds it, if one does."""
    failure = model.measurement
    if isinstance(failure, Measured) or failure.cause != "arguments_missing" or model.budgets:
        return model
    from nparam_lint.gate.inside import first_instance

    whole = _models_that_reach(model.position.path, context)
    found = whole.inside_by_target.get(model.target, [])
    if not found:
        return model
    one = max(found, key=lambda way: way.times)
    host = one.model.measurement
    assert isinstance(host, Measured)
    alone = first_instance(one.row, host)
    return replace(model, measurement=alone, host=host, way=one.way, inside=tuple(found))


def _models_that_reach(path: str, context: RunContext) -> Report:
    """The models of the project whose imports lead to a file, each in the ways that it is built."""
    from nparam_lint.gate.dependents import that_reach
    from nparam_lint.gate.ways import with_ways

    source = read_source(context.settings, ())
    source = replace(source, requests=that_reach(path, source))
    return measure(source, with_ways(source, select_models(source.requests)), context)


def models_of_file(
    settings: Settings, path: Path, environ: Mapping[str, str], progress: Progress | None = None
) -> Report:
    """The models that a file defines; where its lines make nothing of these, since none can be
    built alone, those of the project that lead to it. Raises NoInterpreter."""
    context = RunContext(settings, environ, progress)
    with reused_worker():
        own = check(settings, [path], environ, dependents=False, progress=progress)
        return with_lines_of(place_of(path, settings.root), own, context)


def with_lines_of(place: str, report: Report, context: RunContext) -> Report:
    """The report on the models of a file; where its lines make nothing of these, that on the models
    of the project that lead to it."""
    if report.error or _has_lines_of(place, report):
        return report
    context.settings.store.catch_up()  # the same are asked for again
    others = _models_that_reach(place, context)
    return others if _has_lines_of(place, others) else report


def _has_lines_of(place: str, report: Report) -> bool:
    measured = (model.measurement for model in report.models)
    found = (row for one in measured if isinstance(one, Measured) for row in one.lines)
    return any(row.path == place for row in found)


def measure(
    source: ProjectSource,
    selection: Selection,
    context: RunContext,
    *,
    resize: bool = False,
    complete: frozenset[str] = frozenset(),
    lint: Callable[[], Iterable[Finding]] = tuple,
) -> Report:
    """Count and judge the selected models of a source, and report. `resize`: formulas are checked
    with other arguments too. `complete`: see `complete_codes`. `lint`: lints the source while the
    worker builds."""
    findings = [*source.findings, *selection.findings]
    asked = selection.requests, source.found, context, lambda: findings.extend(lint())
    resize = resize and any(b.value.names for r in selection.requests for b in r.budgets)
    asks_again = resize or context.causes is not None
    with reused_worker(imports=resize) if asks_again else nullcontext():
        if resize:
            from nparam_lint.gate.formula_check import count_resized, with_missing_terms

            counted, others = count_resized(count_models, *asked)
        else:
            counted, others = count_models(*asked), {}
        outcomes = judge_models(selection, counted, source.settings, others)
        models, skipped = outcomes.together(selection.skipped, selection.containment)
        if resize:
            models = with_missing_terms(models, selection.requests, context)
        if source.settings.replay_inputs and any(finding.timed_out for finding in findings):
            source.settings.replay_inputs.is_complete = False  # the next run may read it in time
        source = replace(source, findings=findings)
        report = assemble_report(source, counted, models, skipped, complete)
        if selection.shard:
            from nparam_lint.gate.shards import as_shard

            report = as_shard(report, selection.shard, outcomes)
        if any(finding.result for finding in report.findings):
            from nparam_lint.gate.explanations import explained  # a passing run has none

            report = explained(report, selection.requests, source, context)
    return replace(
        report,
        failed_ways=tuple(way for _, way in outcomes.failed_ways),
        ways_left=selection.ways_left,
        containment=selection.containment,
    )
