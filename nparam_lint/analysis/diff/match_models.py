"""Matches models of the base with today's: by name, by a rename that git knows, by content.

Nothing is guessed: a model that could match several matches none; it is removed or added.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

from nparam_lint.analysis.diff.module_tree import Likeness, best_pairs, likeness, link
from nparam_lint.records import Measured, ModelReport
from nparam_lint.report.style import grouped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from nparam_lint.analysis.diff.module_tree import Shapes

_NAMES_ALIKE = 0.6  # from 0 to 1: `GPT` and `GPTModel` are, `Encoder` and `Head` are not


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
    """A target may be built in several ways, by the recipes of its budgets: those that were built
    by the same call first."""
    pairs: _Pairs = []
    evidence = "git renamed the file" if moved else None
    groups = grouped(new, split_target)
    for exact in (True, False):
        for old in gone:
            place, called, arguments = split_target(old)
            left = groups.get((moved.get(place, place), called, arguments), [])
            same = [now for now in left if not exact or _call(now) == _call(old)]
            if same and not any(old is one for one, _, _ in pairs):
                left.remove(same[0])
                pairs.append((old, same[0], evidence))
    return pairs


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
