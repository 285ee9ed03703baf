"""Constraints on arguments: rules inferred from what a model rejected, and conditions that the user
set.

A rule that is inferred holds at every point that was built, and at some point that was refused it
does not. Where several rules explain the same refusals, the simplest is taken; more builds tell
them apart.
"""

from __future__ import annotations

import ast
import operator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations
from math import ceil, gcd, lcm, prod
from operator import itemgetter
from typing import TYPE_CHECKING, Literal

from nparam_lint.analysis.closed_forms.compiled_form import NoPolynomial, read
from nparam_lint.claims import FormulaError, read_expression

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from nparam_lint.claims.expression import Formula
    from nparam_lint.records import NameValue

    Whole = Mapping[str, int]
    Test = Callable[[Mapping[str, NameValue]], bool]

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
        right = self.right_text
        if self.kind == "%":
            return f"{self.left} % {f'({right})' if '*' in right else right} == 0"
        return f"{'*'.join((self.left, *self.times))} {self.kind} {right}"

    @property
    def right_text(self) -> str:
        """The right side, which is what the left one equals in a tie."""
        number = [str(self.number)] if self.number != 1 or not self.right else []
        return "*".join([*number, *self.right])

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
    built: Sequence[Numbers], refused: Sequence[Numbers], base: Numbers, integers: Container[str]
) -> list[Constraint]:
    """The rules that explain the rejections, as far as any do. `base`: a point that was built; the
    numbers in rules are taken from it; `integers`: names that have only whole-number values."""
    left = list(refused)
    rules: list[Constraint] = []
    candidates = [
        rule
        for rule in (_candidates(base, integers) if left else ())
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
    return [rule for rule in rules if _is_needed(rule, rules, refused)]


def _is_tried(rule: Constraint, built: Sequence[Numbers], base: Numbers) -> bool:
    """Whether models were built with other values of all its names: a rule that no build could have
    broken may hold by chance."""
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
    """The point with a few values changed so that all rules hold; None if that fails."""
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


# --- the conditions of a question -----------------------------------------------------------------

_CALLS = {"__builtins__": {}, "min": min, "max": max, "abs": abs, "ceil": int, "floor": int}


@dataclass(frozen=True, slots=True)
class _Multiple:
    """`times` of a name has to be a multiple of `number` of the `factors`."""

    name: str
    times: int
    number: int
    factors: tuple[str, ...]


class Requirements:
    """`base`: values of the arguments that are neither unknown nor tied; `ties`: formulas of what
    follows from the unknowns. Where a formula divides by zero, nothing holds."""

    def __init__(
        self,
        base: Whole,
        unknowns: Iterable[str],
        ties: Mapping[str, Formula],
        tests: Sequence[Formula],
    ) -> None:
        self.ties = ties
        self.known = {n: v for n, v in base.items() if n not in {*unknowns, *ties}}
        self.tests = [(test.names, _test(test)) for test in tests]
        self.multiples = [found for test in tests if (found := _multiple(test, ties))]
        self.excluded: set[frozenset[tuple[str, int]]] = set()

    def completed(self, point: Whole) -> dict[str, NameValue]:
        """The point, with the fixed values and all ties that can be computed from them."""
        full: dict[str, NameValue] = {**self.known, **point}
        for name, formula in self.ties.items():
            if formula.names <= full.keys():
                full[name] = _value(formula, full)
        return full

    def hold(self, point: Whole) -> bool:
        """Whether a point breaks no condition; those on unknowns that it lacks are not checked."""
        if self.excluded and frozenset(point.items()) in self.excluded:
            return False
        full = self.completed(point)
        if any(type(full.get(name, 0)) is not int for name in self.ties):
            return False
        return all(test(full) for names, test in self.tests if names <= full.keys())

    def exclude(self, point: Whole) -> None:
        """Exclude a point that turned out to be useless."""
        self.excluded.add(frozenset(point.items()))

    def step(self, point: Whole, name: str) -> int:
        """A number that divides every value that a name may have, given the values of a point; 0 if
        it may have none."""
        step = 1
        here = [multiple for multiple in self.multiples if multiple.name == name]
        full = self.completed(point) if here else {}
        for multiple in here:
            factors = [full.get(factor) for factor in multiple.factors]
            if all(type(factor) is int for factor in factors):
                bound = prod((multiple.number, *factors))  # type: ignore[arg-type]
                step = lcm(step, abs(bound) // gcd(bound, multiple.times)) if bound else 0
        return step


def _value(formula: Formula, full: Mapping[str, NameValue]) -> int | float | None:
    try:
        value = formula.evaluate(full)
    except FormulaError:
        return None
    return int(value) if value.denominator == 1 else float(value)


def _multiple(test: Formula, ties: Mapping[str, Formula]) -> _Multiple | None:
    """`a % (8*b) == 0`; of what is a multiple of an unknown by a tie, of that."""
    match read_expression(test.text):
        case ast.Compare(
            left=ast.BinOp(left=ast.Name() | ast.Subscript() as left, op=ast.Mod(), right=right),
            ops=[ast.Eq()],
            comparators=[ast.Constant(value=0)],
        ) if product := _product(right):
            number, factors = product
        case _:
            return None
    name = ast.unparse(left)
    if name not in ties:
        return _Multiple(name, 1, number, factors)
    tied = _product(read_expression(ties[name].text))
    if tied is None or len(tied[1]) != 1:
        return None
    return _Multiple(tied[1][0], tied[0], number, factors)


def _product(node: ast.expr) -> tuple[int, tuple[str, ...]] | None:
    """A whole number and the names that it is multiplied with."""
    try:
        factors = read(node).factors
    except NoPolynomial:
        return None
    if factors is None or factors[0].denominator != 1:
        return None
    return int(factors[0]), factors[1]


def _test(condition: Formula) -> Test:
    """A condition on whole numbers. It is compiled, since it is evaluated a hundred thousand times;
    it was parsed before, and contains only names, numbers and operators. A condition with
    divisions, decimals or elements of lists is evaluated exactly instead."""
    if any(sign in condition.text for sign in "/.["):
        return lambda point: bool(_value(condition, point))
    code = compile(condition.text, "<condition>", "eval")

    def holds(point: Mapping[str, NameValue]) -> bool:
        try:
            return bool(eval(code, _CALLS, point))
        except ZeroDivisionError:
            return False

    return holds
