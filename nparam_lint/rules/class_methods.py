"""The classes of a file and their methods, as the rules look at them."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import ref

from nparam_lint.discover.syntax import FUNCTIONS, Function, bound_names, flat
from nparam_lint.rules.nodes import arguments, nodes, plain_name
from nparam_lint.rules.value_flow import ValueFlow, flow_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Calls that give an object another element, with the place of that element among the arguments.
_PUTS = {"append": 0, "add": 0, "appendleft": 0, "insert": 1, "setdefault": 1}
_SPREADS = frozenset({"extend", "update"})
_HARMLESS_DECORATOR = re.compile(r"regist|final$|export|deprecated|overload")


@dataclass(eq=False)
class Class:
    """A class statement. `is_module`: it is known to be an `nn.Module`."""

    node: ast.ClassDef
    qualname: str
    is_module: bool
    methods: dict[str, Method] = field(default_factory=dict)


@dataclass(eq=False)
class Method:
    """A function of a class body. `self_name` is empty in static and class methods. Its class is
    held weakly: a cycle would keep the whole syntax tree until garbage is collected."""

    node: Function
    _owner: ref[Class]
    name: str
    self_name: str

    def sibling(self, name: str) -> Method | None:
        """The method of that name in the same class."""
        owner = self._owner()
        return owner.methods.get(name) if owner is not None else None

    @property
    def runs_forward(self) -> bool:
        """Whether it is run for each batch, rather than to build the model."""
        return self.name.lstrip("_").startswith("forward") or self.name == "__call__"

    def attribute(self, node: ast.AST) -> str:
        """X of `self.X`; "" of anything else."""
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == self.self_name
        ):
            return node.attr
        return ""

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of its body, in the order of the source."""
        return list(nodes(self.node.body))

    @cached_property
    def flow(self) -> ValueFlow:
        return flow_of(self)

    @cached_property
    def parameters(self) -> frozenset[str]:
        return frozenset(_parameter_names(self.node.args))

    @cached_property
    def bindings(self) -> dict[str, list[ast.expr | None]]:
        """For each local name what it is assigned; None where that is no plain assignment."""
        found: dict[str, list[ast.expr | None]] = defaultdict(list)
        for name in self.parameters:
            found[name].append(None)
        for node in self.nodes:
            for name, value in _bound(node):
                found[name].append(value)
        return dict(found)

    @cached_property
    def puts(self) -> dict[str, list[ast.expr]]:
        """For each local name what is put into it: `name.append(X)`, `name[key] = X`, `name += X`.
        What is spread into it (`name.extend(X)`) stands as `[*X]`."""
        found: dict[str, list[ast.expr]] = defaultdict(list)
        for node in self.nodes:
            for holder, value in put_into(node):
                if isinstance(holder, ast.Name):
                    found[holder.id].append(value)
        return dict(found)


def find_classes(tree: ast.Module, modules: frozenset[str]) -> list[Class]:
    """Every class that is not inside a function, in order."""
    found: list[Class] = []
    _classes(tree.body, "", modules, found)
    return found


def _classes(
    body: Sequence[ast.stmt], outer: str, modules: frozenset[str], found: list[Class]
) -> None:
    for node in flat(body):
        if isinstance(node, ast.ClassDef):
            qualname = f"{outer}{node.name}"
            owner = Class(node, qualname, qualname in modules)
            found.append(owner)
            for statement in flat(node.body):
                if isinstance(statement, FUNCTIONS):
                    method = Method(statement, ref(owner), statement.name, _self_name(statement))
                    owner.methods[statement.name] = method
            _classes(node.body, f"{qualname}.", modules, found)


def keeps_signature(decorator: str) -> bool:
    """Does a decorator of this name leave a class or function as it is called?"""
    return _HARMLESS_DECORATOR.search(decorator) is not None


def assigned(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """(target, value) of each assignment that a statement makes."""
    if isinstance(node, ast.Assign):
        yield from ((target, node.value) for target in node.targets)
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        yield node.target, node.value


def put_into(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """(container, element) of a statement or call that gives an object another element."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name = node.func.attr
        if name in _SPREADS or name in _PUTS:
            given = [value for _, value in arguments(node)]
            if name in _SPREADS and given:
                yield node.func.value, _spread(given[0])
            elif name in _PUTS and len(given) > _PUTS[name]:
                yield node.func.value, given[_PUTS[name]]
    elif isinstance(node, ast.AugAssign):
        yield node.target, _spread(node.value)
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                yield target.value, node.value


def _spread(value: ast.expr) -> ast.List:
    return ast.List([ast.Starred(value)])


def _self_name(node: Function) -> str:
    names = {plain_name(item) for item in node.decorator_list}
    given = [*node.args.posonlyargs, *node.args.args]
    if not given or names & {"staticmethod", "classmethod"}:
        return ""
    return given[0].arg


def _parameter_names(args: ast.arguments) -> Iterator[str]:
    stars = (item for item in (args.vararg, args.kwarg) if item is not None)
    for item in (*args.posonlyargs, *args.args, *args.kwonlyargs, *stars):
        yield item.arg


def _bound(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """The names that one node binds, with the value where it is a plain assignment."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                yield target.id, node.value
            else:
                yield from _unpacked(target)
    elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
        if isinstance(node.target, ast.Name):
            yield node.target.id, node.value
    elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        yield from _unpacked(node.target)
    elif isinstance(node, ast.withitem):
        yield from _unpacked(node.optional_vars) if node.optional_vars else ()
    elif isinstance(node, ast.alias):
        yield node.asname or node.name.partition(".")[0], None
    elif isinstance(node, ast.arguments):
        yield from ((name, None) for name in _parameter_names(node))
    elif isinstance(
        node, (ast.ClassDef, *FUNCTIONS, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)
    ):
        yield node.name or "", None


def _unpacked(target: ast.expr) -> Iterator[tuple[str, None]]:
    """The names that an assignment to `target` binds: not those of `a.b` or `a[i]`."""
    return ((name, None) for name in bound_names(target))
