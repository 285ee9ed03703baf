"""Two reports → what changed between them."""

from __future__ import annotations

from difflib import SequenceMatcher
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from nparam_lint.changes.drift_rule import explain, judge_drift, nothing_compared
from nparam_lint.changes.likeness import likeness
from nparam_lint.changes.matching import best, in_order, match, with_one
from nparam_lint.changes.module_changes import compare_modules
from nparam_lint.changes.records import Base, DiffReport, ModelDiff
from nparam_lint.count.measured import Measured, NotMeasured
from nparam_lint.count.module_tree import link
from nparam_lint.gate.report import ModelReport, Report
from nparam_lint.ground.findings import Finding
from nparam_lint.ground.notation import without_arguments
from nparam_lint.ground.values import Position

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
    from typing import Literal

    from nparam_lint.changes.likeness import Likeness
    from nparam_lint.changes.matching import Pick
    from nparam_lint.changes.records import Status
    from nparam_lint.count.module_tree import Shapes
    from nparam_lint.ground.notation.grammar import Tolerance

    # One model on both sides, and why it is one where the names differ.
    _Both = tuple[ModelReport | None, ModelReport | None, str | None]

_NAMES_ALIKE = 0.6  # from 0 to 1: `GPT` and `GPTModel` are, `Encoder` and `Head` are not


class Side(Struct, frozen=True):
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
    check = Report(
        after.report.environment or before.report.environment,
        (),
        (),
        files=after.report.files,
        seconds=max(before.report.seconds, after.report.seconds),
        error=after.report.error
        or (f"at {base.called}: {before.report.error}" if before.report.error else None),
    )
    report = DiffReport(base, now, check, tolerance=tolerance.text if tolerance else None)
    if check.error:
        return report
    diffs = sorted(
        map(_model, _present(before, after, moved)),
        key=lambda model: (model.target.partition("::")[0], model.position.line, model.target),
    )
    models = [
        _with_findings(model, after.report)
        for model in diffs
        if model.declared or isinstance(model.before, Measured) or isinstance(model.after, Measured)
    ]
    names = {model.bare for model in models}  # one that was built in another way is not missed
    unmeasured = [m for m in diffs if m.bare not in names and isinstance(m.after, NotMeasured)]
    findings: dict[Finding, None] = {}
    if tolerance is not None:
        models = judge_drift(models, tolerance, base, reported, after.report.containment.returns)
        findings |= dict.fromkeys(reported(nothing_compared([*models, *unmeasured], base)))
    findings |= dict.fromkeys(finding for model in models for finding in model.findings)
    unreadable_then = {moved.get(path, path) for path in before.unreadable}
    for finding in after.report.findings:
        is_unread = finding.code == "NPL003" and not finding.target
        is_new = is_unread and finding.position.path not in unreadable_then
        if finding.code == "NPL008" or is_new:
            findings[finding] = None
    check = replace(
        check,
        findings=tuple(
            sorted(findings, key=lambda f: (f.position.path, f.position.line, f.code, f.message))
        ),
        skipped=tuple(
            {m.target: m.after for m in unmeasured if isinstance(m.after, NotMeasured)}.items()
        ),
    )
    return replace(report, models=tuple(models), check=check)


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


def _unread(model: _Named, place: str, unreadable: Mapping[str, str]) -> ModelReport | None:
    """A model on the side where it is missing; `place`: where its file is there."""
    if place not in unreadable:
        return None
    reason = NotMeasured("NPL003", f"{place} {unreadable[place]}", cause="unreadable")
    target = f"{place}::{model.called}{model.arguments}"
    return ModelReport(target, model.report.position, reason)


# --- one model --------------------------------------------------------------------------------


def _model(both: _Both) -> ModelDiff:
    old, new, evidence = both
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
        key = model.after.code, model.target
        failures = tuple(f for f in report.findings if (f.code, f.target) == key)
        return replace(model, findings=failures)
    stale = [f for f in report.findings if f.code == "NPL008"]
    stale = [f for f in stale if without_arguments(f.target) == model.bare]
    return replace(model, findings=tuple(stale), explained=False if stale else model.explained)


# --- which models are the same ----------------------------------------------------------------


class _Named:
    """By what a model may be known on the other side. `place`: where its file is now."""

    def __init__(self, model: ModelReport, moved: Mapping[str, str]) -> None:
        self.report, answer, way = model, model.measurement, model.way
        self.location, _, name = model.target.partition("::")
        self.called, bracket, arguments = name.partition("(")
        self.arguments = bracket + arguments
        self.place = moved.get(self.location, self.location)
        # What a way has that an edit beside it leaves as it is.
        self.way = way and (way.kind, way.name, way.position.path)
        self.call = answer.call if isinstance(answer, Measured) else None
        is_filled = isinstance(answer, Measured) and answer.counts.total
        self.modules = answer.modules if isinstance(answer, Measured) and is_filled else None

    @property
    def name(self) -> Hashable:
        return self.modules and (self.called, self.arguments)

    @property
    def file(self) -> Hashable:
        return self.modules and (self.place, self.arguments)


# A target may be built in several ways, by the recipes of its budgets and by the project: those of
# the same place first, by the same call.
_WAYS = (("way", "call"), ("way",), ("call",), ())


def _apart_from(others: Iterable[_Named], models: Iterable[_Named]) -> list[_Named]:
    """Those that the other side has not; where it declares a model, nobody looked how else it is
    built there."""
    declared = {(other.place, other.called) for other in others if other.report.budgets}
    return [m for m in models if m.report.way is None or (m.place, m.called) not in declared]


def _present(before: Side, after: Side, moved: Mapping[str, str]) -> Iterator[_Both]:
    """Every model of both sides. They are the same by name, by a rename that git knows, by content:
    models of one name in different files, or else of different names in one file, that are so alike
    that they are the same. One that is missing where its file cannot be read is there, but not
    measured."""
    shapes: Shapes = {}

    def alike(old: _Named, new: _Named) -> Likeness | None:
        assert old.modules
        assert new.modules
        resemblance = likeness(link(old.modules, shapes), link(new.modules, shapes))
        # Two small models that are built alike need not be the same.
        names = old.called.lower(), new.called.lower()
        is_named = SequenceMatcher(None, *names).ratio() >= _NAMES_ALIKE
        is_same = (resemblance.identical and is_named) or resemblance.is_evidence
        return resemblance if is_same else None

    renamed = partial(in_order, evidence="git renamed the file")
    picks: list[Pick[_Named]] = [
        *(with_one(attrgetter("location", "called", "arguments", *way), in_order) for way in _WAYS),
        *(with_one(attrgetter("place", "called", "arguments", *way), renamed) for way in _WAYS),
        with_one(attrgetter("name"), best(alike)),
        with_one(attrgetter("file"), best(alike)),
    ]
    olds = [_Named(model, moved) for model in _models(before.report)]
    news = [_Named(model, {}) for model in _models(after.report)]
    pairs, gone, fresh = match(olds, news, picks)
    yield from ((old.report, new.report, evidence) for old, new, evidence in pairs)
    gone = _apart_from(news, gone)
    yield from ((old.report, _unread(old, old.place, after.unreadable), None) for old in gone)
    back = {new: old for old, new in moved.items()}
    for new in _apart_from(olds, fresh):
        place = back.get(new.location, new.location)
        yield _unread(new, place, before.unreadable), new.report, None
