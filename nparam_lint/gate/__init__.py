"""The check, in the order in which data flows: discover → declare → count → judge → report.

`measure` implements this pipeline; `check` and `show` prepare its input. `requests` says what to
build, `judgements` compares the counts with the budgets and makes the report, and `formula_check`
tries formulas at other sizes.
"""

from __future__ import annotations

import os
import time
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from nparam_lint import Aside, UsageError, cores
from nparam_lint.claims import CONFIG_SUFFIXES, DOC_SUFFIXES
from nparam_lint.count.interpreter import (
    Interpreter,
    NoInterpreter,
    environments_in,
    find_interpreter,
    watched,
)
from nparam_lint.count.run_jobs import (
    Answers,
    BuildContext,
    Job,
    Limits,
    default_memory,
    run_jobs,
    what_was_read,
)
from nparam_lint.count.worker_process import end_waiting, reused_worker, start_early
from nparam_lint.discover import (
    discover,
    list_below,
    list_files,
    list_importable,
    matcher,
    named_files,
    place_of,
    scan_source,
    within,
)
from nparam_lint.discover.syntax import rare_collection
from nparam_lint.gate.judgements import (
    assemble_report,
    complete_codes,
    is_staged,
    judge_models,
)
from nparam_lint.gate.requests import (
    ModelRequest,
    ProjectSource,
    Selection,
    declared_requests,
    known_kinds,
    may_be_built,
    not_fetched,
    one_reason,
    request_model,
    select_models,
    with_doc_claims,
)
from nparam_lint.records import ImportAttempt, Measured, Position, Report
from nparam_lint.rules import source_codes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from nparam_lint.claims import Target
    from nparam_lint.config.settings import Settings
    from nparam_lint.discover import Discovery
    from nparam_lint.discover.parallel_scan import Scan
    from nparam_lint.gate.explanations import Cause
    from nparam_lint.gate.shards import Division
    from nparam_lint.records import (
        Budget,
        BudgetResult,
        Definition,
        Finding,
        ModelReport,
        NameValue,
    )

    Progress = Callable[[int, int, str], None]  # done, all, the label of the last one
    Broken = Sequence[tuple[ModelRequest, BudgetResult]]
    Causes = Callable[[Broken, ProjectSource, "RunContext"], list[Cause]]


@dataclass(frozen=True, slots=True)
class FormulaAnalysis:
    """What a check asks of the analysis of constructors. `missing_term`: which term a wrong formula
    lacks. `boundaries`: of a model that was traced, other arguments on all sides of its
    conditions."""

    missing_term: Callable[[Budget, RunContext], str]
    boundaries: Callable[[Measured], Sequence[Mapping[str, NameValue]]]


@dataclass(frozen=True, slots=True)
class RunContext:
    """The context of one run. `interpreter`: None means the one that the settings select.
    `analysis`: what loads it, if formulas are to be checked with it. `causes`: finds out for broken
    budgets what made the difference, if there is another state to compare with."""

    settings: Settings
    environ: Mapping[str, str]
    progress: Progress | None = None
    interpreter: Interpreter | None = None
    analysis: Callable[[], FormulaAnalysis] | None = None
    causes: Causes | None = None


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
            _scan(declared_only),
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
            read = partial(_paths_read, source=source, context=context) if is_known else None
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


# --- discover and declare ---------------------------------------------------------------------


def read_source(
    settings: Settings,
    paths: Sequence[Path],
    scan: Scan = scan_source,
    *,
    left_out: Sequence[Path] = (),
    declared_only: bool = False,
    dependents: bool = False,
    on_found: Callable[[Definition], None] | None = None,
) -> ProjectSource:
    """Find the models under `paths` (the whole project when empty), and what is declared. `scan`:
    what reads a file. `left_out`: what the config says of these directories is. `dependents`: what
    is declared elsewhere in the project is wanted as well, for `with_dependents` to choose from;
    then a path may be of any kind, or gone. `on_found`: see `discover`."""
    root, copy = settings.root, settings.snapshot
    settings, unread = with_doc_claims(settings)
    places = dict.fromkeys(place_of(path, root) for path in paths)
    if dependents:  # others may know what a link leads to by its own name
        for path in paths:
            with suppress(UsageError):
                places[place_of(path.resolve(), root.resolve())] = None
    places = {} if "" in places else places
    tracked = copy.files(root) if copy else None
    below = settings.below or cache(list_below)
    there = [path for path in paths if os.path.exists(path)]  # noqa: PTH110
    is_gone = bool(paths) and not there
    files = [] if is_gone else list_files(root, there, settings.exclude, tracked, below)
    importable = copy.files(root, which="importable") if copy else list_importable(root, below)
    others: set[str] = set()
    if places and dependents:
        others = set(list_files(root, (), settings.exclude, tracked, below)).difference(files)
    budgeted = {b.target.location for b in settings.budgets if b.target.is_path}
    found = discover(
        root,
        [*files, *sorted(others)],
        importable=importable,
        declared_only=declared_only,
        elsewhere=others,
        wanted=budgeted & {*files, *others},
        named=named_files(root, there),
        asked=tuple(place for place in places if place),
        store=settings.store,
        scan=scan,
        timeout=settings.timeout,
        on_found=on_found,
    )
    if settings.replay_inputs:
        settings.replay_inputs.add_source(str(settings.home), found.tree.files, found.tree.digest)
    in_scope = within(() if dependents else places)
    is_left = within([place_of(path, root) for path in left_out])
    requests, findings = declared_requests(
        found, settings, lambda at: in_scope(at) and not (left_out and is_left(at))
    )
    findings += [one for one in unread if in_scope(one.position.path)]
    if copy and copy.absent:
        may_declare = copy.files(root, (".py", *CONFIG_SUFFIXES, *DOC_SUFFIXES), "absent")
        is_excluded = matcher(settings.exclude)
        absent = [at for at in may_declare if in_scope(at) and not is_excluded(at)]
        absent.sort(key=within(places), reverse=True)
        # What is not there may depend on the given paths: it is told at one of them.
        at = next((at for at in (*absent[:1], *places) if within(places)(at)), "")
        findings += [not_fetched(absent, at)] if absent else []
    return ProjectSource(settings, files, found, requests, findings, tuple(places))


def read_targets(settings: Settings, targets: Sequence[Target]) -> ProjectSource:
    """The source of the files that targets name, with the requests for these targets alone. Raises
    UsageError for a model that is called by its name where no file, or several, define it."""
    from nparam_lint.gate.inside import files_with, resolved

    settings, _ = with_doc_claims(settings)
    named = dict.fromkeys(target.location for target in targets if target.is_path)
    files = [path for path in named if not path.endswith(CONFIG_SUFFIXES)]
    found = discover(
        settings.root, files, wanted=files, store=settings.store, timeout=settings.timeout
    )
    targets = [resolved(target, found.tree) for target in targets]
    for target in targets:
        if not target.built.location:
            name = target.built.callable
            places = ", ".join(files_with(name, target.location, found.tree)[:5]) or "no file"
            step = f"write (in FILE.py::{name})"
            raise UsageError(f"{name} is defined in {places}; to say which is meant, {step}")
    locations, wanted = {t.location for t in targets}, {str(t) for t in targets}
    requests, findings = declared_requests(found, settings, locations.__contains__)
    requests = [request for request in requests if str(request.target) in wanted]
    declared = {str(request.target) for request in requests}
    requests += [
        request_model(target, Position(target.location), settings, found)
        for target in dict.fromkeys(targets)
        if str(target) not in declared
    ]
    if unknown := [r for r in requests if not (r.target.callable or r.recipe.call)]:
        known_kinds(unknown, found, settings)
    for request in requests:
        request.parameters = True
    findings = [f for f in findings if f.target in wanted or f.code == "NPL003"]
    return ProjectSource(settings, files, found, requests, findings)


def _scan(declared_only: bool) -> Scan:
    """The function that reads a file: it also runs the rules, unless only budgets are wanted."""
    if declared_only:
        return scan_source
    from nparam_lint.rules.lint import scan_and_lint

    return scan_and_lint


def static_findings(source: ProjectSource, definitions_only: bool = False) -> list[Finding]:
    """NPL1xx: what the source shows by itself, of all files or of those that define models."""
    found = source.found
    files: Iterable[str] = found.parsed
    if definitions_only:  # few: files in which no rule can find anything are not even passed on
        files = sorted({d.path for d in found.definitions})
        files = [path for path in files if source_codes(found.tree.source(path))]
        if not files:
            return []
    from nparam_lint.rules.lint import lint_files

    own = set(source.files)
    modules = [(path, found.modules(path)) for path in files if path in own]
    return lint_files(found.tree, modules, source.settings.store, source.settings.timeout)


# --- count ------------------------------------------------------------------------------------


def early_start(context: RunContext) -> Callable[[Definition], None]:
    """What starts the worker at the first model that can be built, before the others are known, so
    that it imports torch meanwhile; where the config has budgets, that is done here. Only where
    nothing is remembered of the project: then there is work for certain."""
    settings = context.settings
    folder = settings.store.folder
    is_open = settings.on == "local" and not (folder and Path(folder).is_dir())

    def start() -> None:
        nonlocal is_open
        is_open = False
        with suppress(NoInterpreter):  # reported when the interpreter is needed
            interpreter = _interpreter(context)
            if interpreter.has_torch:
                start_early(interpreter.python, context.environ)

    def begin(definition: Definition) -> None:
        if is_open and may_be_built(definition, settings):
            start()

    if is_open and settings.budgets:
        start()
    return begin


def count_models(
    requests: Sequence[ModelRequest],
    found: Discovery,
    context: RunContext,
    meanwhile: Callable[[], None] = lambda: None,
) -> Answers:
    """Build and count every request; the measurements are by its number. `meanwhile` is called
    while the worker is busy.

    Raises NoInterpreter where the settings name an interpreter that does not exist.
    """
    if not requests:
        meanwhile()
        return Answers()
    settings = context.settings
    interpreter = _interpreter(context)
    builds, jobs = _planned(requests, found, context, interpreter)
    # A model, and the classes that are judged inside it, are one build.
    alike = {replace(job, id=0, label=""): job.id for job in reversed(jobs)}
    first = {job.id: alike[replace(job, id=0, label="")] for job in jobs}
    jobs = [job for job in jobs if first[job.id] == job.id]
    run = run_jobs
    if settings.on != "local":
        from nparam_lint.count.remote_jobs import run_jobs_on

        run = partial(run_jobs_on, settings.on, settings.remote_python)
    answers = run(builds, jobs, meanwhile)
    answers.measurements |= {n: answers.measurements[own] for n, own in first.items()}
    for number, request in enumerate(requests):
        answers.measurements[number] = one_reason(request, answers.measurements[number])
    answers.interpreter = interpreter
    if answers.broken is not None:
        answers.inside = environments_in(settings.home, sorted(found.tree.folders - {""}))
    return answers


def _paths_read(
    requests: Sequence[ModelRequest], source: ProjectSource, context: RunContext
) -> list[str | None]:
    """Which of the given places earlier builds have read; see `what_was_read`."""
    settings = source.settings
    if not requests or not settings.store.folder:
        return [None] * len(requests)
    builds, jobs = _planned(requests, source.found, context, _interpreter(context))
    read = what_was_read(builds, jobs, within(source.places))
    if None in read and settings.replay_inputs:  # the next run knows more
        settings.replay_inputs.is_complete = False
    return read


def _planned(
    requests: Sequence[ModelRequest],
    found: Discovery,
    context: RunContext,
    interpreter: Interpreter,
) -> tuple[BuildContext, list[Job]]:
    """The orders for the worker, with a job for each request."""
    settings = context.settings
    places = {request.location: request.is_file for request in requests}
    plans = {at: _import_attempts(at, own, settings.root, found) for at, own in places.items()}
    found.tree.remember()  # what the plans asked of files that nothing else looked into
    jobs = [_job(n, r, settings, plans[r.location]) for n, r in enumerate(requests)]
    names = {part.removesuffix(".py") for path in found.tree.files for part in path.split("/")}
    builds = BuildContext(
        interpreter.python,
        settings.root,
        context.environ,
        limits(settings),
        tuple(names),
        settings.snapshot,
        settings.store,
        settings.why_built,
        context.progress or (lambda *_: None),
        settings.replay_inputs,
    )
    return builds, jobs


def limits(settings: Settings) -> Limits:
    """The limits of the settings; by default half of the memory, and a builder for each core. On
    other machines the first is found out there, and each has as many builders as it runs groups."""
    if settings.on != "local":
        return Limits(settings.timeout, settings.memory or 0, settings.jobs or 1)
    memory = default_memory() if settings.memory is None else settings.memory
    return Limits(settings.timeout, memory, settings.jobs or cores())


def _interpreter(context: RunContext) -> Interpreter:
    """The interpreter to build with. A kept answer depends on which one it is."""
    settings, inputs = context.settings, context.settings.replay_inputs
    if settings.on != "local":
        from nparam_lint.count.remote_machines import interpreter_at

        return interpreter_at(settings.on, settings.remote_python)
    interpreter = context.interpreter or find_interpreter(settings, context.environ)
    if inputs:
        unread = watched(interpreter)
        inputs.unread.update(unread or ())
        inputs.is_complete &= unread is not None
    return interpreter


def _import_attempts(
    location: str, is_path: bool, root: Path, found: Discovery
) -> tuple[ImportAttempt, ...]:
    """The ways to import what a target's location names: a file, or an installed module."""
    if not is_path:
        roots = ("", "src") if (root / "src").is_dir() else ("",)
        return (ImportAttempt(location, roots),)
    return found.plan(location) or (ImportAttempt(Path(location).stem, ("",)),)


def _job(
    number: int, request: ModelRequest, settings: Settings, attempts: tuple[ImportAttempt, ...]
) -> Job:
    target, recipe = request.built, request.recipe
    setup = recipe.setup
    if not target.callable and recipe.call:  # a config file: its recipe speaks of it as `path`
        setup = f"path = {target.location!r}\n{setup or ''}"
    names = {name for budget in request.budgets for name in budget.value.names}
    return Job(
        id=number,
        label=str(request.target),
        file=request.location if request.is_file else None,
        attempts=attempts,
        callable="" if request.way else target.callable,
        arguments=recipe.arguments,
        setup=setup,
        call=recipe.call,
        input=recipe.input,
        experts_per_token=recipe.experts_per_token,
        device=request.device or settings.for_file(target.location).device,
        names=tuple(sorted(names)),
        parameters=request.parameters or bool(names),  # they show which term a formula lacks
        metric=request.metric,
        origins=request.origins,
        vary=tuple(request.values.items()),
        change=tuple((n, *change) for n, change in request.changes.items()),
        variables=request.variables,
        points=tuple(tuple(point.items()) for point in request.points),
        seconds=request.seconds,
        way=request.way is not None and bool(target.callable),
    )
