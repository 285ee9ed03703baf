"""The count of a model at each commit that could have changed it.

What a build reads decides which commits these are: the files that a build of the model has read
before are known (`ReplayInputs`), and so are their earlier names. Every commit that changes one of
them is built from a copy, unless the cache remembers it: what a commit holds never changes.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from nparam_lint.config import commands
from nparam_lint.count.measured import Measured
from nparam_lint.count.run import name_of_interpreter
from nparam_lint.count.worker_process import reused_worker
from nparam_lint.gate import built_in_a_way, measure
from nparam_lint.gate.candidates import WITH_PARAMETERS, Selection
from nparam_lint.gate.judge import UNEQUAL, amount, selected
from nparam_lint.gate.reading import read_targets
from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.facts import digest
from nparam_lint.ground.paths import relative_path
from nparam_lint.repository.git import GitError
from nparam_lint.repository.log import Commit, commit_named, commits_that_change, earlier_names
from nparam_lint.repository.snapshot import copied

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.changes.states import States
    from nparam_lint.config.session import Session
    from nparam_lint.count.measured import Measurement
    from nparam_lint.gate.candidates import ProjectSource
    from nparam_lint.ground.notation import Selector, Target

_ANY_SOURCE = "**/*.py"  # a pattern of git: where it is not known what a build reads


class HistoryRequest(Struct, frozen=True):
    """What the history is asked for: of which model, and what of it."""

    target: Target
    selector: Selector
    states: States
    since: str | None = None
    first_parent: bool = False


class CommitState(Struct, frozen=True):
    """A model at one commit. `reason`: why it has no count. `path`: its file. `read`: the files of
    the repository that its build read, as git names them."""

    count: int | None
    reason: str = ""
    path: str = ""
    read: tuple[str, ...] = ()


class Point(Struct, frozen=True):
    """`change`: to the last count before it, by first parents. `cached`: an earlier run has built
    it."""

    commit: Commit
    state: CommitState
    change: int | None = None
    cached: bool = False


class History(Struct, frozen=True):
    """Newest first. `selector`: what of the target is counted, empty for all of it; `notes`: what
    is to be known of the counts."""

    target: str
    selector: str = ""
    points: tuple[Point, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    error: str | None = None

    @property
    def name(self) -> str:
        return self.target + (f"[{self.selector}]" if self.selector else "")

    @property
    def is_counted(self) -> bool:
        return any(point.state.count is not None for point in self.points)


def read_history(request: HistoryRequest) -> History:
    """Build the model at each commit. Raises UsageError."""
    start = time.monotonic()
    subject = str(request.target), str(request.selector)
    walk, progress = _Walk(request), request.states.now.progress
    with reused_worker(imports=False):  # each copy has modules of its own
        walk.visit(commit_named(walk.repository, walk.tip))
        while fresh := [c for c in walk.commits() if c.sha not in walk.states]:
            for number, commit in enumerate(fresh):
                progress(number, len(fresh), f"{commit.sha[:7]} {commit.subject}")
                walk.visit(commit)
            if walk.error:
                break
    progress(1, 1, "")
    if walk.error:
        return History(*subject, error=walk.error)
    notes = ["built with the packages that are installed now"]
    if any(_ANY_SOURCE in state.read for state in walk.states.values()):
        notes.append("any file may say how to build it: every commit that changes source is built")
    if walk.repository.is_shallow():
        notes.append("this clone is shallow; next, for its whole history: git fetch --unshallow")
    history = History(*subject, tuple(walk.points()))
    if not history.is_counted:
        step = commands.show(request.states.now, request.target)
        notes.append(f"no commit could be counted; next: {step}")
    return replace(history, notes=tuple(notes), seconds=time.monotonic() - start)


class _Walk:
    """The commits that were looked at, and what was found."""

    def __init__(self, request: HistoryRequest) -> None:
        self.request = request
        self.repository = repository = request.states.repository
        self.tip = repository.resolve("HEAD")
        self.since = repository.merge_base(request.since) if request.since else None
        self.memory = _Memory(request)
        self.states: dict[str, CommitState] = {}
        self.cached: set[str] = set()
        self.error: str | None = None
        settings = request.states.now.settings
        self.below = request.states.now.home.relative_to(repository.top).as_posix()
        configs = [settings.config, *settings.extended]
        inside = [path for path in configs if path and path.is_relative_to(repository.top)]
        self.paths = {path.relative_to(repository.top).as_posix() for path in inside}
        # What is built may be in an installed package; then it is about the class inside it.
        target = request.target
        self.file = target.built.location if target.built.is_path else target.location
        # The names of that file, the newest first.
        self.names = {os.path.normpath(f"{self.below}/{self.file}"): None}
        self.followed: set[str] = set()  # paths whose earlier names are known

    def commits(self) -> list[Commit]:
        """Those that may have another count, as far as is known by now."""
        paths = {*self.paths, *self.names}.union(*(state.read for state in self.states.values()))
        unknown = paths - self.followed
        self.followed |= unknown
        for old, new in earlier_names(self.repository, unknown - {_ANY_SOURCE}, self.tip):
            self.paths.add(old)
            if new in self.names:
                self.names[old] = None
        paths |= self.paths | {*self.names}
        first, since = self.request.first_parent, self.since
        commits = commits_that_change(self.repository, paths, self.tip, since, first)
        if since and all(commit.sha != since for commit in commits):
            commits.append(commit_named(self.repository, since))
        return commits

    def visit(self, commit: Commit) -> None:
        state = self.memory.load(commit.sha)
        if state is not None:
            self.cached.add(commit.sha)
        elif self.error is None:
            state = self.build(commit.sha)
        if state is not None:
            self.states[commit.sha] = state

    def build(self, sha: str) -> CommitState:
        """The state at a commit, which is kept if another attempt would give the same."""
        name = next((name for name in self.names if self.repository.has(sha, name)), None)
        if name is None:  # which names it had may be known better the next time
            return _ABSENT
        location = relative_path(name, self.below)
        states = self.request.states
        try:
            with copied(self.repository, sha, is_past=True) as copy:
                root = copy.copy_of(states.now.home)
                session = states.session_at(copy, root, {self.file: location})
                session = replace(session, interpreter=self.memory.session.interpreter)
                state, lasts = self.count(_at(self.request.target, location), session)
        except UsageError as error:
            state = CommitState(None, " ".join(str(error).split()))
            lasts = not isinstance(error, GitError)
        state = replace(state, path=name)
        if lasts:
            self.memory.save(sha, state)
        return state

    def count(self, target: Target, session: Session) -> tuple[CommitState, bool]:
        """The state in a copy, and whether another attempt would give the same."""
        source, session = read_targets(session, [target]), session.with_own_inputs()
        source = replace(source, session=session)
        measurement = self.measure(source, target)
        files = {_ANY_SOURCE}
        if session.inputs.is_complete:
            top, copy = self.repository.top, session.snapshot
            assert copy is not None
            paths = (relative_path(path, top) for path in session.inputs.read())
            files = {*paths}.intersection(copy.importable)
        candidate = source.candidates[0]
        if candidate.needs_way(measurement):
            files.add(_ANY_SOURCE)  # any file may say how to build it
            if whole := built_in_a_way(candidate, source.session):
                way = whole.candidates[0].way
                assert way is not None
                measurement = self.measure(whole, target)
                files.add(os.path.normpath(f"{self.below}/{way.position.path}"))
        count, reason = _count(measurement, self.request.selector)
        lasts = isinstance(measurement, Measured) or not measurement.is_transient
        return CommitState(count, reason, read=tuple(sorted(files))), lasts and self.error is None

    def measure(self, source: ProjectSource, target: Target) -> Measurement:
        selection = Selection(source.candidates, skip_failures=False, ask=WITH_PARAMETERS)
        report = measure(source, selection)
        self.error = self.error or report.error
        return next(model.measurement for model in report.models if model.target == str(target))

    def points(self) -> Iterator[Point]:
        """Those of the commits at which the model's file was there."""
        commits, since = {commit.sha: commit for commit in self.commits()}, self.since

        def last_count(commit: Commit) -> int | None:
            count = None
            while count is None and commit.sha != since:
                before = commits.get(next(iter(commit.parents), since) or "")
                if before is None:
                    break
                commit, count = before, self.states[before.sha].count
            return count

        for commit in commits.values():
            state = self.states[commit.sha]
            if state == _ABSENT:
                continue
            was = None if state.count is None else last_count(commit)
            change = None if was is None or state.count is None else state.count - was
            yield Point(commit, state, change, commit.sha in self.cached)


_ABSENT = CommitState(None, "the file is not there")


def _at(target: Target, location: str) -> Target:
    """The target in the file that it was in."""
    if target.host and target.host.is_path:
        return replace(target, host=replace(target.host, location=location))
    return replace(target, location=location)


def _count(measurement: Measurement, selector: Selector) -> tuple[int | None, str]:
    """The count that is asked for, or why there is none."""
    if not isinstance(measurement, Measured):
        return None, measurement.reason
    rows = selected(selector, measurement.modules)
    counts = {row.of(selector.metric) for row in rows}
    if len(counts) == 1 and None not in counts:
        return amount(rows[0], selector.metric), ""
    if not rows:
        return None, f"no module matches {selector.module!r}"
    return None, measurement.no_routing or UNEQUAL


# --- what earlier runs have built -----------------------------------------------------------------


class _Memory:
    """The states of commits that earlier runs have found. They hold for one interpreter with its
    packages, and for what is asked; what a commit holds is its name."""

    def __init__(self, request: HistoryRequest) -> None:
        self.session = request.states.now.with_interpreter()
        settings = self.session.settings
        self.store = self.session.store
        values = (settings.device, settings.arguments, settings.patterns, settings.exclude)
        home = str(self.session.home)
        key = (str(request.target), str(request.selector), home, repr(values))
        self.key = tuple(part.encode("utf-8", "surrogateescape") for part in key)
        self._place: str | None = None

    @property
    def place(self) -> str:
        """What the names of the entries begin with; "" while nothing is known of the
        interpreter."""
        if not self._place and self.store.folder:
            name = name_of_interpreter(self.session)
            self._place = name and f"commit-{digest(name.encode(), *self.key)}"
        return self._place or ""

    def load(self, sha: str) -> CommitState | None:
        body = self.store.load(f"{self.place}-{sha}") if self.place else None
        with suppress(msgspec.MsgspecError):
            return None if body is None else msgspec.json.decode(body, type=CommitState)
        return None

    def save(self, sha: str, state: CommitState) -> None:
        if self.place:
            self.store.save(f"{self.place}-{sha}", msgspec.json.encode(state))
