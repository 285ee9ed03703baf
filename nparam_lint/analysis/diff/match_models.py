"""Matches models of the base with today's: by name, by a rename that git knows, by content.

Nothing is guessed: a model that could match several matches none; it is removed or added.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from nparam_lint.analysis.diff.module_tree import Likeness, best_pairs, likeness, link
from nparam_lint.records import Measured, Measurement, ModelReport, Position

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

    from nparam_lint.analysis.diff.module_tree import Shapes
    from nparam_lint.records import Report

_NAMES_ALIKE = 0.6  # from 0 to 1: `GPT` and `GPTModel` are, `Encoder` and `Head` are not


@dataclass(frozen=True, eq=False, slots=True)
class ReportedModel:
    """A model of one side. `report` is None for one that nobody declares and that could not be
    built."""

    location: str
    callable: str
    arguments: str
    measurement: Measurement
    position: Position
    report: ModelReport | None = None

    @property
    def name(self) -> str:
        """Without the file."""
        return f"{self.callable}{self.arguments}"

    @property
    def target(self) -> str:
        return f"{self.location}::{self.name}"

    @property
    def declared(self) -> bool:
        return self.report is not None and self.report.declared

    @property
    def top_level(self) -> bool:
        return self.report is None or self.report.top_level


@dataclass(frozen=True, slots=True)
class Match:
    """`evidence`: why the two are the same, where they have different names."""

    before: ReportedModel | None
    after: ReportedModel | None
    evidence: str | None = None


def entries(report: Report) -> list[ReportedModel]:
    """All models of a report, those that were not counted included."""
    found = [_entry(m.target, m.measurement, m.position, m) for m in report.models]
    for target, failure in report.skipped:
        found.append(_entry(target, failure, Position(target.partition("::")[0])))
    return found


def _entry(
    target: str, measurement: Measurement, position: Position, report: ModelReport | None = None
) -> ReportedModel:
    location, _, name = target.partition("::")
    called, bracket, arguments = name.partition("(")
    return ReportedModel(location, called, bracket + arguments, measurement, position, report)


def match(
    before: Sequence[ReportedModel], after: Sequence[ReportedModel], moved: Mapping[str, str]
) -> Iterator[Match]:
    """Every model of both sides, once. `moved`: files of the base → where they are now."""
    gone, new = list(before), list(after)

    def settle(pairs: Iterable[tuple[ReportedModel, ReportedModel, str | None]]) -> Iterator[Match]:
        for old, now, evidence in pairs:
            gone.remove(old)
            new.remove(now)
            yield Match(old, now, evidence)

    def there(entry: ReportedModel) -> str:
        return moved.get(entry.location, entry.location)

    yield from settle(_of_one_name(gone, new, lambda entry: entry.location))
    yield from settle(
        (old, now, "git renamed the file") for old, now, _ in list(_of_one_name(gone, new, there))
    )
    trees = _Trees()
    yield from settle(list(_alike(gone, new, _without_file, _without_file, trees.moved)))
    yield from settle(list(_alike(gone, new, _without_name(there), _in_file, trees.renamed)))
    yield from (Match(old, None) for old in gone)
    yield from (Match(None, now) for now in new)


def _of_one_name(
    gone: Sequence[ReportedModel],
    new: Sequence[ReportedModel],
    where: Callable[[ReportedModel], str],
) -> list[tuple[ReportedModel, ReportedModel, None]]:
    """A target may be built in several ways, by the recipes of its budgets: those that were built
    by the same call first."""
    pairs: list[tuple[ReportedModel, ReportedModel, None]] = []
    groups: dict[object, list[ReportedModel]] = {}
    for now in new:
        groups.setdefault((now.location, now.name), []).append(now)
    for exact in (True, False):
        for old in gone:
            left = groups.get((where(old), old.name), [])
            same = [now for now in left if not exact or _call(now) == _call(old)]
            if same and not any(old is one for one, _, _ in pairs):
                left.remove(same[0])
                pairs.append((old, same[0], None))
    return pairs


def _call(entry: ReportedModel) -> str | None:
    return entry.measurement.call if isinstance(entry.measurement, Measured) else None


def _without_file(entry: ReportedModel) -> Hashable:
    return entry.name


def _in_file(entry: ReportedModel) -> Hashable:
    return entry.location, entry.arguments


def _without_name(where: Callable[[ReportedModel], str]) -> Callable[[ReportedModel], Hashable]:
    return lambda entry: (where(entry), entry.arguments)


def _alike(
    gone: Sequence[ReportedModel],
    new: Sequence[ReportedModel],
    key_before: Callable[[ReportedModel], Hashable],
    key_after: Callable[[ReportedModel], Hashable],
    compare: Callable[[ReportedModel, ReportedModel], Likeness | None],
) -> Iterator[tuple[ReportedModel, ReportedModel, str]]:
    groups: dict[Hashable, tuple[list[ReportedModel], list[ReportedModel]]] = {}
    for side, every, key in ((0, gone, key_before), (1, new, key_after)):
        for entry in every:
            if isinstance(entry.measurement, Measured) and entry.measurement.counts.total:
                groups.setdefault(key(entry), ([], []))[side].append(entry)
    for olds, news in groups.values():
        for old, now, found in best_pairs(olds, news, compare):
            yield old, now, str(found)


class _Trees:
    """How alike two models are, where it is enough to say that they are the same."""

    def __init__(self) -> None:
        self.shapes: Shapes = {}

    def moved(self, old: ReportedModel, now: ReportedModel) -> Likeness | None:
        """To another file, under the same name."""
        found = self._likeness(old, now)
        return found if found.identical or found.is_evidence else None

    def renamed(self, old: ReportedModel, now: ReportedModel) -> Likeness | None:
        """In the same file. Two small models that are built alike need not be the same."""
        found = self._likeness(old, now)
        names = SequenceMatcher(None, old.callable.lower(), now.callable.lower()).ratio()
        alike = found.identical and names >= _NAMES_ALIKE
        return found if alike or found.is_evidence else None

    def _likeness(self, old: ReportedModel, now: ReportedModel) -> Likeness:
        assert isinstance(old.measurement, Measured)
        assert isinstance(now.measurement, Measured)
        return likeness(
            link(old.measurement.modules, self.shapes), link(now.measurement.modules, self.shapes)
        )
