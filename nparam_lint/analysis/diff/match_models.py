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
    from collections.abc import Iterator, Mapping, Sequence

    from nparam_lint.analysis.diff.module_tree import Shapes
    from nparam_lint.records import Report

    _Pair = tuple["ReportedModel", "ReportedModel", str | None]

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

    def entry(
        target: str, measurement: Measurement, report: ModelReport | None = None
    ) -> ReportedModel:
        location, _, name = target.partition("::")
        called, bracket, arguments = name.partition("(")
        position = report.position if report else Position(location)
        return ReportedModel(location, called, bracket + arguments, measurement, position, report)

    counted = [entry(model.target, model.measurement, model) for model in report.models]
    return counted + [entry(target, failure) for target, failure in report.skipped]


def match(
    before: Sequence[ReportedModel], after: Sequence[ReportedModel], moved: Mapping[str, str]
) -> Iterator[Match]:
    """Every model of both sides, once. `moved`: files of the base → where they are now."""
    gone, new = list(before), list(after)

    def settle(pairs: Sequence[_Pair]) -> Iterator[Match]:
        for old, now, evidence in pairs:
            gone.remove(old)
            new.remove(now)
            yield Match(old, now, evidence)

    yield from settle(_of_one_name(gone, new, {}))
    yield from settle(_of_one_name(gone, new, moved))
    yield from settle(_alike(gone, new, moved, by_name=True))
    yield from settle(_alike(gone, new, moved, by_name=False))
    yield from (Match(old, None) for old in gone)
    yield from (Match(None, now) for now in new)


def _of_one_name(
    gone: Sequence[ReportedModel], new: Sequence[ReportedModel], moved: Mapping[str, str]
) -> list[_Pair]:
    """A target may be built in several ways, by the recipes of its budgets: those that were built
    by the same call first."""
    pairs: list[_Pair] = []
    evidence = "git renamed the file" if moved else None
    groups: dict[object, list[ReportedModel]] = {}
    for now in new:
        groups.setdefault((now.location, now.name), []).append(now)
    for exact in (True, False):
        for old in gone:
            left = groups.get((moved.get(old.location, old.location), old.name), [])
            same = [now for now in left if not exact or _call(now) == _call(old)]
            if same and not any(old is one for one, _, _ in pairs):
                left.remove(same[0])
                pairs.append((old, same[0], evidence))
    return pairs


def _call(entry: ReportedModel) -> str | None:
    return entry.measurement.call if isinstance(entry.measurement, Measured) else None


def _alike(
    gone: Sequence[ReportedModel],
    new: Sequence[ReportedModel],
    moved: Mapping[str, str],
    *,
    by_name: bool,
) -> list[_Pair]:
    """Models of one name in different files, or else of different names in one file, that are so
    alike that they are the same."""
    shapes: Shapes = {}
    groups: dict[object, tuple[list[ReportedModel], list[ReportedModel]]] = {}
    for side, (every, places) in enumerate(((gone, moved), (new, {}))):
        for entry in every:
            if isinstance(entry.measurement, Measured) and entry.measurement.counts.total:
                place = places.get(entry.location, entry.location)
                key = entry.name if by_name else (place, entry.arguments)
                groups.setdefault(key, ([], []))[side].append(entry)

    def compare(old: ReportedModel, now: ReportedModel) -> Likeness | None:
        assert isinstance(old.measurement, Measured)
        assert isinstance(now.measurement, Measured)
        found = likeness(
            link(old.measurement.modules, shapes), link(now.measurement.modules, shapes)
        )
        # Two small models that are built alike need not be the same.
        names = SequenceMatcher(None, old.callable.lower(), now.callable.lower())
        alike = found.identical and (by_name or names.ratio() >= _NAMES_ALIKE)
        return found if alike or found.is_evidence else None

    return [
        (old, now, str(found))
        for olds, news in groups.values()
        for old, now, found in best_pairs(olds, news, compare)
    ]
