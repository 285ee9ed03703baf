"""The check, in the order in which data flows: discover → declare → count → judge → report.

`measure` is that story; `check` and `show` say what it is told of. `requests` says what to build,
`judgements` compares the counts with the budgets and makes the report, and `formula_check` tries
formulas at other sizes.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from nparam_lint.count.interpreter import Interpreter, NoInterpreter, find_interpreter, watched
from nparam_lint.count.run_jobs import Answers, BuildContext, Job, Limits, default_memory, run_jobs
from nparam_lint.count.worker_process import end_waiting, start_early
from nparam_lint.discover import discover, list_files, list_project, named_files, scan_source
from nparam_lint.gate.judgements import assemble_report, complete_codes, judge_models
from nparam_lint.gate.requests import (
    ModelRequest,
    ProjectSource,
    Selection,
    declared_requests,
    request_model,
    select_models,
)
from nparam_lint.records import Environment, ImportAttempt, Measured, Position, Report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from nparam_lint.claims import Target
    from nparam_lint.config.settings import Settings
    from nparam_lint.discover import Discovery
    from nparam_lint.discover.parallel_scan import Scan
    from nparam_lint.records import Finding

    Progress = Callable[[int, int, str], None]  # done, all, the label of the last one


@dataclass(frozen=True, slots=True)
class RunContext:
    """What one run builds with. `interpreter`: None is the one that the settings lead to."""

    settings: Settings
    environ: Mapping[str, str]
    progress: Progress | None = None
    interpreter: Interpreter | None = None


@dataclass(frozen=True, slots=True)
class CountResult:
    """What the worker answered, by the number of the request, and the interpreter that it ran in;
    None where nothing was to be built."""

    answers: Answers = field(default_factory=Answers)
    interpreter: Interpreter | None = None

    def environment(self, devices: Iterable[str]) -> Environment | None:
        """The interpreter, for a report. `devices`: those on which something was measured."""
        if self.interpreter is None:
            return None
        python, reason = self.interpreter.python, self.interpreter.reason
        return Environment(python, reason, self.answers.torch, tuple(devices))

    @property
    def error(self) -> str | None:
        """Why no model can be built at all, in lines; None where models can be."""
        if self.answers.broken is None or self.interpreter is None:
            return None
        python = self.interpreter.python
        return "\n".join(
            (
                f"no model can be built with {python}",
                f"  chosen because: {self.interpreter.reason}",
                f"  it says: {self.answers.broken}",
                *(
                    f"  passed over: {text}"
                    for text in self.interpreter.passed_over
                    if not text.startswith(f"{python} (")
                ),
                "  next: install torch there, or name the interpreter that has it:",
                '        nparam-lint --python PATH, NPARAM_LINT_PYTHON, or python = "…" in the'
                " config",
            )
        )


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
    resized: list[tuple[int, ModelRequest]] = []
    if resize and any(b.value.names for request in selection.requests for b in request.budgets):
        from nparam_lint.gate.formula_check import resized_requests

        resized = resized_requests(selection.requests)
    counted = count_models(
        [*selection.requests, *(request for _, request in resized)],
        source.found,
        context,
        meanwhile=lambda: findings.extend(lint()),
    )
    others: dict[int, list[tuple[ModelRequest, Measured]]] = {}
    for own, (number, request) in enumerate(resized, len(selection.requests)):
        measured = counted.answers.measurements[own]
        if isinstance(measured, Measured):
            others.setdefault(number, []).append((request, measured))
    models, skipped = judge_models(selection, counted.answers, source.settings, others)
    return assemble_report(replace(source, findings=findings), counted, models, skipped, complete)


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
        files = list_files(settings.root, paths, settings.exclude, copy.files(settings.root))
        importable = copy.files(settings.root, importable=True)
    else:
        files, importable = list_project(settings.root, paths, settings.exclude)
    budgeted = {b.target.location for b in settings.budgets if b.target.is_path}
    found = discover(
        settings.root,
        files,
        importable=importable,
        declared_only=declared_only,
        wanted=budgeted & set(files),
        named=named_files(settings.root, paths),
        store=settings.store,
        scan=scan,
        timeout=settings.timeout,
    )
    if settings.replay_inputs:
        settings.replay_inputs.add_source(str(settings.home), found.tree.files, found.tree.digest)
    requests, findings = declared_requests(found, settings, _scope(settings.root, paths))
    return ProjectSource(settings, files, found, requests, findings)


def _read_targets(settings: Settings, targets: Sequence[Target]) -> ProjectSource:
    """The source of the files that targets name, with the requests for these targets alone."""
    files = list(dict.fromkeys(target.location for target in targets if target.is_path))
    found = discover(
        settings.root, files, wanted=files, store=settings.store, timeout=settings.timeout
    )
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
        found.tree,
        [(path, found.modules(path)) for path in files],
        source.settings.store,
        source.settings.timeout,
    )


# --- count ------------------------------------------------------------------------------------


def start_worker_early(context: RunContext) -> None:
    """Start the worker before its work is known, so that it imports torch meanwhile. Only where
    nothing is remembered of the project: then there is work for certain."""
    folder = context.settings.store.folder
    if not folder or not Path(folder).is_dir():
        with suppress(NoInterpreter):  # reported when the interpreter is needed
            interpreter = _interpreter(context)
            if interpreter.has_torch:
                start_early(interpreter.python, context.environ)


def count_models(
    requests: Sequence[ModelRequest],
    found: Discovery,
    context: RunContext,
    meanwhile: Callable[[], None] = lambda: None,
) -> CountResult:
    """Build and count every request; `meanwhile` is called while the worker is busy.

    Raises NoInterpreter where the settings name an interpreter that does not exist.
    """
    if not requests:
        meanwhile()
        return CountResult()
    settings = context.settings
    interpreter = context.interpreter or _interpreter(context)
    if settings.replay_inputs:
        unread = watched(interpreter)
        settings.replay_inputs.unread.update(unread or ())
        settings.replay_inputs.is_complete &= unread is not None
    plans = {r.target.location: _import_attempts(r.target, settings.root, found) for r in requests}
    found.tree.remember()  # what the plans asked of files that nothing else looked into
    jobs = [_job(n, r, settings, plans[r.target.location]) for n, r in enumerate(requests)]
    names = {part.removesuffix(".py") for path in found.tree.files for part in path.split("/")}
    builds = BuildContext(
        interpreter.python,
        settings.root,
        context.environ,
        limits(settings),
        tuple(names),
        settings.snapshot,
        settings.store,
    )
    answers = run_jobs(builds, jobs, context.progress, settings.replay_inputs, meanwhile)
    return CountResult(answers, interpreter)


def limits(settings: Settings) -> Limits:
    """The limits of the settings; by default half of the memory, and a builder for each core."""
    memory = default_memory() if settings.memory is None else settings.memory
    return Limits(settings.timeout, memory, settings.jobs or _cores())


def _interpreter(context: RunContext) -> Interpreter:
    settings = context.settings
    return find_interpreter(settings.home, settings.python, settings.python_from, context.environ)


def _cores() -> int:
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:
        return os.cpu_count() or 1


def _import_attempts(target: Target, root: Path, found: Discovery) -> tuple[ImportAttempt, ...]:
    """The ways to import what a target's location names."""
    if not target.is_path:
        roots = ("", "src") if (root / "src").is_dir() else ("",)
        return (ImportAttempt(target.location, roots),)
    plan = found.plan(target.location)
    return plan or (ImportAttempt(Path(target.location).stem, ("",)),)


def _job(
    number: int, request: ModelRequest, settings: Settings, attempts: tuple[ImportAttempt, ...]
) -> Job:
    target, recipe = request.target, request.recipe
    names = {name for budget in request.budgets for name in budget.value.names}
    return Job(
        id=number,
        label=str(target),
        file=target.location if target.is_path else None,
        attempts=attempts,
        callable=target.callable,
        arguments=recipe.arguments,
        setup=recipe.setup,
        call=recipe.call,
        input=recipe.input,
        experts_per_token=recipe.experts_per_token,
        device=request.device or settings.for_file(target.location).device,
        names=tuple(sorted(names)),
        parameters=request.parameters or bool(names),  # they show which term a formula lacks
        vary=tuple(request.values.items()),
        scale=tuple(request.factors.items()),
        variables=request.variables,
    )
