"""What is said of arguments, apart: which follow from others, which have limits, and what must hold
in addition."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

from nparam_lint.claims import FormulaError, read_expression
from nparam_lint.claims.expression import Formula, parse_formula

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nparam_lint.analysis.closed_forms.search import Unknown

_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
}


def comparisons(text: str) -> list[Formula]:
    """Those that `and` joins. Raises FormulaError."""
    formula = parse_formula(text)
    tree = read_expression(formula.text)
    if not _is_condition(tree):
        raise FormulaError("expected a comparison such as 'd_model % n_heads == 0'")
    return [parse_formula(_source(formula.text, part)) for part in _joined(tree)]


def _is_condition(node: ast.expr) -> bool:
    if isinstance(node, ast.BoolOp):
        return all(map(_is_condition, node.values))
    return isinstance(node, ast.Compare) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    )


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
    what must hold in addition; `chosen`: arguments that the user said something about."""

    unknowns: dict[str, Unknown]
    ties: dict[str, Formula]
    conditions: list[Formula]
    chosen: frozenset[str] = frozenset()

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
    said = {name for condition in rest for name in condition.names}
    found.chosen = frozenset(said.union(n for n, u in found.unknowns.items() if u.is_limited))
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
