"""Exact arithmetic for budgets: a whitelist over Python's syntax tree, never `eval`.

Every number is a Fraction: `/` is exact, `0.1` is one tenth. Sizes are capped, so that no formula
can take noticeable time or memory.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from nparam_lint.ground.notation import (
    FormulaError,
    FormulaSyntaxError,
    TextError,
    UnknownName,
    exact_text,
    read_expression,
    shifted,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from nparam_lint.ground.values import NameValue

    _Names = Mapping[str, NameValue]

FUNCTIONS: dict[str, Callable[[list[Fraction]], Fraction | int]] = {
    "min": min,
    "max": max,
    "abs": lambda numbers: abs(numbers[0]),
    "ceil": lambda numbers: math.ceil(numbers[0]),
    "floor": lambda numbers: math.floor(numbers[0]),
    "trunc": lambda numbers: math.trunc(numbers[0]),
}

_MAX_BITS = 2048  # of a numerator or denominator; the largest models have counts of some 50 bits
_MAX_DEPTH = 100  # at most four Python frames each
_MAX_DIGITS = 400  # of a decimal, and its exponent
_ARITHMETIC: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction | int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_ORDER: dict[type[ast.cmpop], Callable[[Fraction, Fraction], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_Value = Fraction | str | None


@dataclass(frozen=True, slots=True)
class Formula:
    """A checked formula. `names` are the names that it needs values for; `is_condition`: its result
    is a truth value rather than a number. `evaluate` gives the exact value, or raises UnknownName,
    or FormulaError with the reason. `bounds`: names, each with a whole number that it is compared
    with, also by `min` or `max`."""

    text: str
    names: frozenset[str]
    is_condition: bool
    evaluate: Callable[[_Names], Fraction] = field(repr=False, compare=False)
    bounds: tuple[tuple[str, int], ...] = ()


def parse_formula(text: str) -> Formula:
    """Read a formula. Raises FormulaError; its offset counts in `text`."""
    body = re.sub(r"\s", " ", text.strip())
    with shifted(len(text) - len(text.lstrip())):
        try:
            tree = read_expression(body)
        except TextError as error:
            message = f"found `{body}`, expected a formula: {error.message}"
            raise FormulaSyntaxError(message, error.offset) from None
        reader = _Reader(body)
        reader.check_depth(tree)
        number = reader.number(tree)
        names = frozenset(reader.names)
        return Formula(body, names, is_condition(tree), number, tuple(_bounds(tree, names)))


def _bounds(tree: ast.expr, names: Collection[str]) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        is_call = isinstance(node, ast.Call) and ast.unparse(node.func) in ("min", "max")
        if is_call or isinstance(node, ast.Compare):
            parts = [*ast.walk(node)]
            texts = {ast.unparse(part) for part in parts if isinstance(part, ast.expr)}
            numbers = [part.value for part in parts if isinstance(part, ast.Constant)]
            for name in sorted(texts.intersection(names)):
                yield from ((name, number) for number in numbers if isinstance(number, int))


def is_condition(node: ast.expr) -> bool:
    """Whether the result is a truth value."""
    if isinstance(node, ast.BoolOp):
        return all(map(is_condition, node.values))
    return isinstance(node, ast.Compare) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    )


class _Reader:
    """Makes each node into a function of the names' values, once it was checked; refuses those that
    are not on the list. `names`: those that were met."""

    def __init__(self, text: str) -> None:
        self.names: set[str] = set()
        self.bytes = text.encode()  # the tree's columns count UTF-8 bytes

    def offset(self, node: ast.expr) -> int:
        return len(self.bytes[: node.col_offset].decode())

    def source(self, node: ast.expr) -> str:
        return self.bytes[node.col_offset : node.end_col_offset].decode()

    def fault(self, node: ast.expr, message: str) -> FormulaError:
        return FormulaError(message, self.offset(node))

    def check_depth(self, tree: ast.expr) -> None:
        """Without recursion, of which Python has no more than some hundred levels."""
        level: list[ast.AST] = [tree]
        for _ in range(_MAX_DEPTH + 1):
            level = [child for node in level for child in ast.iter_child_nodes(node)]
        if deep := [node for node in level if isinstance(node, ast.expr)]:
            raise self.fault(deep[0], f"the formula is nested deeper than {_MAX_DEPTH} levels")

    # --- nodes --------------------------------------------------------------------------------

    def number(self, node: ast.expr) -> Callable[[_Names], Fraction]:
        value = self.value(node)
        return lambda names: self.as_number(node, value(names))

    def value(self, node: ast.expr) -> Callable[[_Names], _Value]:
        match node:
            case ast.Name(id=name):
                return self.name(node, name)
            case ast.Subscript():
                return self.name(node, self.element(node))
            case ast.Attribute() if _is_dotted(node):
                return self.name(node, ast.unparse(node))
            case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
                number = self.constant(node)
                return lambda _: number
            case ast.BinOp(op=op) if isinstance(op, ast.Pow) or type(op) in _ARITHMETIC:
                return self.arithmetic(node)
            case ast.UnaryOp(op=ast.Not()):
                denied = self.value(node.operand)
                return lambda names: Fraction(not denied(names))
            case ast.UnaryOp(op=ast.UAdd() | ast.USub() as op):
                sign = 1 if isinstance(op, ast.UAdd) else -1
                operand = self.number(node.operand)
                return lambda names: sign * operand(names)
            case ast.BoolOp():
                return self.either_or_all(node)
            case ast.IfExp():
                test, body, orelse = map(self.value, (node.test, node.body, node.orelse))
                return lambda names: (body if test(names) else orelse)(names)
            case ast.Compare():
                return self.comparison(node)
            case ast.Call():
                return self.call(node)
        raise self.refusal(node)

    def name(self, node: ast.expr, name: str) -> Callable[[_Names], _Value]:
        self.names.add(name)

        def value(names: _Names) -> _Value:
            if name not in names:
                raise UnknownName(name, self.offset(node))
            argument = names[name]
            if isinstance(argument, float):
                if not math.isfinite(argument):
                    raise self.fault(node, f"`{name}` is {argument}, not a finite number")
                return Fraction(repr(argument))  # the decimal that was written, not its neighbour
            return Fraction(argument) if isinstance(argument, int) else argument

        return value

    def element(self, node: ast.Subscript) -> str:
        """An element of a list or a dictionary, as one name: `widths[0]`, `cfg['width']`."""
        index = node.slice.operand if isinstance(node.slice, ast.UnaryOp) else node.slice
        kind = type(index.value) if isinstance(index, ast.Constant) else None
        if kind is int or (kind is str and index is node.slice):
            if isinstance(node.value, ast.Subscript):
                self.element(node.value)
            if isinstance(node.value, ast.Subscript) or _is_dotted(node.value):
                return ast.unparse(node)
        expected = "expected an element of a list such as `widths[0]`"
        raise self.fault(node, f"found `{self.source(node)}`, {expected}")

    def constant(self, node: ast.Constant) -> Fraction:
        """The exact value of a literal: `0.1` and `1e6` have floats that are only near it."""
        literal = self.source(node)
        if isinstance(node.value, int):
            if node.value.bit_length() > _MAX_BITS:
                raise self.fault(node, f"the number `{literal[:40]}…` is too large")
            return Fraction(node.value)
        exponent = int(literal.lower().partition("e")[2] or 0)
        if len(literal) > _MAX_DIGITS or abs(exponent) > _MAX_DIGITS:
            raise self.fault(node, f"the number `{literal[:40]}` is too large")
        return Fraction(literal.replace("_", ""))

    def arithmetic(self, node: ast.BinOp) -> Callable[[_Names], Fraction]:
        left, right = self.number(node.left), self.number(node.right)

        def value(names: _Names) -> Fraction:
            first, second = left(names), right(names)
            try:
                if isinstance(node.op, ast.Pow):
                    return self.power(node, first, second)
                return Fraction(_ARITHMETIC[type(node.op)](first, second))
            except ZeroDivisionError:
                raise self.fault(node, f"`{self.source(node)}` divides by zero") from None

        return value

    def either_or_all(self, node: ast.BoolOp) -> Callable[[_Names], _Value]:
        *operands, last = map(self.value, node.values)

        def value(names: _Names) -> _Value:
            for operand in operands:
                result = operand(names)
                if bool(result) is isinstance(node.op, ast.Or):
                    return result
            return last(names)

        return value

    def comparison(self, node: ast.Compare) -> Callable[[_Names], Fraction]:
        first = self.operand(node.left)
        steps = [
            (op, right, self.right_side(node, op, right))
            for op, right in zip(node.ops, node.comparators, strict=True)
        ]

        def value(names: _Names) -> Fraction:
            left_node, left_value = node.left, first(names)
            for op, right_node, operands in steps:
                right = [operand(names) for operand in operands]
                if isinstance(op, ast.In | ast.NotIn):
                    holds = (left_value in right) is isinstance(op, ast.In)
                elif type(op) in _ORDER:
                    left_number = self.as_number(left_node, left_value)
                    holds = _ORDER[type(op)](left_number, self.as_number(right_node, right[0]))
                else:
                    holds = (left_value == right[0]) is isinstance(op, ast.Eq | ast.Is)
                if not holds:
                    return Fraction(0)
                left_node, left_value = right_node, right[0] if right else None
            return Fraction(1)

        return value

    def right_side(
        self, node: ast.Compare, op: ast.cmpop, right: ast.expr
    ) -> list[Callable[[_Names], _Value]]:
        """What is compared with: one value; behind `in`, those of a tuple."""
        if isinstance(op, ast.In | ast.NotIn):
            if not isinstance(right, ast.Tuple | ast.List) or len(node.ops) > 1:
                message = f"found `in {self.source(right)}`, expected one tuple of constants"
                raise self.fault(right, message)
            for element in right.elts:
                constant = element.operand if isinstance(element, ast.UnaryOp) else element
                if not isinstance(constant, ast.Constant):
                    message = f"found `{self.source(element)}`, expected a constant"
                    raise self.fault(element, message)
            return [*map(self.operand, right.elts)]
        is_none = isinstance(right, ast.Constant) and right.value is None
        if isinstance(op, ast.Is | ast.IsNot) and not is_none:
            raise self.fault(right, f"found `is {self.source(right)}`, expected `is None`")
        return [self.operand(right)]

    def operand(self, node: ast.expr) -> Callable[[_Names], _Value]:
        """Words, None and truth values may only be compared with, not calculated with."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bool | None):
            word = Fraction(node.value) if isinstance(node.value, bool) else node.value
            return lambda _: word
        return self.value(node)

    def call(self, node: ast.Call) -> Callable[[_Names], Fraction]:
        if not (isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS):
            expected = f"expected one of {', '.join(FUNCTIONS)}"
            raise self.fault(node, f"found `{self.source(node.func)}(…)`, {expected}")
        name = node.func.id
        single = name not in ("min", "max")
        if node.keywords or not node.args or (single and len(node.args) != 1):
            expected = "one argument" if single else "positional arguments"
            raise self.fault(node, f"found `{self.source(node)}`: `{name}` takes {expected}")
        numbers = [*map(self.number, node.args)]
        return lambda names: Fraction(FUNCTIONS[name]([number(names) for number in numbers]))

    def refusal(self, node: ast.expr) -> FormulaError:
        operators = "+ - * / // % **, comparisons, conditionals"
        reason = f"expected numbers, names, {operators}, {' '.join(FUNCTIONS)}"
        if isinstance(node, ast.Attribute):
            reason = f"expected the bare name `{node.attr}`"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str | bool | None):
            reason = "which may only be compared with"
        return self.fault(node, f"found `{self.source(node)}`, {reason}")

    # --- values -------------------------------------------------------------------------------

    def as_number(self, node: ast.expr, value: _Value) -> Fraction:
        if not isinstance(value, Fraction):
            raise self.fault(node, f"`{self.source(node)}` is {value!r}, not a number")
        bits = max(value.numerator.bit_length(), value.denominator.bit_length())
        if bits > _MAX_BITS:
            raise self.fault(node, f"`{self.source(node)}` is too large")
        return value

    def power(self, node: ast.BinOp, base: Fraction, exponent: Fraction) -> Fraction:
        if exponent.denominator != 1:
            root = _root(base, exponent.denominator)
            if root is None:
                reason = f"is {exact_text(base)} to the power of {exact_text(exponent)}: not exact"
                raise self.fault(node, f"`{self.source(node)}` {reason}")
            base = root
        bits = max(base.numerator.bit_length(), base.denominator.bit_length())
        if abs(base) not in (0, 1) and abs(exponent.numerator) * (bits - 1) > _MAX_BITS:
            raise self.fault(node, f"`{self.source(node)}` is too large")
        return base**exponent.numerator


def _is_dotted(node: ast.expr) -> bool:
    """Whether it is a name, or a field of one: `attn.heads`."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _root(number: Fraction, degree: int) -> Fraction | None:
    """The exact root of a non-negative number, or None where it is not rational."""
    if number < 0 or degree > _MAX_BITS:
        return None
    roots = []
    for part in number.as_integer_ratio():
        low, high = 0, 1 << (part.bit_length() // degree + 1)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if middle**degree <= part else (low, middle)
        if low**degree != part:
            return None
        roots.append(low)
    return Fraction(*roots)
