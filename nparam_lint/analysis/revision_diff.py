"""Two states of one project: read and counted by the same interpreter, at the same time, in the
same ways, and compared."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from nparam_lint import __version__
from nparam_lint.analysis.diff import Base, DiffReport, Side, compare
from nparam_lint.count.interpreter import find_interpreter
from nparam_lint.gate.pipeline import further, limits, measure, read, reported, select_models
from nparam_lint.records import NotMeasured, Report

if TYPE_CHECKING:
    from pathlib import Path

    from nparam_lint.claims.grammar import Tolerance
    from nparam_lint.config.settings import Settings
    from nparam_lint.gate.pipeline import Asked, Progress, Source

_Skipped = Sequence[tuple[str, NotMeasured]]


@dataclass(frozen=True, slots=True)
class Place:
    """Where one side is: its settings, and the paths to look under (none: the whole project).
    `exists`: whether anything of it is there."""

    settings: Settings
    paths: Sequence[Path] = ()
    exists: bool = True


def drift(
    base: Place,
    now: Place,
    about: Base,
    environ: Mapping[str, str],
    *,
    moved: Mapping[str, str],
    staged: bool = False,
    declared_only: bool = False,
    tolerance: Tolerance | None = None,
    progress: Progress | None = None,
) -> DiffReport:
    """What changed between two states of a project. `moved`: files of the base → where they are
    now. `declared_only`: only models that somebody declares a budget for, then or now."""
    start = time.monotonic()
    back = {new: old for old, new in moved.items()}
    base = replace(base, settings=_comparable(base.settings, now.settings, back))
    then, today = _read(base), _read(now)
    asked_then, skipped_then = _select(then, today, back, declared_only)
    asked_now, skipped_now = _select(today, then, moved, declared_only)
    home = now.settings.home
    interpreter = (
        find_interpreter(home, now.settings.python, now.settings.python_from, environ)
        if asked_then or asked_now
        else None
    )
    show = _Shown(progress, len(asked_then) + len(asked_now))
    shares = 2 if asked_then and asked_now else 1

    def side(
        source: Source | None, asked: Sequence[Asked], skipped: _Skipped, number: int
    ) -> Report:
        if source is None:
            return Report(__version__, None, (), ())
        jobs = -(-limits(source.settings).jobs // shares)
        source = replace(source, settings=replace(source.settings, jobs=jobs))
        return measure(source, asked, skipped, environ, show.of(number), interpreter=interpreter)

    try:
        before, after = _together(
            lambda: side(then, asked_then, skipped_then, 0),
            lambda: side(today, asked_now, skipped_now, 1),
        )
    finally:
        show.end()
    found = compare(
        Side(before, _unreadable(then)),
        Side(after, _unreadable(today)),
        about,
        now="index" if staged else "working tree",
        moved=moved,
        tolerance=tolerance,
        heed=lambda findings: reported(findings, today) if today else list(findings),
    )
    return replace(found, notes=_notes(base, now, about), seconds=time.monotonic() - start)


def _notes(base: Place, now: Place, about: Base) -> tuple[str, ...]:
    if not base.exists:
        return (f"at {about.called} there was nothing of it yet: everything is new",)
    return () if now.exists else ("nothing of it is there now: everything is gone",)


def _comparable(base: Settings, now: Settings, back: Mapping[str, str]) -> Settings:
    """The base's own budgets and arguments; today's limits, device and excluded files, and today's
    arguments for what the base says nothing about."""
    arguments = {
        replace(target, location=back.get(target.location, target.location)): recipe
        for target, recipe in now.arguments.items()
    }
    return replace(
        base,
        device=now.device,
        timeout=now.timeout,
        memory=now.memory,
        jobs=now.jobs,
        exclude=now.exclude,
        arguments={**arguments, **base.arguments},
    )


def _read(place: Place) -> Source | None:
    return read(place.settings, place.paths) if place.exists else None


def _unreadable(source: Source | None) -> dict[str, str]:
    problems = source.found.problems if source else ()
    return {problem.position.path: problem.message for problem in problems}


def _select(
    source: Source | None, other: Source | None, moved: Mapping[str, str], declared_only: bool
) -> tuple[list[Asked], _Skipped]:
    """What one side builds: what it asks for, and what the other side builds in its own ways.
    `moved`: files of the other side → where they are on this one."""
    if source is None:
        return [], []
    others = list(other.asked) if other else []
    more = further(source, other, moved) if other else []
    asked, skipped = select_models([*source.asked, *more], False)
    if not declared_only:
        return asked, skipped
    wanted = {model.target for model in source.asked if model.declared}
    for model in others:
        if model.declared:
            at = moved.get(model.target.location, model.target.location)
            wanted.add(replace(model.target, location=at))
    return [model for model in asked if model.target in wanted], []


def _together(base: Callable[[], Report], now: Callable[[], Report]) -> tuple[Report, Report]:
    """Each starts a worker of its own, and most of its time is spent waiting for it."""
    found: list[Report] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            found.append(base())
        except BaseException as error:  # told by the thread that waits
            failed.append(error)

    # Nobody waits for it after Ctrl-C: its worker ends when this process does.
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    after = now()
    thread.join()
    if failed:
        raise failed[0]
    return found[0], after


class _Shown:
    """One line of progress for both sides."""

    def __init__(self, progress: Progress | None, every: int) -> None:
        self.progress = progress
        self.every = every
        self.done = [0, 0]
        self.lock = threading.Lock()

    def of(self, side: int) -> Progress | None:
        return (lambda done, _, label: self.show(side, done, label)) if self.progress else None

    def show(self, side: int, done: int, label: str) -> None:
        with self.lock:
            self.done[side] = done
            if self.progress and sum(self.done) < self.every:
                self.progress(sum(self.done), self.every, label)

    def end(self) -> None:
        with self.lock:
            if self.progress and self.every:
                self.progress(self.every, self.every, "")
            self.progress = None
