"""Which things of two states are the same: the models of two reports, the modules of two models.

Nothing is guessed: what could be several matches none; it is removed or added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from nparam_lint.ground.grouping import grouped

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from nparam_lint.changes.likeness import Likeness

T = TypeVar("T")
# Both, and what shows that they are the same, where that is to be told.
Pair = tuple[T, T, str]
# What is left of the two sides → those that are the same.
Pick = Callable[[Sequence[T], Sequence[T]], Iterable[Pair[T]]]


def match(
    olds: Sequence[T], news: Sequence[T], picks: Iterable[Pick[T]]
) -> tuple[list[Pair[T]], Sequence[T], Sequence[T]]:
    """Those that are the same, and what is left of the two sides. A pick sees what those before it
    have left."""
    pairs: list[Pair[T]] = []
    for pick in picks:
        pairs += pick(olds, news)
        paired = {id(item) for old, new, _ in pairs for item in (old, new)}
        olds, news = ([item for item in side if id(item) not in paired] for side in (olds, news))
    return pairs, olds, news


def with_one(key: Callable[[T], Hashable], pick: Pick[T]) -> Pick[T]:
    """What is picked of those that have one key in common; None: it has none."""

    def pairs(olds: Sequence[T], news: Sequence[T]) -> Iterator[Pair[T]]:
        groups = grouped(news, key)
        for value, group in grouped(olds, key).items():
            if value is not None and value in groups:
                yield from pick(group, groups[value])

    return pairs


def in_order(olds: Sequence[T], news: Sequence[T], evidence: str = "") -> Iterator[Pair[T]]:
    """As many as both have."""
    return ((old, new, evidence) for old, new in zip(olds, news, strict=False))


def if_as_many(olds: Sequence[T], news: Sequence[T]) -> Iterable[Pair[T]]:
    return in_order(olds, news) if len(olds) == len(news) else ()


def best(compare: Callable[[T, T], Likeness | None]) -> Pick[T]:
    """Those of which each is the other's only best. `compare` gives None for what is no pair."""

    def pairs(olds: Sequence[T], news: Sequence[T]) -> Iterator[Pair[T]]:
        rated = [
            (likeness.rating, old, new, str(likeness))
            for old in olds
            for new in news
            if (likeness := compare(old, new)) is not None
        ]
        while only := [
            (old, new, evidence)
            for rating, old, new, evidence in rated
            if all(rating > rival for rival, o, n, _ in rated if (o is old) != (n is new))
        ]:
            yield from only
            paired = {id(item) for old, new, _ in only for item in (old, new)}
            rated = [r for r in rated if paired.isdisjoint((id(r[1]), id(r[2])))]

    return pairs
