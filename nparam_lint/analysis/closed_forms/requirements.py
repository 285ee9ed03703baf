"""The conditions of a question, which a model and the user ask of arguments: apart, into what
follows from others, what has limits, and what must hold in addition; and as tests of points."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from fractions import Fraction
from graphlib import TopologicalSorter
from math import gcd, lcm, prod
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.compiled_form import NAMES, NoPolynomial, read
from nparam_lint.claims import FormulaError, read_expression
from nparam_lint.claims.expression import Formula, parse_formula

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from nparam_lint.analysis.closed_forms.regions import ArgumentRule
    from nparam_lint.analysis.closed_forms.search import Unknown
    from nparam_lint.ground.values import NameValue

    Whole = Mapping[str, int]
    Test = Callable[[Mapping[str, NameValue]], bool]

_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
}


# --- what is said of arguments, apart ---------------------------------------------------------


def comparisons(text: str) -> list[Formula]:
    """Those that `and` joins. Raises FormulaError."""
    formula = parse_formula(text)
    tree = read_expression(formula.text)
    if not formula.is_condition:
        raise FormulaError("expected a comparison such as 'd_model % n_heads == 0'")
    return [parse_formula(_source(formula.text, part)) for part in _joined(tree)]


def _joined(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        for value in node.values:
            yield from _joined(value)
    else:
        yield node


def _source(text: str, node: ast.expr) -> str:
    return ast.get_source_segment(text, node) or text


@dataclass
class Arguments:
    """`ties`: what follows from the unknowns, each computed from those before it; `conditions`:
    what must hold in addition."""

    unknowns: dict[str, Unknown]
    ties: dict[str, Formula]
    conditions: list[Formula]

    def copy(self) -> Arguments:
        return replace(
            self, unknowns={**self.unknowns}, ties={**self.ties}, conditions=[*self.conditions]
        )

    @property
    def open(self) -> set[str]:
        return {*self.unknowns, *self.ties}

    def tie(self, name: str, formula: Formula) -> bool:
        """Compute an argument from others, unless these are computed from it."""
        if name in self.ties or name in self.behind(formula.names):
            return False
        was = self.unknowns.pop(name, None)
        if was is not None and was.high is not None:
            self.conditions.append(parse_formula(f"{was.low} <= {name} <= {was.high}"))
        ties = {**self.ties, name: formula}
        order = TopologicalSorter({n: f.names & ties.keys() for n, f in ties.items()})
        self.ties = {n: ties[n] for n in order.static_order()}
        return True

    def behind(self, names: Iterable[str]) -> set[str]:
        """These, and what they are computed from."""
        found = set(names)
        for name, formula in reversed(self.ties.items()):
            if name in found:
                found |= formula.names
        return found

    def limit(self, comparison: Formula) -> None:
        """Take the limits of unknowns from a comparison such as `256 <= d_model <= 1024`."""
        node = read_expression(comparison.text)
        if not isinstance(node, ast.Compare):
            return
        sides = [node.left, *node.comparators]
        for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
            turned = _TURNED.get(type(op))
            for name, sign, number in ((left, type(op), right), (right, turned, left)):
                if isinstance(number, ast.Constant) and type(number.value) is int:
                    self.limit_one(ast.unparse(name), sign, number.value)

    def limit_one(self, name: str, sign: type[ast.cmpop] | None, number: int) -> None:
        unknown = self.unknowns.get(name)
        if unknown is None:
            return
        if sign in (ast.Lt, ast.LtE):
            high = number - (sign is ast.Lt)
            high = high if unknown.high is None else min(high, unknown.high)
            self.unknowns[name] = replace(unknown, high=high)
        elif sign in (ast.Gt, ast.GtE):
            low = max(unknown.low, number + (sign is ast.Gt))
            self.unknowns[name] = replace(unknown, low=low)


def told_apart(
    unknowns: dict[str, Unknown], conditions: Sequence[Formula], known: Iterable[str]
) -> Arguments:
    """`d_ff == 4*d_model` ties one to the other, if that one is unknown; a comparison with a number
    limits an unknown; the rest are conditions. `known`: the model's numbers."""
    found = Arguments(dict(unknowns), {}, [])
    rest = list(conditions)
    while tied := [c for c in rest if _tie(found, c, {*known})]:
        rest = [c for c in rest if c not in tied]
    for unknown in unknowns.values():
        if unknown.step > 1:
            start = unknown.low % unknown.step
            found.conditions.append(parse_formula(f"{unknown.name} % {unknown.step} == {start}"))
    for condition in rest:
        found.limit(condition)
    found.conditions += rest
    return found


def _tie(found: Arguments, condition: Formula, known: set[str]) -> bool:
    match read_expression(condition.text):
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            for side, other in ((left, right), (right, left)):
                name, formula = ast.unparse(side), parse_formula(_source(condition.text, other))
                is_decided = bool(formula.names & found.open) or not formula.names
                if name in known and is_decided and found.tie(name, formula):
                    return True
    return False


# --- as tests of points -----------------------------------------------------------------------


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
        base: Mapping[str, NameValue],
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


def as_formula(rule: ArgumentRule) -> Formula:
    """A rule in what formulas are written in, or computed as Python does."""
    try:
        return parse_formula(rule.text)
    except FormulaError:
        test = _compiled(rule.text)
        return Formula(rule.text, rule.names, True, lambda point: Fraction(test(point)))


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
    """A condition with divisions, decimals or elements of lists is evaluated exactly, any other one
    is compiled: that is faster."""
    if any(sign in condition.text for sign in "/.["):
        return lambda point: bool(_value(condition, point))
    return _compiled(condition.text)


def _compiled(text: str) -> Test:
    """Evaluated a hundred thousand times. It was parsed before, or written by us, and contains only
    names, numbers, operators and functions of numbers."""
    code = compile(text, "<condition>", "eval")

    def holds(point: Mapping[str, NameValue]) -> bool:
        try:
            return bool(eval(code, NAMES, point))
        except (ArithmeticError, ValueError):  # it divides by zero, or takes a root of less
            return False

    return holds
