"""The classes of a file and their methods, as the rules look at them."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from nparam_lint.rules.walk import children, nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

# Calls that give an object another element, with the place of that element among the arguments.
PUTS = {"append": 0, "add": 0, "appendleft": 0, "insert": 1, "setdefault": 1}
SPREADS = frozenset({"extend", "update"})
_HARMLESS_DECORATOR = re.compile(r"regist|final$|export|deprecated|overload")


@dataclass(eq=False)
class Class:
    """A class statement. `is_module`: it is known to be an `nn.Module`."""

    node: cst.ClassDef
    qualname: str
    is_module: bool
    methods: dict[str, Method] = field(default_factory=dict)

    @cached_property
    def building(self) -> frozenset[str]:
        """The methods that `__init__` runs, itself included."""
        found: set[str] = set()
        pending = ["__init__"]
        while pending:
            method = self.methods.get(pending.pop())
            if method is not None and method.name not in found:
                found.add(method.name)
                calls = (node for node in nodes(method.node.body) if isinstance(node, cst.Call))
                pending += filter(None, (method.attribute(call.func) for call in calls))
        return frozenset(found)


@dataclass(eq=False)
class Method:
    """A function of a class body. `self_name` is empty in static and class methods."""

    node: cst.FunctionDef
    owner: Class
    name: str
    self_name: str

    @property
    def runs_forward(self) -> bool:
        """Whether it is run for each batch, rather than to build the model."""
        return self.name.lstrip("_").startswith("forward") or self.name == "__call__"

    @property
    def builds(self) -> bool:
        """Whether it is run when the model is made."""
        return self.name in self.owner.building

    def attribute(self, node: cst.CSTNode) -> str:
        """X of `self.X`; "" of anything else."""
        if (
            self.self_name
            and isinstance(node, cst.Attribute)
            and isinstance(node.value, cst.Name)
            and node.value.value == self.self_name
        ):
            return node.attr.value
        return ""

    @cached_property
    def parameters(self) -> frozenset[str]:
        return frozenset(_parameter_names(self.node.params))

    @cached_property
    def bindings(self) -> dict[str, list[cst.BaseExpression | None]]:
        """For each local name what it is assigned; None where that is no plain assignment."""
        found: dict[str, list[cst.BaseExpression | None]] = defaultdict(list)
        for name in self.parameters:
            found[name].append(None)
        for node in nodes(self.node.body):
            for name, value in _bound(node):
                found[name].append(value)
        return dict(found)

    @cached_property
    def puts(self) -> dict[str, list[cst.BaseExpression]]:
        """For each local name what is put into it: `name.append(X)`, `name[key] = X`, `name += X`.
        What is spread into it (`name.extend(X)`) stands as `[*X]`."""
        found: dict[str, list[cst.BaseExpression]] = defaultdict(list)
        for node in nodes(self.node.body):
            for holder, value in put_into(node):
                if isinstance(holder, cst.Name):
                    found[holder.value].append(value)
        return dict(found)

    @cached_property
    def parents(self) -> dict[int, cst.CSTNode]:
        """id(node) → the node that it is part of."""
        return {id(child): node for node in nodes(self.node.body) for child in children(node)}


def find_classes(tree: cst.Module, modules: frozenset[str]) -> list[Class]:
    """Every class that is not inside a function, in order."""
    found: list[Class] = []
    _classes(tree, "", modules, found)
    return found


def _classes(body: cst.CSTNode, outer: str, modules: frozenset[str], found: list[Class]) -> None:
    for node in statements(body):
        if isinstance(node, cst.ClassDef):
            qualname = f"{outer}{node.name.value}"
            owner = Class(node, qualname, qualname in modules)
            found.append(owner)
            for statement in statements(node.body):
                if isinstance(statement, cst.FunctionDef):
                    name = statement.name.value
                    owner.methods[name] = Method(statement, owner, name, _self_name(statement))
            _classes(node.body, f"{qualname}.", modules, found)


def statements(body: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The compound statements of one scope: those inside `if`, `try`, `with` too."""
    skip = (cst.SimpleStatementLine, cst.BaseExpression, cst.ClassDef, cst.FunctionDef)
    for node in nodes(body, skip=skip):
        if isinstance(node, (cst.ClassDef, cst.FunctionDef)):
            yield node


def dotted_name(node: cst.CSTNode) -> str:
    """`a.b.C` of a name or an attribute; "" of anything else."""
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    if not isinstance(node, cst.Name):
        return ""
    return ".".join((node.value, *reversed(parts)))


def keeps_signature(decorator: str) -> bool:
    """Does a decorator of this name leave a class or function as it is called?"""
    return _HARMLESS_DECORATOR.search(decorator) is not None


def assigned(node: cst.CSTNode) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """(target, value) of each assignment that a statement makes."""
    if isinstance(node, cst.Assign):
        yield from ((target.target, node.value) for target in node.targets)
    elif isinstance(node, cst.AnnAssign) and node.value is not None:
        yield node.target, node.value


def put_into(node: cst.CSTNode) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """(container, element) of a statement or call that gives an object another element."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        name, arguments = node.func.attr.value, node.args
        if name in SPREADS and arguments:
            yield node.func.value, _spread(arguments[0].value)
        elif name in PUTS and len(arguments) > PUTS[name]:
            yield node.func.value, arguments[PUTS[name]].value
    elif isinstance(node, cst.AugAssign):
        yield node.target, _spread(node.value)
    elif isinstance(node, cst.Assign):
        for target in node.targets:
            if isinstance(target.target, cst.Subscript):
                yield target.target.value, node.value


def _spread(value: cst.BaseExpression) -> cst.List:
    return cst.List([cst.StarredElement(value)])


def _self_name(node: cst.FunctionDef) -> str:
    names = {dotted_name(item.decorator) for item in node.decorators}
    given = [*node.params.posonly_params, *node.params.params]
    if not given or names & {"staticmethod", "classmethod"}:
        return ""
    return given[0].name.value


def _parameter_names(params: cst.Parameters) -> Iterator[str]:
    for item in (*params.posonly_params, *params.params, *params.kwonly_params):
        yield item.name.value
    for star in (params.star_arg, params.star_kwarg):
        if isinstance(star, cst.Param):
            yield star.name.value


def _bound(node: cst.CSTNode) -> Iterator[tuple[str, cst.BaseExpression | None]]:
    """The names that one node binds, with the value where it is a plain assignment."""
    if isinstance(node, cst.Assign):
        for target in node.targets:
            if isinstance(target.target, cst.Name):
                yield target.target.value, node.value
            else:
                yield from ((name, None) for name in _target_names(target.target))
    elif isinstance(node, (cst.AnnAssign, cst.NamedExpr)):
        if isinstance(node.target, cst.Name):
            yield node.target.value, node.value
    elif isinstance(node, (cst.For, cst.CompFor)):
        yield from ((name, None) for name in _target_names(node.target))
    elif isinstance(node, cst.AsName):
        yield from ((name, None) for name in _target_names(node.name))
    elif isinstance(node, cst.ImportAlias) and node.asname is None:
        yield dotted_name(node.name).partition(".")[0], None
    elif isinstance(node, cst.Parameters):
        yield from ((name, None) for name in _parameter_names(node))
    elif isinstance(node, (cst.FunctionDef, cst.ClassDef)):
        yield node.name.value, None


def _target_names(target: cst.CSTNode) -> Iterator[str]:
    """The names that an assignment to `target` binds: not those of `a.b` or `a[i]`."""
    for node in nodes(target, skip=(cst.Attribute, cst.Subscript)):
        if isinstance(node, cst.Name):
            yield node.value
