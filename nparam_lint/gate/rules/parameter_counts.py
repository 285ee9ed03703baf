"""Sums of `numel()` in one function, and by what they are divided."""

from __future__ import annotations

import ast
import math
from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING

from nparam_lint.discover.syntax import FUNCTIONS, parameter_names, text_of
from nparam_lint.gate.rules.nodes import arguments, bindings, bound, last_name, nodes, parents

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from nparam_lint.discover.syntax import Function
    from nparam_lint.gate.rules.nodes import Bindings

_SIZES = frozenset({"numel", "nelement"})
# Their result is the number that they are given, or a sum of such.
SAME_NUMBER = frozenset("int float round".split())
_SUMS = SAME_NUMBER | {"sum", "dict"}
_SAME_OBJECT = frozenset("item sum values".split())
_SCALING = (ast.Div, ast.FloorDiv, ast.RShift, ast.Mult)
_LARGEST_POWER = 64


class CountScope:
    """One function, without those inside it, or the top level of a file. `counters`: the functions
    of the file that return a number of parameters."""

    def __init__(self, place: Function | ast.Module, counters: Collection[str] = ()) -> None:
        self.place = place
        self._counters = counters
        self.nodes = list(nodes(place.body, skip=(*FUNCTIONS, ast.ClassDef)))
        # By the name of a variable; while that is looked at, what a use of itself is taken for.
        self._counts: dict[str, bool] = {}
        self._of_parameters: dict[str, bool] = {}

    @property
    def counts_elements(self) -> bool:
        return any(self._is_size(node) for node in self.nodes)

    @property
    def name(self) -> str:
        return "" if isinstance(self.place, ast.Module) else self.place.name

    @property
    def docstring(self) -> str:
        first = self.place.body[0]
        text = text_of(first.value) if isinstance(first, ast.Expr) else None
        return text or ""

    @cached_property
    def parents(self) -> dict[int, ast.AST]:
        return parents(self.nodes)

    @cached_property
    def uses(self) -> dict[str, list[ast.Name]]:
        """Where each local variable is read."""
        uses: dict[str, list[ast.Name]] = defaultdict(list)
        for node in self.nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                uses[node.id].append(node)
        return uses

    def quotients(self) -> Iterator[tuple[ast.BinOp, float]]:
        """Each number of elements that is divided, with the divisor."""
        for node in self.nodes:
            if isinstance(node, ast.BinOp) and isinstance(node.op, _SCALING):
                divisor = self._divisor(node)
                parent = self.parents.get(id(node))
                if divisor and not (isinstance(parent, ast.BinOp) and self._divisor(parent)):
                    yield node, divisor

    def is_count(self, node: ast.AST) -> bool:
        """Is this a number of elements, of which none is weighted, as by its size in bytes?"""
        if isinstance(node, ast.Name):
            return self._is_count_name(node.id)
        if isinstance(node, (ast.GeneratorExp, ast.ListComp)):
            return self.is_count(node.elt)
        if isinstance(node, ast.DictComp):
            return self.is_count(node.value)
        if isinstance(node, ast.Tuple) and len(node.elts) == 2:  # of a dict
            return self.is_count(node.elts[1])
        if isinstance(node, ast.IfExp):
            return self._are_counts(node.body, node.orelse)
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            return self._are_counts(node.left, node.right)
        return self._is_size(node) or (isinstance(node, ast.Call) and self._keeps_count(node))

    def is_of_parameters(self, node: ast.AST) -> bool:
        """Do the names say that the elements are those of parameters?"""
        return any(self._says_parameters(last_name(part)) for part in nodes([node]))

    def _is_size(self, node: ast.AST) -> bool:
        """`p.numel()`, `count_parameters(model)`, and what DeepSpeed has where it divides `p`."""
        if not isinstance(node, ast.Call):
            return isinstance(node, ast.Attribute) and node.attr == "ds_numel"
        if isinstance(node.func, ast.Attribute):
            return node.func.attr in _SIZES
        return isinstance(node.func, ast.Name) and node.func.id in self._counters

    def _keeps_count(self, call: ast.Call) -> bool:
        """`np.sum(…)`, `int(…)`, `….item()`, `{…}.values()`, `map(lambda p: p.numel(), …)`"""
        function, values = call.func, [value for _, value in arguments(call)]
        name = last_name(function)
        if name == "map" and values and isinstance(values[0], ast.Lambda):
            return self.is_count(values[0].body)
        if isinstance(function, ast.Attribute) and name in _SAME_OBJECT and not values:
            return self.is_count(function.value)
        return name in _SUMS and bool(values) and self.is_count(values[0])

    def _are_counts(self, *parts: ast.AST) -> bool:
        """Counts, or zeros beside one."""
        others = [part for part in parts if number(part) != 0]
        return bool(others) and all(map(self.is_count, others))

    def _is_count_name(self, name: str) -> bool:
        if name not in self._counts:
            self._counts[name] = True  # for `n = n + …`
            values = self.values.get(name, [None])
            self._counts[name] = None not in values and self._are_counts(*filter(None, values))
        return self._counts[name]

    def _says_parameters(self, name: str) -> bool:
        """Does the name, or what is assigned to it, or what is looped over?"""
        if name not in self._of_parameters:
            self._of_parameters[name] = "param" in name.lower()
            sources = [*filter(None, self.values.get(name, ())), *self._loops.get(name, ())]
            self._of_parameters[name] |= any(map(self.is_of_parameters, sources))
        return self._of_parameters[name]

    @cached_property
    def values(self) -> Bindings:
        """As `bindings`, with what is added to a name; None where it is changed otherwise."""
        place = self.place
        parameters = () if isinstance(place, ast.Module) else parameter_names(place.args)
        values = bindings(parameters, self.nodes)
        for node in self.nodes:
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                is_sum = isinstance(node.op, (ast.Add, ast.Sub))
                values.setdefault(node.target.id, []).append(node.value if is_sum else None)
        return values

    @cached_property
    def _loops(self) -> dict[str, list[ast.expr]]:
        """For each variable of a loop what is looped over."""
        loops: dict[str, list[ast.expr]] = defaultdict(list)
        for node in self.nodes:
            if isinstance(node, ast.For):
                for name, _ in bound(node):
                    loops[name].append(node.iter)
        return loops

    def _divisor(self, node: ast.AST) -> float:
        """By what a number of elements is divided; 0 of anything else, and of a plain count."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            inner = node.args[:1] if node.func.id in SAME_NUMBER else []
            return self._divisor(inner[0]) if inner else 0
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, _SCALING):
            return 0
        scale, value = number(node.right), node.left
        if scale is None and isinstance(node.op, ast.Mult):
            scale, value = number(node.left), node.right
        if not scale or not 0 < scale < 1e30:
            return 0
        if isinstance(node.op, ast.RShift):
            scale = 2.0**scale
        before = 1.0 if self.is_count(value) else self._divisor(value)
        return before / scale if isinstance(node.op, ast.Mult) else before * scale


def number(node: ast.AST) -> float | None:
    """The value of a calculation with literal numbers: `1024 ** 2`; None of anything else."""
    if isinstance(node, ast.Constant):
        value = node.value
        return value if isinstance(value, (int, float)) and abs(value) < 1e30 else None
    if not isinstance(node, ast.BinOp):
        return None
    operand, right = number(node.left), number(node.right)
    if operand is None or right is None:
        return None
    if isinstance(node.op, ast.Mult):
        return operand * right
    if isinstance(node.op, ast.Div) and right:
        return operand / right
    is_small = 0 <= right <= _LARGEST_POWER and abs(operand) < 1e4
    if isinstance(node.op, ast.Pow) and is_small and operand > 0:
        return math.pow(operand, right)
    return float(operand) * 2.0**right if isinstance(node.op, ast.LShift) and is_small else None


def counters(functions: Iterable[Function]) -> frozenset[str]:
    """The names of the functions that return nothing but a number of elements."""
    names: dict[str, bool] = {}
    for function in functions:
        scope = CountScope(function)
        if not scope.counts_elements:
            continue
        returns = [node.value for node in scope.nodes if isinstance(node, ast.Return)]
        counts = bool(returns) and all(value and scope.is_count(value) for value in returns)
        names[function.name] = counts and names.get(function.name, True)
    return frozenset(name for name, counts in names.items() if counts)
