"""The present state of a project and one of its past: read and counted by the same worker, in the
same ways, and compared."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.changes.model_changes import Side, compare
from nparam_lint.changes.states import in_moved_file
from nparam_lint.count.worker_process import reused_worker
from nparam_lint.gate import as_the_project_builds, measure
from nparam_lint.gate.candidates import (
    Selection,
    candidate_for,
    completed,
    select_models,
    why_gone,
)
from nparam_lint.gate.judgements import reported_findings
from nparam_lint.gate.reading import read_source
from nparam_lint.gate.report import Report
from nparam_lint.ground.values import Position

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nparam_lint.changes.records import DiffReport
    from nparam_lint.changes.states import Past
    from nparam_lint.config.session import Session
    from nparam_lint.gate.candidates import Candidate, ProjectSource
    from nparam_lint.ground.notation import Target
    from nparam_lint.ground.notation.grammar import Tolerance
    from nparam_lint.ground.orders import Recipe

    _Key = tuple[Target, Recipe | None, str | None]


def compare_revisions(
    past: Past,
    now: Session,
    paths: Sequence[str] = (),
    *,
    declared_only: bool = False,
    tolerance: Tolerance | None = None,
) -> DiffReport:
    """What changed at and below some `paths` (none: in all of the project). `declared_only`: only
    models with a budget, then or now. `tolerance`: the drift that is allowed without a budget that
    explains it; None: any. Raises UsageError, as for a path that never was."""
    start = time.monotonic()
    moved, back = past.moves.files, past.moves.back
    places_then, places_now = past.places(paths, now)
    then = None if places_then is None else read_source(past.session, places_then)
    today = None if places_now is None else read_source(now, places_now)
    select_then = _select(then, today, back, declared_only)
    select_now = _select(today, then, moved, declared_only)
    some = select_then.candidates or select_now.candidates
    interpreter = now.with_interpreter().interpreter if some else None

    def count(source: ProjectSource | None, selection: Selection) -> Report:
        if source is None:
            return Report(None, (), ())
        session = replace(source.session, interpreter=interpreter)
        return measure(replace(source, session=session), selection)

    with reused_worker(imports=False):  # each side has modules of its own
        before, after = count(then, select_then), count(today, select_now)
    report = compare(
        Side(before, _unreadable(then)),
        Side(after, _unreadable(today)),
        past.base,
        now="index" if now.is_staged else "working tree",
        moved=moved,
        tolerance=tolerance,
        reported=lambda findings: reported_findings(findings, today) if today else list(findings),
    )
    notes = []
    if then is None:
        notes.append(f"it did not exist at {past.base.called}: everything is new")
    elif today is None:
        notes.append("it does not exist any more: everything is gone")
    copy = past.session.snapshot
    if copy and copy.absent:
        which = f"{copy.absent[0]} and what else is outside of the sparse checkout"
        notes.append(f"not compared: {which}, which this partial clone lacks")
    check = replace(report.check, seconds=time.monotonic() - start)
    return replace(report, notes=tuple(notes), check=check)


def _unreadable(source: ProjectSource | None) -> dict[str, str]:
    problems = source.discovery.problems if source else ()
    return {problem.position.path: problem.message for problem in problems}


def _select(
    source: ProjectSource | None,
    other_source: ProjectSource | None,
    moved: Mapping[str, str],
    declared_only: bool,
) -> Selection:
    """What to build of one state: its own models, and those that the other one builds in its own
    ways. `moved`: files of the other state → where they are in this one."""
    if source is None:
        return Selection()
    selection = select_models(
        candidates_of_both(source, other_source, moved) if other_source else source.candidates
    )
    if not declared_only:
        return as_the_project_builds(source, selection)
    declared = {candidate.target for candidate in source.candidates if candidate.is_declared}
    for candidate in other_source.candidates if other_source else ():
        if candidate.is_declared:
            declared.add(in_moved_file(candidate.target, moved))
    return Selection(
        [candidate for candidate in selection.candidates if candidate.target in declared]
    )


def candidates_of_both(
    source: ProjectSource, other_source: ProjectSource, moved: Mapping[str, str]
) -> list[Candidate]:
    """The models of a source, and those of it that the `other_source` builds with arguments or by a
    budget's recipe. `moved`: files of the other state → where they are in this one."""
    keys: set[_Key] = {(candidate.target, None, None) for candidate in source.candidates}
    keys |= {(entry.target, entry.recipe, entry.device) for entry in source.budgets}
    targets = [candidate.target for candidate in other_source.candidates]
    other_keys: list[_Key] = [(t, None, None) for t in targets if t.arguments is not None]
    other_keys += [(target, None, None) for target in targets if not target.is_path]
    other_keys += [
        (entry.target, entry.recipe, entry.device)
        for entry in other_source.budgets
        if entry.recipe is not None and entry.target in targets
    ]
    settings, discovery = source.settings, source.discovery
    candidates: dict[_Key, Candidate] = {}
    for target, recipe, device in other_keys:
        here = in_moved_file(target, moved)
        if (here, recipe, device) in keys or why_gone(here, settings.root, discovery):
            continue
        candidate = candidate_for(here, Position(here.location), settings, discovery)
        build = candidate.build
        recipe, device = completed(here, recipe, build.recipe), device or build.device
        candidate = candidate.with_build(recipe=recipe, device=device)
        candidates[here, recipe, device] = candidate
    return [*source.candidates, *candidates.values()]
