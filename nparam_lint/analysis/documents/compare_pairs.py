"""How far apart the models of a comparison are: of each two the larger, by how much, and whether
that is within the tolerance that was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from msgspec import Struct

from nparam_lint import report as doc
from nparam_lint.ground.notation.grammar import Tolerance


class Pair(Struct, frozen=True):
    """Two models that were counted, by their places in the comparison. `base`: the total of the
    smaller one; `difference`: what the larger one has more."""

    larger: int
    smaller: int
    base: int
    difference: int
    is_within: bool

    @property
    def ratio(self) -> str:
        return ratio(self.base + self.difference, self.base) if self.base else ""

    def words(self, names: Sequence[str]) -> str:
        share = f" ({self.ratio})" if self.ratio else ""
        larger, smaller = names[self.larger], names[self.smaller]
        return f"{larger} is larger than {smaller} by {self.difference:,}{share}"


@dataclass(kw_only=True)
class PairRecord:
    """Two models, by their targets as given. `difference`: what the larger one has more; `ratio`:
    the larger total to the smaller, null where that is 0; `ok`: they are within the tolerance."""

    larger: str
    smaller: str
    difference: int
    ratio: float | None
    ok: bool


class Distances(Struct, frozen=True):
    """One pair or more, those that are furthest apart first. `names`, in what is said of them: of
    each model of the comparison."""

    within: Tolerance
    pairs: Sequence[Pair]

    @property
    def far(self) -> list[Pair]:
        return [pair for pair in self.pairs if not pair.is_within]

    def block(self, names: Sequence[str]) -> doc.Block:
        """The pairs that are too far apart, or that there are none."""
        if not self.far:
            return doc.Text(self._all_within(names))
        columns = doc.Column(f"not within {self.within.text}"), doc.Column("difference", "number")
        rows = []
        for pair in self.far:
            what = f"{names[pair.larger]} larger than {names[pair.smaller]}"
            rows.append(doc.Row((what, f"{pair.difference:+,}", pair.ratio)))
        return doc.Table((*columns, doc.Column("", "number")), tuple(rows), noun="pair").filled

    def lines(self, names: Sequence[str]) -> list[str]:
        """The same, a line for each pair."""
        lines = [f"{pair.words(names)}: not within {self.within.text}" for pair in self.far]
        return lines or [self._all_within(names)]

    def _all_within(self, names: Sequence[str]) -> str:
        furthest = self.pairs[0]
        words = furthest.words(names) if furthest.difference else "of equal size"
        if len(self.pairs) == 1:
            return f"within {self.within.text}: {words}"
        joint = "; furthest apart: " if furthest.difference else ": "
        return f"all that were counted are within {self.within.text}{joint}{words}"

    def records(self, names: Sequence[str]) -> list[PairRecord]:
        return [
            PairRecord(
                larger=names[pair.larger],
                smaller=names[pair.smaller],
                difference=pair.difference,
                ratio=(pair.base + pair.difference) / pair.base if pair.base else None,
                ok=pair.is_within,
            )
            for pair in self.pairs
        ]


def distances_of(totals: Sequence[int | None], within: Tolerance) -> Distances | None:
    """A percentage is one of the smaller total. `totals`: None of a model that was not counted;
    there is no distance where fewer than two were."""
    counted = [(total, place) for place, total in enumerate(totals) if total is not None]
    pairs = []
    for both in combinations(counted, 2):
        (base, smaller), (most, larger) = sorted(both)
        difference = most - base
        is_within = difference <= within.of(Fraction(base))
        pairs.append(Pair(larger, smaller, base, difference, is_within))

    def distance(pair: Pair) -> tuple[bool, Fraction]:
        if not within.relative:
            return False, Fraction(pair.difference)
        is_infinite = pair.difference > 0 and not pair.base
        return is_infinite, Fraction(pair.difference, pair.base or 1)

    return Distances(within, sorted(pairs, key=distance, reverse=True)) if pairs else None


def ratio(count: int, first: int) -> str:
    """Near the first in percent, else how many times as much."""
    times = count / first
    if 0.5 <= times < 2:
        return f"{100 * (times - 1):+.2f} %"
    return f"× {times:,.1f}" if times >= 10 else f"× {times:.3g}"
