"""Requests → jobs → answers: with which interpreter models are built, where, and in what limits."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.config.interpreter import environments_in
from nparam_lint.config.settings import LOCAL
from nparam_lint.count import remote_machines, remote_run
from nparam_lint.count.measured import NotMeasured
from nparam_lint.count.run import Answers, run_orders, what_was_read
from nparam_lint.discover.files import list_buildable
from nparam_lint.gate.candidates import WITH_PARAMETERS, Candidate, one_reason
from nparam_lint.ground.orders import Ask, ImportAttempt, Order
from nparam_lint.ground.paths import within

if TYPE_CHECKING:
    from nparam_lint.config.session import Session
    from nparam_lint.count.measured import Measured
    from nparam_lint.gate.candidates import ProjectSource


def count_models(
    requests: Sequence[tuple[Candidate, Ask]],
    source: ProjectSource,
    meanwhile: Callable[[], None] = lambda: None,
) -> Answers:
    """Build and count every candidate; the measurements are by its number. `source`: the one that
    they come from. `meanwhile` is called while the worker is busy.

    Raises UsageError where the settings name an interpreter that does not exist.
    """
    if not requests:
        meanwhile()
        return Answers()
    session = _with_interpreter(source.session)
    names, orders = _planned(requests, source)
    # A model, and the classes that are judged inside it, are one build; `64` and `64.0` are two.
    first_alike: dict[str, Order] = {}
    builds = {
        order.id: first_alike.setdefault(repr(dataclasses.replace(order, id=0, label="")), order).id
        for order in orders
    }
    distinct = [*first_alike.values()]
    if session.settings.on == LOCAL:
        wanted = {builds[n] for n, (candidate, _) in enumerate(requests) if candidate.is_declared}
        answers = run_orders(session, names, distinct, meanwhile, builds.keys() - wanted)
    else:
        files = list_buildable(session.root, session.snapshot)
        answers = remote_run.run_orders_on(session, names, distinct, files, meanwhile)
    answers.measurements |= {n: answers.measurements[build] for n, build in builds.items()}
    for number, (candidate, _) in enumerate(requests):
        answer = answers.measurements[number]
        if isinstance(answer, NotMeasured) and answer.package in names:  # nothing to install
            hint = f"{answer.package} is a part of the project that nothing puts on the import path"
            answer = replace(answer, package=None, hint=hint)
        answers.measurements[number] = one_reason(candidate, answer)
    answers.interpreter = session.interpreter
    if answers.broken is not None:
        folders = sorted(source.discovery.tree.folders - {""})
        answers.inside = environments_in(session.home, folders)
    return answers


def with_fused(
    measured: Mapping[int, tuple[Candidate, Measured]], source: ProjectSource
) -> dict[int, Measured]:
    """What was measured, by number, with what each model has once its own methods made it ready for
    inference. To find that out takes as long as a build, and few want to know."""
    builds = [(candidate, WITH_PARAMETERS) for candidate, _ in measured.values()]
    answers = count_models(builds, source).measurements
    return {
        number: replace(answer, fused=getattr(answers[place], "fused", None))
        for place, (number, (_, answer)) in enumerate(measured.items())
    }


def paths_read(candidates: Sequence[Candidate], source: ProjectSource) -> list[str | None]:
    """Which of the given places earlier builds have read; see `what_was_read`."""
    if not candidates or not source.session.store.folder:
        return [None] * len(candidates)
    session = _with_interpreter(source.session)
    requests = [(candidate, Ask()) for candidate in candidates]
    paths = what_was_read(session, *_planned(requests, source), within(source.places))
    if None in paths:  # the next run knows more
        session.inputs.is_complete = False
    return paths


def _planned(
    requests: Sequence[tuple[Candidate, Ask]], source: ProjectSource
) -> tuple[frozenset[str], list[Order]]:
    """The names that the project's modules may be imported by, and an order for each candidate."""
    discovery, root = source.discovery, source.session.root
    roots = ("", "src") if (root / "src").is_dir() else ("",)
    imports: dict[str, tuple[ImportAttempt, ...]] = {}
    for location, is_file in {c.location: c.is_file for c, _ in requests}.items():
        if not is_file:  # an installed module
            imports[location] = (ImportAttempt(location, roots),)
        else:
            alone = ImportAttempt(Path(location).stem, ("",))
            imports[location] = discovery.plan(location) or (alone,)
    discovery.tree.remember()  # what was asked of files that nothing else looked into
    orders: list[Order] = []
    for candidate, ask in requests:
        target, build = candidate.target, candidate.build
        if not target.built.callable and build.recipe.call:  # a config file, its recipe's `path`
            setup = f"path = {target.built.location!r}\n{build.recipe.setup or ''}"
            build = dataclasses.replace(
                build, recipe=dataclasses.replace(build.recipe, setup=setup)
            )
        if names := {name for budget in candidate.budgets for name in budget.value.names}:
            # The parameters show which term a formula lacks.
            ask = dataclasses.replace(ask, names=tuple(sorted(names)), parameters=True)
        file = candidate.location if candidate.is_file else None
        attempts = imports[candidate.location]
        orders.append(Order(len(orders), str(target), file, attempts, build, ask))
    paths = discovery.tree.files
    return frozenset(part.removesuffix(".py") for path in paths for part in path.split("/")), orders


def _with_interpreter(session: Session) -> Session:
    """With the interpreter to build with, here or on the machines that the settings name."""
    if session.settings.on == LOCAL:
        return session.with_interpreter()
    there = remote_machines.interpreter_at(session.settings.on, session.settings.remote_python)
    return replace(session, interpreter=there)
