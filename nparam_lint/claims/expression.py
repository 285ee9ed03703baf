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

from nparam_lint.claims.notation import (
    FormulaError,
    FormulaSyntaxError,
    TextError,
    UnknownName,
    exact_text,
    read_expression,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nparam_lint.records import NameValue

FUNCTIONS = ("min", "max", "abs", "ceil", "floor")

_MAX_BITS = 2048  # of a numerator or denominator; the largest models have counts of some 50 bits
_MAX_DEPTH = 100  # at most four Python frames each
_DECIMAL = re.compile(r"([0-9]*)\.?([0-9]*)(?:[eE]([+-]?[0-9]+))?")
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
    """A checked formula. `names` are the names that it needs values for."""

    text: str
    names: frozenset[str]
    _tree: ast.expr = field(repr=False, compare=False)

    @property
    def is_condition(self) -> bool:
        """Whether its result is a truth value rather than a number."""
        tree = self._tree
        return isinstance(tree, ast.Compare) or (
            isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not)
        )

    def evaluate(self, names: Mapping[str, NameValue]) -> Fraction:
        """The exact value. Raises UnknownName, or FormulaError with the reason."""
        return _Evaluation(self.text, names).number(self._tree)


def parse_formula(text: str) -> Formula:
    """Read a formula. Raises FormulaError; its offset counts in `text`."""
    body = re.sub(r"\s", " ", text.strip())
    indent = len(text) - len(text.lstrip())
    try:
        tree = read_expression(body)
        check = _Check(body)
        check.node(tree)
        return Formula(body, frozenset(check.names), tree)
    except FormulaError as error:
        error.offset += indent
        raise
    except TextError as error:
        message = f"found `{body}`, expected a formula: {error.message}"
        raise FormulaSyntaxError(message, indent + error.offset) from None


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.bytes = text.encode()  # the tree's columns count UTF-8 bytes

    def offset(self, node: ast.expr) -> int:
        return len(self.bytes[: node.col_offset].decode())

    def source(self, node: ast.expr) -> str:
        return self.bytes[node.col_offset : node.end_col_offset].decode()

    def fault(self, node: ast.expr, message: str) -> FormulaError:
        return FormulaError(message, self.offset(node))

    def decimal(self, node: ast.expr) -> Fraction:
        """The exact value of a literal such as `0.1` or `1e6`, whose float would be near it."""
        match = _DECIMAL.fullmatch(self.source(node).replace("_", ""))
        if match is None or len(match[0]) > 400 or abs(int(match[3] or 0)) > 400:
            raise self.fault(node, f"the number `{self.source(node)[:40]}` is too large")
        exponent = int(match[3] or 0) - len(match[2])
        return int(match[1] + match[2]) * Fraction(10) ** exponent


class _Check(_Reader):
    """Refuses every node that is not on the list, and collects the names."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.names: set[str] = set()

    def node(self, node: ast.expr, depth: int = 0) -> None:
        if depth > _MAX_DEPTH:
            raise self.fault(node, f"the formula is nested deeper than {_MAX_DEPTH} levels")
        match node:
            case ast.Name(id=name):
                self.names.add(name)
            case ast.Subscript():
                self.names.add(self.element(node))
            case ast.Constant(value=float()):
                self.decimal(node)
            case ast.Constant(value=int() as value) if not isinstance(value, bool):
                if value.bit_length() > _MAX_BITS:
                    raise self.fault(node, f"the number `{self.source(node)[:40]}…` is too large")
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC or isinstance(
                op, ast.Pow
            ):
                self.node(left, depth + 1)
                self.node(right, depth + 1)
            case ast.UnaryOp(op=ast.UAdd() | ast.USub() | ast.Not(), operand=operand):
                self.node(operand, depth + 1)
            case ast.BoolOp(values=operands):
                for operand in operands:
                    self.node(operand, depth + 1)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                for part in (test, body, orelse):
                    self.node(part, depth + 1)
            case ast.Compare():
                self.comparison(node, depth + 1)
            case ast.Call():
                self.call(node, depth + 1)
            case _:
                raise self.refuse(node)

    def element(self, node: ast.Subscript) -> str:
        """An element of a list or a dictionary, as one name: `widths[0]`, `cfg['width']`."""
        index = node.slice.operand if isinstance(node.slice, ast.UnaryOp) else node.slice
        kind = type(index.value) if isinstance(index, ast.Constant) else None
        if kind is int or (kind is str and index is node.slice):
            if isinstance(node.value, ast.Subscript):
                self.element(node.value)
                return ast.unparse(node)
            if isinstance(node.value, ast.Name):
                return ast.unparse(node)
        raise self.fault(
            node, f"found `{self.source(node)}`, expected an element of a list such as `widths[0]`"
        )

    def comparison(self, node: ast.Compare, depth: int) -> None:
        self.operand(node.left, depth)
        for op, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, ast.In | ast.NotIn):
                if not isinstance(right, ast.Tuple | ast.List) or len(node.ops) > 1:
                    found = f"found `in {self.source(right)}`"
                    raise self.fault(right, f"{found}, expected one tuple of constants")
                for element in right.elts:
                    if not _is_constant(element):
                        found = self.source(element)
                        raise self.fault(element, f"found `{found}`, expected a constant")
                    self.operand(element, depth)
            elif isinstance(op, ast.Is | ast.IsNot) and not _is_none(right):
                raise self.fault(right, f"found `is {self.source(right)}`, expected `is None`")
            else:
                self.operand(right, depth)

    def operand(self, node: ast.expr, depth: int) -> None:
        """Words, None and truth values may only be compared with, not calculated with."""
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str | bool | None)):
            self.node(node, depth)

    def call(self, node: ast.Call, depth: int) -> None:
        if not (isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS):
            known = ", ".join(FUNCTIONS)
            raise self.fault(node, f"found `{self.source(node.func)}(…)`, expected one of {known}")
        name = node.func.id
        single = name not in ("min", "max")
        if node.keywords or not node.args or (single and len(node.args) != 1):
            expected = "one argument" if single else "positional arguments"
            raise self.fault(node, f"found `{self.source(node)}`: `{name}` takes {expected}")
        for argument in node.args:
            self.node(argument, depth)

    def refuse(self, node: ast.expr) -> FormulaError:
        found = f"found `{self.source(node)}`"
        if isinstance(node, ast.Attribute):
            return self.fault(node, f"{found}, expected the bare name `{node.attr}`")
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bool | None):
            return self.fault(node, f"{found}, which may only be compared with")
        expected = "numbers, names, + - * / // % **, comparisons, conditionals"
        return self.fault(node, f"{found}, expected {expected}, {' '.join(FUNCTIONS)}")


class _Evaluation(_Reader):
    def __init__(self, text: str, names: Mapping[str, NameValue]) -> None:
        super().__init__(text)
        self.names = names

    def number(self, node: ast.expr) -> Fraction:
        value = self.value(node)
        if not isinstance(value, Fraction):
            raise self.fault(node, f"`{self.source(node)}` is {value!r}, not a number")
        bits = max(value.numerator.bit_length(), value.denominator.bit_length())
        if bits > _MAX_BITS:
            raise self.fault(node, f"`{self.source(node)}` is too large")
        return value

    def value(self, node: ast.expr) -> _Value:
        match node:
            case ast.Constant(value=float()):
                return self.decimal(node)
            case ast.Constant(value=int() as whole):
                return Fraction(whole)
            case ast.Constant(value=str() | None as word):
                return word
            case ast.Name(id=name):
                return self.name(node, name)
            case ast.Subscript():
                return self.name(node, ast.unparse(node))
            case ast.BinOp():
                return self.arithmetic(node)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Fraction(not self.value(operand))
            case ast.UnaryOp(op=op, operand=operand):
                value = self.number(operand)
                return -value if isinstance(op, ast.USub) else value
            case ast.BoolOp(op=op, values=[*operands, last]):
                for operand in operands:
                    result = self.value(operand)
                    if bool(result) is isinstance(op, ast.Or):
                        return result
                return self.value(last)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.value(body if self.value(test) else orelse)
            case ast.Compare():
                return self.comparison(node)
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return _call(name, [self.number(argument) for argument in arguments])
        raise self.fault(node, f"cannot evaluate `{self.source(node)}`")

    def name(self, node: ast.expr, name: str) -> _Value:
        if name not in self.names:
            raise UnknownName(name, self.offset(node))
        value = self.names[name]
        if isinstance(value, float):
            if not math.isfinite(value):
                raise self.fault(node, f"`{name}` is {value}, not a finite number")
            return Fraction(repr(value))  # the decimal that was written, not its binary neighbour
        return Fraction(value) if isinstance(value, int) else value

    def arithmetic(self, node: ast.BinOp) -> Fraction:
        left, right = self.number(node.left), self.number(node.right)
        try:
            if isinstance(node.op, ast.Pow):
                return self.power(node, left, right)
            return Fraction(_ARITHMETIC[type(node.op)](left, right))
        except ZeroDivisionError:
            raise self.fault(node, f"`{self.source(node)}` divides by zero") from None

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

    def comparison(self, node: ast.Compare) -> Fraction:
        left_node, left = node.left, self.value(node.left)
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            if isinstance(right_node, ast.Tuple | ast.List):
                choices = [self.value(element) for element in right_node.elts]
                if (left in choices) is not isinstance(op, ast.In):
                    return Fraction(0)
                continue
            right = self.value(right_node)
            if type(op) in _ORDER:
                holds = _ORDER[type(op)](self.number(left_node), self.number(right_node))
            else:
                holds = (left == right) is isinstance(op, ast.Eq | ast.Is)
            if not holds:
                return Fraction(0)
            left_node, left = right_node, right
        return Fraction(1)


def _is_constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)
    )


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _call(name: str, numbers: list[Fraction]) -> Fraction:
    match name:
        case "min":
            return min(numbers)
        case "max":
            return max(numbers)
        case "abs":
            return abs(numbers[0])
        case "ceil":
            return Fraction(math.ceil(numbers[0]))
        case _:
            return Fraction(math.floor(numbers[0]))


def _root(number: Fraction, degree: int) -> Fraction | None:
    """The exact root of a non-negative number, or None where it is not rational."""
    if number < 0 or degree > _MAX_BITS:
        return None
    top, bottom = (_integer_root(part, degree) for part in number.as_integer_ratio())
    root = Fraction(top, bottom or 1)
    return root if root**degree == number else None


def _integer_root(number: int, degree: int) -> int:
    """The largest whole number whose power does not exceed `number`."""
    low, high = 0, 1 << (number.bit_length() // degree + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**degree <= number else (low, middle)
    return low
