"""Two states of one project: read and counted by the same worker, in the same ways, and
compared."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from nparam_lint.changes import Base, DiffReport, Side, compare
from nparam_lint.count.worker_process import reused_worker
from nparam_lint.gate import as_the_project_builds, measure
from nparam_lint.gate.candidates import Selection, candidates_of_other_revision, select_models
from nparam_lint.gate.judgements import reported_findings
from nparam_lint.gate.reading import read_source
from nparam_lint.gate.report import Report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from nparam_lint.claims.grammar import Tolerance
    from nparam_lint.config.session import Session
    from nparam_lint.gate.candidates import ProjectSource


@dataclass(frozen=True, slots=True)
class Checkout:
    """One state of the project, and the paths to look under (none: all of it).
    `exists`: whether anything of it is there."""

    session: Session
    paths: Sequence[Path] = ()
    exists: bool = True


def compare_revisions(
    base: Checkout,
    now: Checkout,
    about: Base,
    *,
    moved: Mapping[str, str],
    staged: bool,
    declared_only: bool,
    tolerance: Tolerance | None,
) -> DiffReport:
    """What changed between two states of a project. `about`: the revision that `base` is a copy of.
    `moved`: files of the base → where they are now. `staged`: `now` is the index. `declared_only`:
    only models with a budget, then or now. `tolerance`: the drift that is allowed without a budget
    that explains it; None: any. Raises NoInterpreter."""
    start = time.monotonic()
    back = {new: old for old, new in moved.items()}
    then = _read(replace(base, session=comparable(base.session, now.session, back)))
    today = _read(now)
    select_then = _select(then, today, back, declared_only)
    select_now = _select(today, then, moved, declared_only)
    some = select_then.candidates or select_now.candidates
    interpreter = now.session.with_interpreter().interpreter if some else None

    def count(source: ProjectSource | None, selection: Selection) -> Report:
        if source is None:
            return Report(None, (), ())
        session = replace(source.session, interpreter=interpreter)
        return measure(replace(source, session=session), selection)

    with reused_worker(imports=False):  # each side has modules of its own
        before, after = count(then, select_then), count(today, select_now)
    found = compare(
        Side(before, _unreadable(then)),
        Side(after, _unreadable(today)),
        about,
        now="index" if staged else "working tree",
        moved=moved,
        tolerance=tolerance,
        reported=lambda findings: reported_findings(findings, today) if today else list(findings),
    )
    notes = []
    if not base.exists:
        notes.append(f"it did not exist at {about.called}: everything is new")
    elif not now.exists:
        notes.append("it does not exist any more: everything is gone")
    copy = base.session.snapshot
    if copy and copy.absent:
        which = f"{copy.absent[0]} and what else is outside of the sparse checkout"
        notes.append(f"not compared: {which}, which this partial clone lacks")
    return replace(found, notes=tuple(notes), seconds=time.monotonic() - start)


def comparable(base: Session, now: Session, back: Mapping[str, str]) -> Session:
    """The base's own budgets and arguments; today's limits, device and excluded files, and today's
    arguments for what the base says nothing about."""
    today = now.settings
    arguments = {
        replace(target, location=back.get(target.location, target.location)): recipe
        for target, recipe in today.arguments.items()
    }
    return base.with_settings(
        device=today.device,
        timeout=today.timeout,
        memory=today.memory,
        jobs=today.jobs,
        exclude=today.exclude,
        arguments={**arguments, **base.settings.arguments},
    )


def _read(checkout: Checkout) -> ProjectSource | None:
    return read_source(checkout.session, checkout.paths) if checkout.exists else None


def _unreadable(source: ProjectSource | None) -> dict[str, str]:
    problems = source.found.problems if source else ()
    return {problem.position.path: problem.message for problem in problems}


def _select(
    source: ProjectSource | None,
    other: ProjectSource | None,
    moved: Mapping[str, str],
    declared_only: bool,
) -> Selection:
    """What to build of one state: its own models, and those that the other one builds in its own
    ways. `moved`: files of the other state → where they are in this one."""
    if source is None:
        return Selection()
    others = other.candidates if other else ()
    more = candidates_of_other_revision(source, other, moved) if other else []
    selection = select_models([*source.candidates, *more])
    if not declared_only:
        return as_the_project_builds(source, selection)
    wanted = {candidate.target for candidate in source.candidates if candidate.is_declared}
    for candidate in others:
        if candidate.is_declared:
            at = moved.get(candidate.target.location, candidate.target.location)
            wanted.add(replace(candidate.target, location=at))
    return Selection(
        [candidate for candidate in selection.candidates if candidate.target in wanted]
    )


# --- where things were: paths relative to the repository, with `/` --------------------------------


@dataclass(frozen=True, slots=True)
class Moves:
    """`renames`: old → new, as git tells it. `root`: the project's directory now, `root_then`: at
    the base; both are empty where it is the whole repository."""

    renames: Mapping[str, str]
    root: str
    root_then: str

    @property
    def files(self) -> dict[str, str]:
        """What was renamed, relative to the two roots."""
        return {
            _relative(old, self.root_then): _relative(new, self.root)
            for old, new in self.renames.items()
            if is_below(old, self.root_then) and is_below(new, self.root)
        }

    def then(self, path: str) -> Iterator[str]:
        """Where to look at the base for what is, or would be, at `path` now."""
        own = _joined(self.root_then, _relative(path, self.root))
        yield own
        for old, new in self.renames.items():
            if is_below(new, path) and is_below(old, self.root_then) and not is_below(old, own):
                yield old

    def now(self, path: str) -> Iterator[str]:
        """Where to look now for what is at `path`, or was there at the base."""
        own = _joined(self.root_then, _relative(path, self.root))
        yield path
        for old, new in self.renames.items():
            if is_below(old, own) and is_below(new, self.root) and not is_below(new, path):
                yield new


def find_moves(renames: Mapping[str, str], root: str, was: Callable[[str], bool]) -> Moves:
    """`was`: whether a directory existed at the base. Where the root did not, it was what most of
    its files were renamed from."""
    if not root or was(root):
        return Moves(renames, root, root)
    places: Counter[str] = Counter()
    for old, new in renames.items():
        name = new.removeprefix(f"{root}/")
        if name != new and old.endswith(f"/{name}"):
            places[old.removesuffix(f"/{name}")] += 1
    return Moves(renames, root, places.most_common(1)[0][0] if places else root)


def is_below(path: str, directory: str) -> bool:
    """Whether a path is a directory or below it; "" is the repository."""
    return not directory or path == directory or path.startswith(f"{directory}/")


def _relative(path: str, directory: str) -> str:
    return path.removeprefix(directory).removeprefix("/") if directory else path


def _joined(directory: str, path: str) -> str:
    return "/".join(part for part in (directory, path) if part)
