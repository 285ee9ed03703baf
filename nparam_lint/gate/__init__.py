"""The check, in the order in which data flows: discover → declare → count → judge → report.

`measure` implements this pipeline; `check` and `show` prepare its input. `candidates` says what to
build, `judgements` compares the counts with the budgets and makes the report, and `formula_check`
tries formulas at other sizes.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.count.measured import Measured, NotMeasured
from nparam_lint.count.worker_process import end_waiting, reused_worker
from nparam_lint.discover.files import list_texts, reader
from nparam_lint.discover.syntax import rare_collection, words_in
from nparam_lint.evidence import containment
from nparam_lint.gate import (
    dependents,
    explanations,
    fill_in,
    formula_check,
    inside,
    measures,
    script_runs,
    shards,
    stated_counts,
    ways,
)
from nparam_lint.gate.building import count_models, paths_read, with_fused
from nparam_lint.gate.candidates import (
    WITH_PARAMETERS,
    Candidate,
    ProjectSource,
    Selection,
    select_models,
)
from nparam_lint.gate.judge import judge
from nparam_lint.gate.judgements import assemble_report, complete_codes, judge_models
from nparam_lint.gate.reading import listed, read_source, read_targets, static_findings
from nparam_lint.gate.report import Report
from nparam_lint.ground.errors import Aside
from nparam_lint.ground.paths import place_of

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence

    from nparam_lint.config.session import Session
    from nparam_lint.count.run import Answers
    from nparam_lint.gate.hooks import FindCauses, FormulaAnalysis
    from nparam_lint.gate.report import ModelReport
    from nparam_lint.gate.shards import Division
    from nparam_lint.ground.findings import Finding
    from nparam_lint.ground.notation import Target


@rare_collection()  # of large projects as much is kept as is read
def check(
    session: Session,
    paths: Sequence[Path],
    *,
    left_out: Sequence[Path] = (),
    declared_only: bool = False,
    static_only: bool = False,
    with_dependents: bool = True,
    analysis: FormulaAnalysis | None = None,
    find_causes: FindCauses | None = None,
    division: Division | None = None,
) -> Report:
    """Check every model under `paths` (the whole project when empty). `left_out`: directories whose
    entries in the config are skipped. `declared_only`: models without a declared budget are
    skipped, too. `static_only`: build nothing. `analysis`: checks formulas with other arguments.
    `find_causes`: finds out what broke a budget. `division`: which part of the models is judged.

    `with_dependents`: the declared models elsewhere in the project that depend on `paths` are
    checked as well; a path may be data that they read, or deleted. Raises UsageError,
    as for a path outside the project.
    """
    start, elsewhere = time.monotonic(), None
    try:
        source = read_source(
            session,
            paths,
            left_out=left_out,
            declared_only=declared_only,
            dependents=with_dependents,
        )
        if source.places and with_dependents:
            # A run that builds nothing does not look for an interpreter; and what one machine
            # remembers, the others do not know.
            is_known = not static_only and division is None
            source, elsewhere = dependents.with_dependents(source, paths_read if is_known else None)
        selection = Selection() if static_only else select_models(source.candidates, declared_only)
        is_full = not (static_only or declared_only)
        named = frozenset(_named_in_readme(source)) if is_full else frozenset[str]()
        if is_full:
            selection = _named_first(as_the_project_builds(source, selection), named)
        whole, part = selection, source
        if division:
            options = f"{declared_only} {session.is_staged}"
            part, selection = shards.take_shard(source, selection, division, options)
        is_first = division is None or division.number == 1
        definitions_only = declared_only and not static_only
        report = measure(
            part,
            selection,
            analysis=analysis,
            find_causes=find_causes,
            complete=complete_codes(declared_only, static_only),
            lint=partial(static_findings, source, definitions_only) if is_first else tuple,
        )
    finally:
        end_waiting()
    report = replace(
        report,
        source_only=static_only,
        declared_only=declared_only,
        elsewhere=elsewhere,
        named=named,
    )
    if declared_only and session.is_staged and not (static_only or division):
        with Aside("the counts that the commit states"):
            report = _with_staged_counts(report, session)
    if is_full:
        report = _with_the_rest(report, source, whole.candidates, is_whole=division is None)
    return replace(report, seconds=time.monotonic() - start)


def _named_first(selection: Selection, named: Container[str]) -> Selection:
    """With the models that the README names at the head: the time may not be enough for all."""
    order = sorted(selection.candidates, key=lambda c: str(c.target.built.bare) not in named)
    return replace(selection, candidates=order)


def _with_the_rest(
    report: Report, source: ProjectSource, candidates: Sequence[Candidate], *, is_whole: bool
) -> Report:
    """With what a run says besides that is about more than budgets: how to build what could not be
    built, and what came of the counts that texts state."""
    recipes = (candidate.build.recipe for candidate in candidates if candidate.way)
    calls = (recipe.call or f"model({recipe.arguments or ''})" for recipe in recipes)
    with Aside("how to build what needs arguments"):
        entries = fill_in.arguments_to_fill_in(report.skipped, source, calls, is_whole=is_whole)
        report = replace(report, recipes=entries)
    report = replace(report, test_files=len(source.discovery.left_out))
    if is_whole:
        with Aside("the counts that texts state"):
            report = stated_counts.with_stated_counts(report, source, candidates)
    return report


def _named_in_readme(source: ProjectSource) -> Iterator[str]:
    """The targets whose names stand in the README of the project."""
    session = source.session
    for path in listed(session, list_texts):
        if "/" not in path and path.lower().startswith("readme"):
            words = {*words_in(reader(session.root)(path))}
            for definition in source.discovery.definitions:
                if definition.qualname.encode() in words:
                    yield definition.target


def _with_staged_counts(report: Report, session: Session) -> Report:
    """With the findings about counts that the next commit states, or makes wrong: of the models
    that these name, which are built as in a run over all. A commit that does neither pays for a
    question to git."""
    stating, places = stated_counts.staged_counts(session, report)
    if not places:
        return report
    session.inputs.is_complete = False  # the next commit has other lines
    whole = read_source(session, ())
    selection = as_the_project_builds(whole, select_models(whole.candidates))
    candidates = stated_counts.named_in(stating, selection.candidates)
    built = measure(whole, replace(selection, candidates=candidates))
    return stated_counts.with_counts_at(places, stating, report, built, whole, candidates)


def as_the_project_builds(source: ProjectSource, selection: Selection) -> Selection:
    """With the ways to build models that the project has, and which of them contain which. A hook
    has no use for these, and does not load what finds them."""
    selection = ways.with_ways(source, selection)
    with Aside("which models are parts of others"):
        return replace(selection, containment=containment.find_containment(source.discovery))
    return selection


def show(session: Session, targets: Sequence[Target]) -> Report:
    """The models that `targets` of one project name, with every parameter, and their budgets where
    they have any; a target without arguments also in each way in which the project builds it, which
    stands for it where its defaults do not build it. Raises UsageError."""
    start = time.monotonic()
    with reused_worker():
        source = read_targets(session, targets)
        selection = Selection(source.candidates, skip_failures=False, ask=WITH_PARAMETERS)
        if wanted := [candidate for candidate in source.candidates if candidate.is_open]:
            whole = read_source(session, ())
            selection = ways.with_ways_of(replace(whole, candidates=wanted), selection)
            source = replace(source, discovery=whole.discovery)
        report = measure(source, selection)
        built_in_ways = {m.target for m in report.models if m.way is not None}
        models = tuple(
            _inside_another(model, session)
            for model in report.models
            if isinstance(model.measurement, Measured) or model.target not in built_in_ways
        )
    return replace(report, models=models, seconds=time.monotonic() - start)


def built_in_a_way(candidate: Candidate, session: Session) -> ProjectSource | None:
    """The source of the whole project, with the first way in which it builds what cannot be built
    as it is named; None where there is none."""
    whole = read_source(session, ())
    builds = ways.with_ways_of(replace(whole, candidates=[candidate]), Selection()).candidates
    answers = count_models([(build, WITH_PARAMETERS) for build in builds], whole).measurements
    for number, build in enumerate(builds):
        if isinstance(answers[number], Measured):
            return replace(whole, candidates=[build])
    return None


def _inside_another(model: ModelReport, session: Session) -> ModelReport:
    """A class that nobody can call alone as a model of the project builds it, if one does."""
    failure = model.measurement
    if isinstance(failure, Measured) or failure.cause != "arguments_missing" or model.budgets:
        return model
    hosts = _models_that_reach(model.position.path, session).inside_by_target.get(model.target)
    if not hosts:
        return model
    most = max(hosts, key=lambda way: way.times)
    alone = inside.first_instance(most.row, most.host)
    return replace(model, measurement=alone, host=most.host, way=most.way, inside=tuple(hosts))


def _models_that_reach(path: str, session: Session) -> Report:
    """The models of the project whose imports lead to a file, each in the ways that it is built."""
    source = read_source(session, ())
    source = replace(source, candidates=dependents.that_reach(path, source))
    return measure(source, ways.with_ways(source, select_models(source.candidates)))


def models_of_file(session: Session, path: Path) -> Report:
    """The models that a file defines; where its lines make nothing of these, since none can be
    built alone, those of the project that lead to it. Raises UsageError."""
    with reused_worker():
        report = check(session, [path], with_dependents=False)
        return with_lines_of(place_of(path, session.root), report, session)


def with_lines_of(place: str, report: Report, session: Session) -> Report:
    """The report on the models of a file; where its lines make nothing of these, that on the models
    of the project that lead to it."""
    if report.error or _has_lines_of(place, report):
        return report
    others = _models_that_reach(place, session)
    return others if _has_lines_of(place, others) else report


def _has_lines_of(place: str, report: Report) -> bool:
    return any(
        row.path == place
        for model in report.models
        if isinstance(model.measurement, Measured)
        for row in model.measurement.lines
    )


def _add_fused(answers: Answers, candidates: Sequence[Candidate], source: ProjectSource) -> None:
    """Add the fused count of each model that has one, and a budget that may be it."""
    measured: dict[int, tuple[Candidate, Measured]] = {}
    for number, candidate in enumerate(candidates):
        answer = answers.measurements[number]
        if not isinstance(answer, Measured) or not answer.fusing:
            continue
        tolerance = source.settings.for_file(candidate.target.location).tolerance
        budgets = filter(measures.is_plain_total, candidate.budgets)
        if any(judge(budget, answer, tolerance)[1] for budget in budgets):
            measured[number] = candidate, answer
    answers.measurements.update(with_fused(measured, source))


def measure(
    source: ProjectSource,
    selection: Selection,
    *,
    analysis: FormulaAnalysis | None = None,
    find_causes: FindCauses | None = None,
    complete: frozenset[str] = frozenset(),
    lint: Callable[[], Iterable[Finding]] = tuple,
) -> Report:
    """Count and judge the selected models of a source, and report. `analysis`, `find_causes`: see
    `check`. `complete`: see `complete_codes`. `lint`: lints the source while the worker builds."""
    findings, candidates = [*source.findings, *selection.findings], selection.candidates
    requests = [(candidate, selection.ask) for candidate in candidates]
    if not any(budget.value.names for candidate in candidates for budget in candidate.budgets):
        analysis = None  # there is no formula
    asks_again = analysis is not None or find_causes is not None
    has_runs = any(candidate.build.recipe.is_run for candidate in candidates)
    asks_again |= has_runs
    with reused_worker(imports=analysis is not None) if asks_again else nullcontext():

        def meanwhile() -> None:
            findings.extend(lint())

        if analysis:
            answers, resized = formula_check.count_resized(requests, source, analysis, meanwhile)
        else:
            count = script_runs.count_in_turn if has_runs else count_models
            answers, resized = count(requests, source, meanwhile), {}
        with Aside("which numbers are fused counts"):
            _add_fused(answers, candidates, source)
        outcomes = judge_models(selection, answers, source.session, resized)
        models, skipped = outcomes.together(selection.skipped, selection.containment)
        if analysis:
            models = formula_check.with_missing_terms(models, candidates, source, analysis)
        untried = [
            candidate
            for number, candidate in enumerate(candidates)
            if isinstance(answer := answers.measurements[number], NotMeasured)
            if answer.cause == "not_tried"
        ]
        is_stopped = any(not candidate.build.recipe.is_run for candidate in untried)
        if is_stopped or any(finding.timed_out for finding in findings):
            source.session.inputs.is_complete = False  # the next run may do it in time
        source = replace(source, findings=findings)
        report = assemble_report(source, answers, models, skipped, complete)
        if selection.shard:
            report = shards.as_shard(report, selection.shard, outcomes)
        if report.findings:
            report = explanations.explained(report, candidates, source, find_causes)
    return replace(
        report,
        failed_ways=tuple(way for _, way in outcomes.failed_ways),
        ways_left=tuple(sorted((Counter(dict(selection.ways_left)) + outcomes.untried).items())),
        stopped_after=source.session.settings.patience if is_stopped else 0.0,
        gaps=selection.gaps,
        containment=selection.containment,
    )
