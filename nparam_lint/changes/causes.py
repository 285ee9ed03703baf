"""What made a budget break: its model is built as it was at another state of the project, and
compared by its parameters."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cache
from typing import TYPE_CHECKING

from nparam_lint.changes.parameter_changes import ParameterChanges
from nparam_lint.changes.revision_diff import comparable
from nparam_lint.claims import parse_selector
from nparam_lint.count.measured import Measured, NotMeasured
from nparam_lint.gate.building import count_models
from nparam_lint.gate.candidates import candidates_of_other_revision
from nparam_lint.gate.explanations import lines_of
from nparam_lint.gate.hooks import BudgetCause
from nparam_lint.gate.reading import read_source
from nparam_lint.ground.orders import Ask
from nparam_lint.ground.values import Position, SourceLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from nparam_lint.claims.budget import Budget
    from nparam_lint.config.session import Session
    from nparam_lint.count.measured import Measurement
    from nparam_lint.gate.candidates import Candidate, ProjectSource
    from nparam_lint.gate.hooks import Broken
    from nparam_lint.ground.findings import BudgetResult

_WORD = re.compile(r"[^\s,()\[\]{}:]+")


@dataclass(frozen=True, slots=True)
class Past:
    """A state of the project that is compared with: what it is `called` in a sentence (`HEAD`).
    `moved`: files of it → where they are now."""

    session: Session
    called: str
    moved: Mapping[str, str]

    @property
    def back(self) -> dict[str, str]:
        """Where files of today were then."""
        return {new: old for old, new in self.moved.items()}


def find_causes(broken: Broken, source: ProjectSource, past: Past) -> list[BudgetCause]:
    """Of each broken budget, what made the difference."""
    keys = list(dict.fromkeys((str(r.target), _metric(result)) for r, result in broken))
    by_target = {str(candidate.target): candidate for candidate, _ in broken}
    asked = [_as_it_is_told(by_target[target], metric) for target, metric in keys]
    now = count_models(asked, source)
    session = comparable(past.session, source.session, past.back)
    then = _models_then(asked, source, replace(session, interpreter=now.interpreter), past)
    edited = cache(lambda file: tuple(_edited(file, source, session.root, past)))
    measurements = now.measurements

    @cache  # a model may have many budgets
    def changes(number: int) -> ParameterChanges | BudgetCause:
        _, built = then.get(number, (None, None))
        return _changes(built, measurements[number], keys[number][1], past)

    causes = []
    for candidate, result in broken:
        number = keys.index((str(candidate.target), _metric(result)))
        cause = changes(number)
        if not isinstance(cause, BudgetCause):
            cause = _cause(result, cause, then[number][0].budgets, past)
        made = (Position.read(change.source) for change in cause.changes)
        files = {candidate.position.path, *(at.path for at in made if at)}
        files = {*(files & source.found.tree.files), candidate.target.built.location}
        lines = tuple(line for file in sorted(files) for line in edited(file))
        causes.append(replace(cause, edited=lines))
    return causes


def _edited(path: str, source: ProjectSource, then: Path, past: Past) -> Iterator[SourceLine]:
    """The lines of a file that are not as they were; comments aside, and those without a word."""
    try:
        before = (then / past.back.get(path, path)).read_bytes()
    except OSError:  # it is new
        return
    old, new = lines_of(before), lines_of(source.found.tree.source(path))
    for tag, first, last, start, end in SequenceMatcher(None, old, new, False).get_opcodes():
        is_edit = tag == "replace" and last - first == end - start
        for number in range(start, end) if tag != "equal" else ():
            was = old[first + number - start] if is_edit else ""
            if _WORD.search(new[number]) and not new[number].lstrip().startswith("#"):
                yield _source_line(Position(path, number + 1), new[number], was)


def _source_line(at: Position, text: str, was: str) -> SourceLine:
    """A line of which only the words that differ from what it was are marked."""
    text = text.rstrip()
    same = _alike(text, was)
    behind = _alike(text[same:][::-1], was[same:].rstrip()[::-1])
    words = [m for m in _WORD.finditer(text) if m.end() > same and m.start() < len(text) - behind]
    words = words or [*_WORD.finditer(text)]  # what was taken out left nothing to mark
    start, end = words[0].start(), words[-1].end()
    return SourceLine(replace(at, column=start + 1), text, end - start)


def _alike(one: str, other: str) -> int:
    """How many characters are the same at the start of two texts."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _metric(result: BudgetResult) -> str:
    return parse_selector(result.selector).metric


def _as_it_is_told(candidate: Candidate, metric: str) -> tuple[Candidate, Ask]:
    """The model with all parameters that a metric counts."""
    alone = replace(candidate.with_build(device="meta"), budgets=[])
    return alone, Ask(parameters=True, metric=metric)


def _models_then(
    asked: Sequence[tuple[Candidate, Ask]], source: ProjectSource, session: Session, past: Past
) -> dict[int, tuple[Candidate, Measurement]]:
    """Which of the models that were asked for → how it is declared at the other state, and what was
    built there; without those that it does not have."""
    root, back = session.root, past.back
    if not root.is_dir():
        return {}
    locations = (candidate.target.location for candidate, _ in asked)
    places = dict.fromkeys(root / back.get(place, place) for place in locations)
    then = read_source(session, [place for place in places if place.is_file()])
    theirs = [*then.candidates, *candidates_of_other_revision(then, source, back)]
    known = {str(candidate.target): candidate for candidate in theirs}
    found: dict[int, Candidate] = {}
    for number, (candidate, _) in enumerate(asked):
        place = candidate.target.location
        here = known.get(str(replace(candidate.target, location=back.get(place, place))))
        if here is not None:
            found[number] = here
    builds = [_as_it_is_told(here, asked[number][1].metric) for number, here in found.items()]
    answers = count_models(builds, then).measurements
    return {number: (here, answers[n]) for n, (number, here) in enumerate(found.items())}


def _changes(
    then: Measurement | None, now: Measurement, metric: str, past: Past
) -> ParameterChanges | BudgetCause:
    """What changed in a model, or why that is not known."""
    at = past.called
    if isinstance(then, NotMeasured):
        return BudgetCause(f"at {at} it could not be built: {then.reason}")
    if then is None or not isinstance(now, Measured):
        return BudgetCause(f"it is new: {at} does not have it")
    return ParameterChanges(then, now, metric)


def _cause(
    result: BudgetResult, known: ParameterChanges, budgets: Iterable[Budget], past: Past
) -> BudgetCause:
    """`budgets`: those of the model at the other state."""
    at = past.called
    count, changes = known.of(result.module or "")
    if count is None:
        return BudgetCause(f"it is new: {at} does not have it")
    held = (result.low or 0) <= count and (result.high is None or count <= result.high)
    if changes:
        too = "" if held else ", which broke the budget too"
        return BudgetCause(f"changed since {at}, when it had {count:,}{too}", changes)
    own = result.selector, result.declared
    is_same = any((str(budget.selector), budget.declared) == own for budget in budgets)
    why = "the budget was broken there too" if is_same else "the budget is new or was changed"
    return BudgetCause(f"the model is as it was at {at}: {why}")
