"""Two reports → what changed between them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from nparam_lint.analysis.diff.diff_records import Base, DiffReport, ModelDiff
from nparam_lint.analysis.diff.drift_rule import explain, judge_drift
from nparam_lint.analysis.diff.match_models import Match, match, split_target
from nparam_lint.analysis.diff.module_changes import compare_modules
from nparam_lint.records import Finding, Measured, ModelReport, NotMeasured, Position, Report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Literal

    from nparam_lint.analysis.diff.diff_records import Status
    from nparam_lint.claims.grammar import Tolerance


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two that are compared. `unreadable`: files in which no model could be looked for,
    with the reason."""

    report: Report
    unreadable: Mapping[str, str] = field(default_factory=dict)


def compare(
    before: Side,
    after: Side,
    base: Base,
    *,
    now: Literal["working tree", "index"] = "working tree",
    moved: Mapping[str, str] | None = None,
    tolerance: Tolerance | None = None,
    reported: Callable[[Iterable[Finding]], list[Finding]] = list,
) -> DiffReport:
    """`moved`: files of the base → where they are now. `tolerance`: how far a count may drift
    without a budget that says so; None: drift is no failure. `reported`: which findings are to be
    reported, and how severe they are."""
    moved = moved or {}
    report = DiffReport(
        base=base,
        now=now,
        environment=after.report.environment or before.report.environment,
        tolerance=tolerance.text if tolerance else None,
        files=after.report.files,
        seconds=max(before.report.seconds, after.report.seconds),
        error=after.report.error
        or (f"at {base.called}: {before.report.error}" if before.report.error else None),
    )
    if report.error:
        return report
    every = sorted(
        map(_model, _present(before, after, moved)),
        key=lambda model: (model.target.partition("::")[0], model.position.line, model.target),
    )
    kept = [model for model in every if model.declared or _is_counted(model)]
    unmeasured = [model for model in every if not (model.declared or _is_counted(model))]
    models = [_with_findings(model, after.report) for model in kept]
    if tolerance is not None:
        models = judge_drift(models, tolerance, base, reported)
    return replace(
        report,
        models=tuple(models),
        findings=_findings(models, before, after, moved),
        unmeasured=tuple(
            (m.target, m.after) for m in unmeasured if isinstance(m.after, NotMeasured)
        ),
    )


def _present(before: Side, after: Side, moved: Mapping[str, str]) -> Iterator[Match]:
    """Every model of both sides. One that is missing where its file cannot be read is there, but
    not measured."""
    then = [*before.report.models, *_skipped(before.report)]
    now = [*after.report.models, *_without_needless(_skipped(after.report), then, moved)]
    back = {new: old for old, new in moved.items()}
    for pair in match(then, now, moved):
        if pair.before and not pair.after:
            pair = pair._replace(after=_unread(pair.before, moved, after.unreadable))
        elif pair.after and not pair.before:
            pair = pair._replace(before=_unread(pair.after, back, before.unreadable))
        yield pair


def _skipped(report: Report) -> list[ModelReport]:
    """The models without a budget that could not be built."""
    return [
        ModelReport(target, Position(target.partition("::")[0]), failure)
        for target, failure in report.skipped
    ]


def _without_needless(
    skipped: Iterable[ModelReport], then: Iterable[ModelReport], moved: Mapping[str, str]
) -> Iterator[ModelReport]:
    """Without the bare models that were not built because all their budgets have arguments."""
    known: dict[tuple[str, str], list[str]] = defaultdict(list)
    for model in then:
        location, called, arguments = split_target(model)
        known[moved.get(location, location), called].append(arguments)
    for model in skipped:
        location, called, arguments = split_target(model)
        if arguments or not all(known.get((location, called), [""])):
            yield model


def _unread(
    model: ModelReport, places: Mapping[str, str], unreadable: Mapping[str, str]
) -> ModelReport | None:
    """On the side where it is missing; `places`: where files of the other side are on this one."""
    location, called, arguments = split_target(model)
    place = places.get(location, location)
    if place not in unreadable:
        return None
    reason = NotMeasured("NPL003", f"{place} {unreadable[place]}", cause="unreadable")
    return ModelReport(f"{place}::{called}{arguments}", model.position, reason)


# --- one model --------------------------------------------------------------------------------


def _model(pair: Match) -> ModelDiff:
    old, new, evidence = pair
    one = new or old
    assert one is not None
    found = ModelDiff(
        one.target,
        one.position,
        "not_measured",
        old.measurement if old else None,
        new.measurement if new else None,
        declared=one.declared and new is not None,
        top_level=one.top_level,
    )
    with_budget = True if one.declared else None
    if new is None:
        # What was declared in its docstring went with it; what is left in the config is a finding.
        return replace(found, status="removed", explained=with_budget)
    if old is None:
        is_new = isinstance(new.measurement, Measured)
        return replace(found, status="added", explained=with_budget) if is_new else found
    if old.target != new.target:
        found = replace(found, before_target=old.target, evidence=evidence)
    return _compared(found, old, new)


def _compared(found: ModelDiff, old: ModelReport, new: ModelReport) -> ModelDiff:
    before, after = old.measurement, new.measurement
    if not (isinstance(before, Measured) and isinstance(after, Measured)):
        return found
    modules = compare_modules(before.modules, after.modules)
    notes = []
    # The config may say something else now about how it is built.
    if before.call.partition("(")[2] != after.call.partition("(")[2]:
        notes.append(f"built as {after.call}, before as {before.call}")
    was, now = (sum(hidden.count for hidden in side.hidden) for side in (before, after))
    if was != now:
        notes.append(f"parameters that parameters() does not return: {was:,} → {now:,}")
    is_same = not modules and before.counts.by_name() == after.counts.by_name()
    status: Status = "same" if is_same else "changed"
    status = "renamed" if found.before_target else status
    found = replace(found, status=status, modules=modules, notes=tuple(notes))
    if found.delta:
        explained, words = explain(old, new)
        found = replace(found, explained=explained, explanation=words)
    return found


def _is_counted(model: ModelDiff) -> bool:
    """On either side."""
    return isinstance(model.before, Measured) or isinstance(model.after, Measured)


# --- findings ---------------------------------------------------------------------------------


def _with_findings(model: ModelDiff, report: Report) -> ModelDiff:
    """A declared model must be measured; a deleted model must not be declared."""
    if isinstance(model.after, Measured):
        return model
    if model.after is not None:
        code, target = model.after.code, model.target
        found = [f for f in report.findings if f.code == code and f.target == target]
        return replace(model, findings=tuple(found))
    stale = [f for f in report.findings if f.code == "NPL008"]
    stale = [f for f in stale if f.target.partition("(")[0] == model.bare]
    return replace(model, findings=tuple(stale), explained=False if stale else model.explained)


def _findings(
    models: Iterable[ModelDiff], before: Side, after: Side, moved: Mapping[str, str]
) -> tuple[Finding, ...]:
    found = dict.fromkeys(finding for model in models for finding in model.findings)
    known = {moved.get(path, path) for path in before.unreadable}
    for finding in after.report.findings:
        unread = finding.code == "NPL003" and not finding.target
        if finding.code == "NPL008" or (unread and finding.position.path not in known):
            found[finding] = None
    return tuple(sorted(found, key=lambda f: (f.position.path, f.position.line, f.code, f.message)))
