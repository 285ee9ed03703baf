"""Requests → jobs → answers: with which interpreter models are built, where, and in what limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from nparam_lint.count.interpreter import Interpreter, NoInterpreter, environments_in, watched
from nparam_lint.count.jobs import Answers, BuildContext, Job, Limits
from nparam_lint.count.run_jobs import run_jobs, what_was_read
from nparam_lint.count.worker_process import start_early
from nparam_lint.discover import Discovery, within
from nparam_lint.discover.definitions import Definition, ImportAttempt
from nparam_lint.gate.requests import ModelRequest, may_be_built, one_reason
from nparam_lint.ground.machine import cores, default_memory

if TYPE_CHECKING:
    from nparam_lint.config.settings import Settings
    from nparam_lint.gate.context import RunContext
    from nparam_lint.gate.requests import ProjectSource


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


def paths_read(
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
    interpreter = context.interpreter or settings.interpreter(context.environ)
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
