"""Two reports → what changed between them. Models are matched by name, by a rename that git knows,
by content."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

from nparam_lint.changes.drift_rule import explain, judge_drift, nothing_compared
from nparam_lint.changes.module_changes import compare_modules
from nparam_lint.changes.module_tree import Likeness, best_pairs, likeness, link
from nparam_lint.changes.records import Base, DiffReport, ModelDiff
from nparam_lint.count.measured import Measured, NotMeasured
from nparam_lint.gate.report import ModelReport, Report
from nparam_lint.ground.findings import Finding
from nparam_lint.ground.values import Position
from nparam_lint.report.style import grouped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Literal

    from nparam_lint.changes.module_tree import Shapes
    from nparam_lint.changes.records import Status
    from nparam_lint.claims.grammar import Tolerance

_NAMES_ALIKE = 0.6  # from 0 to 1: `GPT` and `GPTModel` are, `Encoder` and `Head` are not


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
    models = [
        _with_findings(model, after.report)
        for model in every
        if model.declared or isinstance(model.before, Measured) or isinstance(model.after, Measured)
    ]
    names = {model.bare for model in models}  # one that was built in another way is not missed
    unmeasured = [m for m in every if m.bare not in names and isinstance(m.after, NotMeasured)]
    findings: dict[Finding, None] = {}
    if tolerance is not None:
        models = judge_drift(models, tolerance, base, reported)
        findings |= dict.fromkeys(reported(nothing_compared([*models, *unmeasured], base)))
    findings |= dict.fromkeys(finding for model in models for finding in model.findings)
    unreadable_then = {moved.get(path, path) for path in before.unreadable}
    for finding in after.report.findings:
        is_unread = finding.code == "NPL003" and not finding.target
        is_new = is_unread and finding.position.path not in unreadable_then
        if finding.code == "NPL008" or is_new:
            findings[finding] = None
    return replace(
        report,
        models=tuple(models),
        findings=tuple(
            sorted(findings, key=lambda f: (f.position.path, f.position.line, f.code, f.message))
        ),
        unmeasured=tuple(
            {m.target: m.after for m in unmeasured if isinstance(m.after, NotMeasured)}.items()
        ),
    )


def _present(before: Side, after: Side, moved: Mapping[str, str]) -> Iterator[Match]:
    """Every model of both sides. One that is missing where its file cannot be read is there, but
    not measured."""
    back = {new: old for old, new in moved.items()}
    for pair in match(_models(before.report), _models(after.report), moved):
        if pair.before and not pair.after:
            pair = pair._replace(after=_unread(pair.before, moved, after.unreadable))
        elif pair.after and not pair.before:
            pair = pair._replace(before=_unread(pair.after, back, before.unreadable))
        yield pair


def _models(report: Report) -> list[ModelReport]:
    """Also the ways to build them that failed, and those without a budget that are not built."""
    failed = (
        ModelReport(attempt.target, attempt.way.position, attempt.failure, way=attempt.way)
        for attempt in report.failed_ways
    )
    skipped = (
        ModelReport(target, Position(target.partition("::")[0]), failure)
        for target, failure in report.skipped
    )
    return [*report.models, *failed, *skipped]


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
    model = new or old
    assert model is not None
    change = ModelDiff(
        model.target,
        model.position,
        "not_measured",
        old.measurement if old else None,
        new.measurement if new else None,
        declared=model.declared and new is not None,
        top_level=model.top_level,
        way=model.way,
    )
    with_budget = True if model.declared else None
    if new is None:
        # What was declared in its docstring went with it; what is left in the config is a finding.
        return replace(change, status="removed", explained=with_budget)
    if old is None:
        is_new = isinstance(new.measurement, Measured)
        return replace(change, status="added", explained=with_budget) if is_new else change
    if old.target != new.target:
        change = replace(change, before_target=old.target, evidence=evidence)
    before, after = change.before, change.after
    if not (isinstance(before, Measured) and isinstance(after, Measured)):
        return change
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
    status = "renamed" if change.before_target else status
    change = replace(change, status=status, modules=modules, notes=tuple(notes))
    if change.delta:
        explained, words = explain(old, new)
        change = replace(change, explained=explained, explanation=words)
    return change


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


# --- which models are the same ----------------------------------------------------------------
# Nothing is guessed: a model that could match several matches none; it is removed or added.


class Match(NamedTuple):
    """`evidence`: why the two are the same, where they have different names."""

    before: ModelReport | None
    after: ModelReport | None
    evidence: str | None = None


def split_target(model: ModelReport) -> tuple[str, str, str]:
    """(location, callable, arguments with their brackets)"""
    location, _, name = model.target.partition("::")
    called, bracket, arguments = name.partition("(")
    return location, called, bracket + arguments


def match(
    before: Sequence[ModelReport], after: Sequence[ModelReport], moved: Mapping[str, str]
) -> Iterator[Match]:
    """Every model of both sides, once. `moved`: files of the base → where they are now."""
    gone, new = list(before), list(after)
    picks: Sequence[Callable[[], _Pairs]] = (
        lambda: _of_one_name(gone, new, {}),
        lambda: _of_one_name(gone, new, moved),
        lambda: _alike(gone, new, moved, by_name=True),
        lambda: _alike(gone, new, moved, by_name=False),
    )
    for pick in picks:
        for pair in pick():
            gone.remove(pair[0])
            new.remove(pair[1])
            yield Match(*pair)
    yield from (Match(old, None) for old in gone)
    yield from (Match(None, now) for now in new)


_Pairs = list[tuple[ModelReport, ModelReport, str | None]]


def _of_one_name(
    gone: Sequence[ModelReport], new: Sequence[ModelReport], moved: Mapping[str, str]
) -> _Pairs:
    """A target may be built in several ways, by the recipes of its budgets and by the project:
    those of the same place first, by the same call."""
    pairs: _Pairs = []
    evidence = "git renamed the file" if moved else None
    groups = grouped(new, split_target)
    keys: Sequence[Callable[[ModelReport], object]] = (
        lambda model: (_way(model), _call(model)),
        _way,
        _call,
        lambda _: None,
    )
    for key in keys:
        for old in gone:
            place, called, arguments = split_target(old)
            left = groups.get((moved.get(place, place), called, arguments), [])
            same = [now for now in left if key(now) == key(old)]
            if same and not any(old is one for one, _, _ in pairs):
                left.remove(same[0])
                pairs.append((old, same[0], evidence))
    return pairs


def _way(model: ModelReport) -> object:
    """What a way has that an edit beside it leaves as it is."""
    way = model.way
    return way and (way.kind, way.name, way.position.path)


def _call(model: ModelReport) -> str | None:
    return model.measurement.call if isinstance(model.measurement, Measured) else None


def _alike(
    gone: Sequence[ModelReport],
    new: Sequence[ModelReport],
    moved: Mapping[str, str],
    *,
    by_name: bool,
) -> _Pairs:
    """Models of one name in different files, or else of different names in one file, that are so
    alike that they are the same."""
    shapes: Shapes = {}
    groups: dict[object, tuple[list[ModelReport], list[ModelReport]]] = {}
    for side, (every, places) in enumerate(((gone, moved), (new, {}))):
        for model in every:
            if isinstance(model.measurement, Measured) and model.measurement.counts.total:
                place, called, arguments = split_target(model)
                key = called if by_name else places.get(place, place)
                groups.setdefault((key, arguments), ([], []))[side].append(model)

    def compare(old: ModelReport, now: ModelReport) -> Likeness | None:
        assert isinstance(old.measurement, Measured)
        assert isinstance(now.measurement, Measured)
        found = likeness(
            link(old.measurement.modules, shapes), link(now.measurement.modules, shapes)
        )
        # Two small models that are built alike need not be the same.
        one, other = (split_target(model)[1].lower() for model in (old, now))
        alike = by_name or SequenceMatcher(None, one, other).ratio() >= _NAMES_ALIKE
        return found if (found.identical and alike) or found.is_evidence else None

    return [
        (old, now, str(found))
        for olds, news in groups.values()
        for old, now, found in best_pairs(olds, news, compare)
    ]
