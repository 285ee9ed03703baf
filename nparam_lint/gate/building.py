"""Requests → jobs → answers: with which interpreter models are built, where, and in what limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nparam_lint.config.interpreter import NoInterpreter, environments_in
from nparam_lint.config.settings import LOCAL
from nparam_lint.count import remote_machines, remote_run
from nparam_lint.count.answers import Answers
from nparam_lint.count.run import run_orders, what_was_read
from nparam_lint.count.worker_process import start_early
from nparam_lint.discover import within
from nparam_lint.discover.definitions import Definition
from nparam_lint.gate.candidates import Candidate, may_be_built, one_reason
from nparam_lint.ground.orders import Ask, ImportAttempt, Order

if TYPE_CHECKING:
    from nparam_lint.config.session import Session
    from nparam_lint.discover import Discovery
    from nparam_lint.gate.candidates import ProjectSource


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
    asked: Sequence[tuple[Candidate, Ask]],
    source: ProjectSource,
    meanwhile: Callable[[], None] = lambda: None,
) -> Answers:
    """Build and count every candidate; the measurements are by its number. `source`: the one that
    they come from. `meanwhile` is called while the worker is busy.

    Raises NoInterpreter where the settings name an interpreter that does not exist.
    """
    if not asked:
        meanwhile()
        return Answers()
    session = _with_interpreter(source.session)
    names, orders = _planned(asked, source)
    # A model, and the classes that are judged inside it, are one build.
    alike = {replace(order, id=0, label=""): order.id for order in reversed(orders)}
    first = {order.id: alike[replace(order, id=0, label="")] for order in orders}
    orders = [order for order in orders if first[order.id] == order.id]
    run = run_orders
    if session.settings.on != LOCAL:
        run = remote_run.run_orders_on
    answers = run(session, names, orders, meanwhile)
    answers.measurements |= {n: answers.measurements[own] for n, own in first.items()}
    for number, (candidate, _) in enumerate(asked):
        answers.measurements[number] = one_reason(candidate, answers.measurements[number])
    answers.interpreter = session.interpreter
    if answers.broken is not None:
        folders = sorted(source.found.tree.folders - {""})
        answers.inside = environments_in(session.home, folders)
    return answers


def paths_read(candidates: Sequence[Candidate], source: ProjectSource) -> list[str | None]:
    """Which of the given places earlier builds have read; see `what_was_read`."""
    if not candidates or not source.session.store.folder:
        return [None] * len(candidates)
    session = _with_interpreter(source.session)
    asked = [(candidate, Ask()) for candidate in candidates]
    read = what_was_read(session, *_planned(asked, source), within(source.places))
    if None in read:  # the next run knows more
        session.inputs.is_complete = False
    return read


def _planned(
    asked: Sequence[tuple[Candidate, Ask]], source: ProjectSource
) -> tuple[frozenset[str], list[Order]]:
    """The names under which anything of the project could be imported, and an order for each
    candidate."""
    found, root = source.found, source.session.root
    places = {candidate.location: candidate.is_file for candidate, _ in asked}
    plans = {at: _import_attempts(at, own, root, found) for at, own in places.items()}
    found.tree.remember()  # what the plans asked of files that nothing else looked into
    orders = [_order(n, c, ask, plans[c.location]) for n, (c, ask) in enumerate(asked)]
    names = (part.removesuffix(".py") for path in found.tree.files for part in path.split("/"))
    return frozenset(names), orders


def _with_interpreter(session: Session) -> Session:
    """With the interpreter to build with, here or on the machines that the settings name."""
    if session.settings.on == LOCAL:
        return session.with_interpreter()
    there = remote_machines.interpreter_at(session.settings.on, session.settings.remote_python)
    return replace(session, interpreter=there)


def _import_attempts(
    location: str, is_path: bool, root: Path, found: Discovery
) -> tuple[ImportAttempt, ...]:
    """The ways to import what a target's location names: a file, or an installed module."""
    if not is_path:
        roots = ("", "src") if (root / "src").is_dir() else ("",)
        return (ImportAttempt(location, roots),)
    return found.plan(location) or (ImportAttempt(Path(location).stem, ("",)),)


def _order(
    number: int, candidate: Candidate, ask: Ask, attempts: tuple[ImportAttempt, ...]
) -> Order:
    target, build = candidate.target, candidate.build
    if not target.built.callable and build.recipe.call:  # a config file: its recipe says `path`
        setup = f"path = {target.built.location!r}\n{build.recipe.setup or ''}"
        build = replace(build, recipe=replace(build.recipe, setup=setup))
    if names := {name for budget in candidate.budgets for name in budget.value.names}:
        # The parameters show which term a formula lacks.
        ask = replace(ask, names=tuple(sorted(names)), parameters=True)
    file = candidate.location if candidate.is_file else None
    return Order(number, str(target), file, attempts, build, ask)
