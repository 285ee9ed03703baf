"""What a model requires of its arguments, inferred from the builds that it refused.

A rule holds at every point that was built, and at some point that was refused it does not. Where
several rules explain the same refusals, the simplest is taken; more builds tell them apart.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations
from math import ceil, prod
from operator import itemgetter
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

Numbers = dict[str, Fraction]

_COMPARED = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
}
ORDERED = ("<=", "<")
_BESIDE = {"<": -1, ">": 1, "!=": 1}  # how far from the bound a value that is allowed lies
_BUILT = 4  # points that say something about `a <= b`, which nearly half of all pairs keep anyway
_BROKEN = 2  # refusals that it has to explain


@dataclass(frozen=True, slots=True)
class Constraint:
    """`left % right == 0`, or a comparison; `right` is a product of names and a number. `>=`, `>`
    and `!=` limit a form, not a model: they are not found from refusals. `times`: what `left` is
    multiplied with in one of these."""

    left: str
    kind: Literal["%", "==", "<=", "<", ">=", ">", "!="]
    right: tuple[str, ...]
    number: Fraction = Fraction(1)
    times: tuple[str, ...] = ()

    def __str__(self) -> str:
        factors = [*self.right]
        if self.number != 1 or not factors:
            factors.insert(0, str(self.number))
        right = "*".join(factors)
        if self.kind == "%":
            return f"{self.left} % {right if len(factors) == 1 else f'({right})'} == 0"
        return f"{'*'.join((self.left, *self.times))} {self.kind} {right}"

    def bound(self, point: Numbers) -> Fraction:
        """The value of the right side at a point."""
        return prod((point[name] for name in self.right), start=self.number)

    def factor(self, point: Numbers) -> Fraction:
        """What the left side is multiplied with at a point."""
        return prod((point[name] for name in self.times), start=Fraction(1))

    def holds(self, point: Numbers) -> bool:
        """Whether a point satisfies it."""
        left, right = point[self.left] * self.factor(point), self.bound(point)
        if self.kind == "%":
            return right != 0 and left % right == 0
        return bool(_COMPARED[self.kind](left, right))

    @property
    def is_limit(self) -> bool:
        """Whether it limits a form, and is not required by the model."""
        return self.kind in (">=", ">", "!=")

    @property
    def names(self) -> frozenset[str]:
        """The arguments that it is about."""
        return frozenset((self.left, *self.times, *self.right))


def explain(
    built: Sequence[Numbers],
    refused: Sequence[Numbers],
    base: Numbers,
    integers: Container[str],
) -> tuple[list[Constraint], list[Numbers]]:
    """(the rules, the refused points that no rule explains). `base`: a point that was built, which
    says what numbers may be in a rule; `integers`: names that only whole numbers are given."""
    left = list(refused)
    rules: list[Constraint] = []
    if not left:
        return rules, left
    candidates = [
        rule
        for rule in _candidates(base, integers)
        if all(rule.holds(p) for p in built) and _is_tried(rule, built, base)
    ]
    while left:
        gains = [(sum(not rule.holds(p) for p in left), rule) for rule in candidates]
        gains = [(g, rule) for g, rule in gains if g >= (_BROKEN if rule.kind in ORDERED else 1)]
        if not gains:
            break
        _, rule = max(gains, key=itemgetter(0))  # of equally good ones the first: the simplest
        rules.append(rule)
        left = [p for p in left if rule.holds(p)]
    return [rule for rule in rules if _is_needed(rule, rules, refused)], left


def _is_tried(rule: Constraint, built: Sequence[Numbers], base: Numbers) -> bool:
    """Whether models were built with other values of all that it is about: a rule that nothing
    could have broken only happens to hold."""
    telling = [{name for name in rule.names if p[name] != base[name]} for p in built]
    enough = _BUILT if rule.kind in ORDERED else 1
    return set().union(*telling) == rule.names and sum(map(bool, telling)) >= enough


def _is_needed(rule: Constraint, rules: Sequence[Constraint], refused: Sequence[Numbers]) -> bool:
    return any([other for other in rules if not other.holds(point)] == [rule] for point in refused)


def _candidates(base: Numbers, integers: Container[str]) -> Iterator[Constraint]:
    """The simplest first."""
    whole = [name for name, value in base.items() if name in integers and value > 0]
    for one, other in permutations(whole, 2):
        if base[one] % base[other] == 0:
            yield Constraint(one, "%", (other,))
    for number in map(Fraction, (2, 4, 8, 16, 32, 64)):
        yield from (Constraint(one, "%", (), number) for one in whole if base[one] % number == 0)
        for one, other in permutations(whole, 2):
            # Twice a one is a two by chance.
            if number == 2 and base[other] > 1 and base[one] % (2 * base[other]) == 0:
                yield Constraint(one, "%", (other,), Fraction(2))
    for one, other in permutations(base, 2):
        if (one in integers) != (other in integers):
            continue  # a rate and a width
        if base[one] <= base[other]:
            yield Constraint(one, "<=", (other,))
        if base[one] < base[other]:
            yield Constraint(one, "<", (other,))
    for place, one in enumerate(whole):
        for other in whole:
            # The later depends on the earlier, or the larger on the smaller.
            ratio = base[one] / base[other]
            if ratio > 1 or (ratio == 1 and other in whole[:place]):
                yield Constraint(one, "==", (other,), ratio)
    for one in whole:
        for pair in combinations([name for name in whole if name != one], 2):
            number = base[one] / (base[pair[0]] * base[pair[1]])
            if number == 1:
                yield Constraint(one, "==", pair, number)


def repaired(point: Numbers, rules: Iterable[Constraint]) -> Numbers | None:
    """The point, changed as little as is easy so that all rules hold; None where that fails."""
    rules = list(rules)
    point = dict(point)
    for _ in range(8):
        broken = [rule for rule in rules if not rule.holds(point)]
        if not broken:
            return point
        for rule in broken:
            bound, factor = rule.bound(point), rule.factor(point)
            if rule.kind == "%" and bound:
                point[rule.left] = bound * max(1, round(point[rule.left] / bound))
            elif rule.times and factor:
                point[rule.left] = Fraction(ceil(bound / factor))
            else:
                point[rule.left] = bound + _BESIDE.get(rule.kind, 0)
    return None
