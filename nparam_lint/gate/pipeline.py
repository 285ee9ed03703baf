"""The program, in the order in which data flows: discover → declare → count → judge → report.

`measure` is that story; `check` and `show` say what it is told of.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from nparam_lint.count.worker_process import end_waiting
from nparam_lint.discover import discover, list_files, list_project, scan_source
from nparam_lint.gate.judgements import (
    ResizedModel,
    assemble_report,
    complete_codes,
    judge_models,
)
from nparam_lint.gate.measure import CountResult, RunContext, count_models, start_worker_early
from nparam_lint.gate.requests import (
    ModelRequest,
    ProjectSource,
    Selection,
    declared_requests,
    request_model,
    select_models,
)
from nparam_lint.records import Measured, ModelReport, NotMeasured, Position, Report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from nparam_lint.claims.notation import Target
    from nparam_lint.config.settings import Settings
    from nparam_lint.discover.parallel_scan import Scan
    from nparam_lint.gate.measure import Progress
    from nparam_lint.records import Finding


def check(
    settings: Settings,
    paths: Sequence[Path],
    environ: Mapping[str, str],
    *,
    declared_only: bool = False,
    static_only: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Check every model under `paths` (the whole project when empty). `declared_only`: leave out
    the models that nobody declares a budget for. `static_only`: build nothing.

    Raises NoInterpreter, and UsageError for a path outside of the project.
    """
    start = time.monotonic()
    context = RunContext(settings, environ, progress)
    try:
        if not static_only:
            start_worker_early(context)
        source = read_source(settings, paths, _scan(declared_only), declared_only=declared_only)
        report = measure(
            source,
            Selection() if static_only else select_models(source.requests, declared_only),
            context,
            resize=True,
            complete=complete_codes(declared_only, static_only),
            lint=lambda: static_findings(
                source, definitions_only=declared_only and not static_only
            ),
        )
    finally:
        end_waiting()
    return replace(report, source_only=static_only, seconds=time.monotonic() - start)


def show(
    settings: Settings,
    targets: Sequence[Target],
    environ: Mapping[str, str],
    progress: Progress | None = None,
) -> Report:
    """The models that `targets` of one project name, with every parameter, and their budgets where
    they have any. Raises NoInterpreter."""
    start = time.monotonic()
    source = _read_targets(settings, targets)
    selection = Selection(source.requests, skip_failures=False)
    report = measure(source, selection, RunContext(settings, environ, progress))
    return replace(report, seconds=time.monotonic() - start)


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
    with other arguments too. `complete`: see `complete_codes`. `lint`: finds more about the source,
    while the worker builds."""
    findings = [*source.findings]
    resized = _resized(selection.requests) if resize else []
    counted = count_models(
        [*selection.requests, *(request for _, request in resized)],
        source.found,
        context,
        meanwhile=lambda: findings.extend(lint()),
    )
    others = _resized_models(resized, counted, len(selection.requests))
    judged = judge_models(selection.requests, counted.answers, source.settings, others)
    models, selection = _without_failures(judged, selection)
    source = replace(source, findings=findings)
    return assemble_report(source, selection, counted, models, complete)


# --- discover and declare ---------------------------------------------------------------------


def read_source(
    settings: Settings,
    paths: Sequence[Path],
    scan: Scan = scan_source,
    *,
    declared_only: bool = False,
) -> ProjectSource:
    """Find the models under `paths` (the whole project when empty), and what is declared. `scan`:
    what reads a file."""
    copy = settings.snapshot
    if copy:
        files = list_files(settings.root, paths, settings.exclude, copy.python_files(settings.root))
        importable = copy.python_files(settings.root, importable=True)
    else:
        files, importable = list_project(settings.root, paths, settings.exclude)
    budgeted = {b.target.location for b in settings.budgets if b.target.is_path}
    found = discover(
        settings.root,
        files,
        importable=importable,
        declared_only=declared_only,
        wanted=budgeted & set(files),
        store=settings.store,
        scan=scan,
    )
    if settings.replay_inputs:
        settings.replay_inputs.add_source(str(settings.home), found.tree.files, found.tree.digest)
    requests, findings = declared_requests(found, settings, _scope(settings.root, paths))
    return ProjectSource(settings, files, found, requests, findings)


def _read_targets(settings: Settings, targets: Sequence[Target]) -> ProjectSource:
    """The source of the files that targets name, with the requests for these targets alone."""
    files = list(dict.fromkeys(target.location for target in targets if target.is_path))
    found = discover(settings.root, files, wanted=files, store=settings.store)
    locations, wanted = {t.location for t in targets}, {str(t) for t in targets}
    requests, findings = declared_requests(found, settings, locations.__contains__)
    requests = [request for request in requests if str(request.target) in wanted]
    declared = {str(request.target) for request in requests}
    requests += [
        request_model(target, Position(target.location), settings, found)
        for target in dict.fromkeys(targets)
        if str(target) not in declared
    ]
    for request in requests:
        request.parameters = True
    findings = [f for f in findings if f.target in wanted or f.code == "NPL003"]
    return ProjectSource(settings, files, found, requests, findings)


def _scope(root: Path, paths: Sequence[Path]) -> Callable[[str], bool]:
    """Whether a location lies under the given paths."""
    places = [os.path.relpath(p.absolute(), root).replace(os.sep, "/") for p in paths]
    if not places or "." in places:
        return lambda _: True
    return lambda location: any(location == p or location.startswith(f"{p}/") for p in places)


def _scan(declared_only: bool) -> Scan:
    """What reads a file: the rules look at all that is read, unless only budgets are wanted."""
    if declared_only:
        return scan_source
    from nparam_lint.rules.lint import scan_and_lint

    return scan_and_lint


def static_findings(source: ProjectSource, definitions_only: bool = False) -> list[Finding]:
    """NPL1xx: what the source shows by itself, of all files or of those that define models."""
    from nparam_lint.rules.lint import lint_files

    found = source.found
    files = sorted({d.path for d in found.definitions}) if definitions_only else found.parsed
    return lint_files(
        found.tree, [(path, found.modules(path)) for path in files], source.settings.store
    )


# --- count and judge --------------------------------------------------------------------------


def _resized(requests: Sequence[ModelRequest]) -> list[tuple[int, ModelRequest]]:
    """The models whose budgets are formulas, with other arguments: the number of the request, and
    the same request resized."""
    resized = []
    for number, request in enumerate(requests):
        if any(budget.value.names for budget in request.budgets):
            from nparam_lint.gate.formula_check import factors_to_try

            resized += [
                (number, replace(request, device="meta", factors=factors))
                for factors in factors_to_try(request.budgets)
            ]
    return resized


def _resized_models(
    resized: Sequence[tuple[int, ModelRequest]], counted: CountResult, first: int
) -> dict[int, list[ResizedModel]]:
    """The resized models that could be built, by the number of the request that they belong to;
    their own numbers begin with `first`."""
    models: dict[int, list[ResizedModel]] = {}
    for own, (number, request) in enumerate(resized, first):
        measured = counted.answers.measurements[own]
        if isinstance(measured, Measured):
            models.setdefault(number, []).append(ResizedModel(request.factors.keys(), measured))
    return models


def _without_failures(
    models: Sequence[ModelReport], selection: Selection
) -> tuple[Sequence[ModelReport], Selection]:
    """A model without a budget that cannot be built is listed as skipped, not as a finding."""
    if not selection.skip_failures:
        return models, selection
    kept: list[ModelReport] = []
    skipped = [*selection.skipped]
    for model in models:
        if isinstance(model.measurement, NotMeasured) and not model.declared:
            skipped.append((model.target, model.measurement))
        else:
            kept.append(model)
    # What has a budget with arguments may fail without them: nobody needs to hear of it.
    declared = {str(r.target.bare) for r in selection.requests if r.is_declared}
    return kept, replace(selection, skipped=[one for one in skipped if one[0] not in declared])
