"""What traced numbers recorded, and what is written in a formula, as forms."""

from __future__ import annotations

import ast
import math
from fractions import Fraction
from functools import partial, reduce
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms import limits
from nparam_lint.analysis.closed_forms.algebra import combined
from nparam_lint.analysis.closed_forms.conditions import Condition, condition_of
from nparam_lint.analysis.closed_forms.polynomial import Operation, Polynomial
from nparam_lint.ground.notation import read_expression

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nparam_lint.ground.notation.expression import Formula

Row = tuple[str | int, ...]


class ExpressionTable:
    """The rows of one answer of the worker, whose runs have most of them in common. `whole`: the
    variables that are whole numbers; `least`: the least values of all."""

    def __init__(
        self, rows: Sequence[Row], whole: frozenset[str], least: Mapping[str, int]
    ) -> None:
        self.rows, self.whole, self.least = rows, whole, least
        self._forms: dict[int, Polynomial] = {}
        self._conditions: dict[int, Condition | None] = {}

    def form(self, number: int) -> Polynomial:
        if number not in self._forms:
            kind, *parts = self.rows[number]
            if kind == "s":
                form = argument_of(str(parts[0]), is_whole=parts[0] in self.whole)
            elif kind == "n":
                form = constant_of(str(parts[0]))
            else:
                form = combined(str(kind), *(self.form(int(part)) for part in parts))
            self._forms[number] = form
        return self._forms[number]

    def condition(self, number: int) -> Condition | None:
        """None for what always holds, or never."""
        if number not in self._conditions:
            kind, left, right = self.rows[number]
            decided = condition_of(str(kind), self.form(int(left)), self.form(int(right)))
            condition = None
            if not isinstance(decided, bool):
                decided = decided.without_factors(self.least)
                condition = None if decided.is_settled(self.least) else decided
            self._conditions[number] = condition
        return self._conditions[number]


def argument_of(name: str, *, is_whole: bool) -> Polynomial:
    argument = Polynomial.generator(name)
    return argument if is_whole else combined("real", argument)


def constant_of(text: str) -> Polynomial:
    try:
        return Polynomial.constant(int(text))
    except ValueError:
        value = float(text)
    if math.isfinite(value):
        return Polynomial.constant(Fraction(value))
    return Polynomial.generator(Operation(repr(value), ()))


# --- what is written --------------------------------------------------------------------------

KINDS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.USub: "neg",
    ast.Not: "not",
    ast.And: "and",
    ast.Or: "or",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}


def polynomial_of(formula: Formula) -> Polynomial:
    """Raises ArithmeticError."""
    return read(read_expression(formula.text))


def read(node: ast.expr) -> Polynomial:
    """The form that an expression of numbers denotes, in which a quotient by a number is exact.
    Raises ArithmeticError where it divides by zero, and for what is about something else than
    numbers, or about too large ones."""
    match node:
        case ast.Name(id=name):
            return Polynomial.generator(name)
        case ast.Subscript() | ast.Attribute():
            return Polynomial.generator(ast.unparse(node))
        case ast.Constant(value=int() | float() as value) if repr(value)[0].isdigit():  # not True
            return Polynomial.constant(Fraction(repr(value)))
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return read(operand)
        case ast.UnaryOp(op=op, operand=operand):
            return combined(_kind(op), read(operand))
        case ast.BinOp(left=left, op=op, right=right):
            first, second = read(left), read(right)
            if isinstance(op, ast.Pow) and second.constant_term > limits.EXPONENT:
                raise OverflowError
            if isinstance(op, ast.Div) and second.number:
                return first * Fraction(1, second.number)
            return combined(_kind(op), first, second)
        case ast.Call(func=ast.Name(id="max" | "min" as kind), args=[_, *_] as values):
            return reduce(partial(combined, kind), map(read, values))
        case ast.Call(func=ast.Name(id=kind), args=[argument]):
            return combined(kind, read(argument))
        case ast.BoolOp(op=op, values=values):
            return combined(_kind(op), *map(read, values))
        case ast.IfExp(test=test, body=body, orelse=other):
            return combined("if", read(test), read(body), read(other))
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn() as op], comparators=[within]):
            choices = [n for n in ast.iter_child_nodes(within) if isinstance(n, ast.expr)]
            is_in = combined("or", *(combined("==", read(left), read(n)) for n in choices))
            return is_in if isinstance(op, ast.In) else combined("not", is_in)
        case ast.Compare(left=left, ops=operations, comparators=sides):
            forms = [*map(read, [left, *sides])]
            links = zip(operations, forms, forms[1:], strict=False)
            return combined("and", *(combined(_kind(op), *both) for op, *both in links))
    raise ArithmeticError


def _kind(operation: ast.AST) -> str:
    """Raises ArithmeticError."""
    if type(operation) not in KINDS:
        raise ArithmeticError
    return KINDS[type(operation)]
