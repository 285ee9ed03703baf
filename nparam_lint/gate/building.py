"""Requests → jobs → answers: with which interpreter models are built, where, and in what limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nparam_lint.config.interpreter import NoInterpreter, environments_in
from nparam_lint.config.settings import LOCAL
from nparam_lint.count.jobs import Answers, Job
from nparam_lint.count.run_jobs import run_jobs, what_was_read
from nparam_lint.count.worker_process import start_early
from nparam_lint.discover import within
from nparam_lint.discover.definitions import Definition, ImportAttempt
from nparam_lint.gate.requests import ModelRequest, may_be_built, one_reason

if TYPE_CHECKING:
    from nparam_lint.config.session import Session
    from nparam_lint.config.settings import Settings
    from nparam_lint.discover import Discovery
    from nparam_lint.gate.requests import ProjectSource


def early_start(session: Session) -> Callable[[Definition], None]:
    """What starts the worker at the first model that can be built, before the others are known, so
    that it imports torch meanwhile; where the config has budgets, that is done here. Only where
    nothing is remembered of the project: then there is work for certain."""
    settings, folder = session.settings, session.store.folder
    is_open = settings.on == LOCAL and not (folder and Path(folder).is_dir())

    def start() -> None:
        nonlocal is_open
        is_open = False
        with suppress(NoInterpreter):  # reported when the interpreter is needed
            interpreter = session.with_interpreter().interpreter
            if interpreter and interpreter.has_torch:
                start_early(interpreter.python, session.environ)

    def begin(definition: Definition) -> None:
        if is_open and may_be_built(definition, settings):
            start()

    if is_open and settings.budgets:
        start()
    return begin


def count_models(
    requests: Sequence[ModelRequest],
    source: ProjectSource,
    meanwhile: Callable[[], None] = lambda: None,
) -> Answers:
    """Build and count every request; the measurements are by its number. `source`: the one that
    they come from. `meanwhile` is called while the worker is busy.

    Raises NoInterpreter where the settings name an interpreter that does not exist.
    """
    if not requests:
        meanwhile()
        return Answers()
    session = _with_interpreter(source.session)
    names, jobs = _planned(requests, source)
    # A model, and the classes that are judged inside it, are one build.
    alike = {replace(job, id=0, label=""): job.id for job in reversed(jobs)}
    first = {job.id: alike[replace(job, id=0, label="")] for job in jobs}
    jobs = [job for job in jobs if first[job.id] == job.id]
    run = run_jobs
    if session.settings.on != LOCAL:
        from nparam_lint.count.remote_jobs import run_jobs_on

        run = run_jobs_on
    answers = run(session, names, jobs, meanwhile)
    answers.measurements |= {n: answers.measurements[own] for n, own in first.items()}
    for number, request in enumerate(requests):
        answers.measurements[number] = one_reason(request, answers.measurements[number])
    answers.interpreter = session.interpreter
    if answers.broken is not None:
        folders = sorted(source.found.tree.folders - {""})
        answers.inside = environments_in(session.home, folders)
    return answers


def paths_read(requests: Sequence[ModelRequest], source: ProjectSource) -> list[str | None]:
    """Which of the given places earlier builds have read; see `what_was_read`."""
    if not requests or not source.session.store.folder:
        return [None] * len(requests)
    session = _with_interpreter(source.session)
    read = what_was_read(session, *_planned(requests, source), within(source.places))
    if None in read:  # the next run knows more
        session.inputs.is_complete = False
    return read


def _planned(
    requests: Sequence[ModelRequest], source: ProjectSource
) -> tuple[frozenset[str], list[Job]]:
    """The names under which anything of the project could be imported, and a job for each
    request."""
    settings, found = source.settings, source.found
    places = {request.location: request.is_file for request in requests}
    plans = {at: _import_attempts(at, own, settings.root, found) for at, own in places.items()}
    found.tree.remember()  # what the plans asked of files that nothing else looked into
    jobs = [_job(n, r, settings, plans[r.location]) for n, r in enumerate(requests)]
    names = (part.removesuffix(".py") for path in found.tree.files for part in path.split("/"))
    return frozenset(names), jobs


def _with_interpreter(session: Session) -> Session:
    """With the interpreter to build with, here or on the machines that the settings name."""
    if session.settings.on == LOCAL:
        return session.with_interpreter()
    from nparam_lint.count.remote_machines import interpreter_at

    there = interpreter_at(session.settings.on, session.settings.remote_python)
    return replace(session, interpreter=there)


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
