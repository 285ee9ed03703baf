"""Two reports → what changed between them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from nparam_lint.analysis.diff.diff_records import Base, DiffReport, ModelDiff
from nparam_lint.analysis.diff.drift_rule import explain, judge_drift
from nparam_lint.analysis.diff.match_models import Match, ReportedModel, entries, match
from nparam_lint.analysis.diff.module_changes import compare_modules
from nparam_lint.records import Finding, Measured, NotMeasured, Report

if TYPE_CHECKING:
    from typing import Literal

    from nparam_lint.analysis.diff.diff_records import Status
    from nparam_lint.claims.grammar import Tolerance

Filter = Callable[[Iterable[Finding]], list[Finding]]


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
    reported: Filter = list,
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
    every = _sorted(_model(pair) for pair in _present(before, after, moved))
    models = [_with_findings(m, after.report) for m in every if _is_counted(m) or m.declared]
    if tolerance is not None:
        models = judge_drift(models, tolerance, base, reported)
    return replace(
        report,
        models=tuple(models),
        findings=_findings(models, before, after, moved),
        unmeasured=tuple(
            (model.target, model.after)
            for model in every
            if isinstance(model.after, NotMeasured) and not (_is_counted(model) or model.declared)
        ),
    )


def _present(before: Side, after: Side, moved: Mapping[str, str]) -> list[Match]:
    """Every model of both sides. One that is missing where its file cannot be read is there, but
    not measured."""
    then, now = entries(before.report), entries(after.report)
    back = {new: old for old, new in moved.items()}
    found = []
    for pair in match(then, _without_needless(now, then, moved), moved):
        if pair.before and not pair.after:
            place = moved.get(pair.before.location, pair.before.location)
            pair = replace(pair, after=_unread(pair.before, place, after.unreadable))
        elif pair.after and not pair.before:
            place = back.get(pair.after.location, pair.after.location)
            pair = replace(pair, before=_unread(pair.after, place, before.unreadable))
        found.append(pair)
    return found


def _without_needless(
    now: list[ReportedModel], then: list[ReportedModel], moved: Mapping[str, str]
) -> list[ReportedModel]:
    """Nobody builds the bare model any more that was only ever built with arguments."""
    known: dict[tuple[str, str], list[str]] = defaultdict(list)
    for entry in then:
        known[moved.get(entry.location, entry.location), entry.callable].append(entry.arguments)
    return [
        entry
        for entry in now
        if entry.report is not None
        or entry.arguments
        or not all(known.get((entry.location, entry.callable), [""]))
    ]


def _unread(
    entry: ReportedModel, place: str, unreadable: Mapping[str, str]
) -> ReportedModel | None:
    if place not in unreadable:
        return None
    reason = NotMeasured("NPL003", f"{place} {unreadable[place]}", cause="unreadable")
    return replace(entry, location=place, measurement=reason, report=None)


# --- one model --------------------------------------------------------------------------------


def _model(pair: Match) -> ModelDiff:
    old, new = pair.before, pair.after
    entry = new or old
    assert entry is not None
    before = old.measurement if old else None
    after = new.measurement if new else None
    found = ModelDiff(
        entry.target,
        entry.position,
        "not_measured",
        before,
        after,
        declared=entry.declared and new is not None,
        top_level=entry.top_level,
    )
    if old and new and old.target != new.target:
        found = replace(found, before_target=old.target, evidence=pair.evidence)
    if after is None:
        # What was declared in its docstring went with it; what is left in the config is a finding.
        return replace(found, status="removed", explained=True if entry.declared else None)
    if isinstance(before, Measured) and isinstance(after, Measured):
        found = _compared(found, before, after)
        explained, words = explain(old.report if old else None, new.report if new else None)
        return replace(found, explained=explained, explanation=words) if found.delta else found
    if before is None and isinstance(after, Measured):
        return replace(found, status="added", explained=True if entry.declared else None)
    return found


def _compared(found: ModelDiff, before: Measured, after: Measured) -> ModelDiff:
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
    return replace(found, status=status, modules=modules, notes=tuple(notes))


def _is_counted(model: ModelDiff) -> bool:
    """On either side."""
    return isinstance(model.before, Measured) or isinstance(model.after, Measured)


def _sorted(models: Iterable[ModelDiff]) -> list[ModelDiff]:
    return sorted(models, key=lambda m: (m.target.partition("::")[0], m.position.line, m.target))


# --- findings ---------------------------------------------------------------------------------


def _with_findings(model: ModelDiff, report: Report) -> ModelDiff:
    """What is declared must be measured; what is gone must not be declared."""
    if isinstance(model.after, Measured):
        return model
    if model.after is not None:
        code, target = model.after.code, model.target
        found = [f for f in report.findings if f.code == code and f.target == target]
        return replace(model, findings=tuple(found))
    gone = _bare(model.target)
    stale = [f for f in report.findings if f.code == "NPL008" and _bare(f.target) == gone]
    return replace(model, findings=tuple(stale), explained=False if stale else model.explained)


def _bare(target: str) -> str:
    return target.partition("(")[0]


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
