"""What the constructors of a class and of its bases do, as one function."""

from __future__ import annotations

import ast
import copy
from contextlib import suppress
from typing import TYPE_CHECKING

from nparam_lint.discover.syntax import FUNCTIONS, Function, dotted_name, tail
from nparam_lint.evidence.arguments import arguments_of, default_values
from nparam_lint.evidence.statements import NoWay, assign, is_self, loads

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


def methods_of(owner: ast.ClassDef) -> dict[str, Function]:
    return {node.name: node for node in owner.body if isinstance(node, FUNCTIONS)}


def attributes_read(method: Function) -> set[str]:
    """Each as `self.name`."""
    return {name for name in loads(method) if name.startswith("self.")}


def is_bound_to_class(method: Function) -> bool:
    """Whether this is a static or a class method."""
    names = {tail(dotted_name(item)) for item in method.decorator_list}
    return not names.isdisjoint(("staticmethod", "classmethod"))


def has_first(method: Function) -> bool:
    """Whether a call does not give a method its first argument: `self`, or `cls`."""
    return "staticmethod" not in map(dotted_name, method.decorator_list)


def inherited_statements(node: ast.stmt, inherited: Function) -> list[ast.stmt]:
    """What a statement does that calls the base's constructor: `super().__init__(args)`."""
    call = node.value if isinstance(node, ast.Expr) else None
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
        return []
    if call.func.attr != "__init__":
        return []
    if call.args and is_self(call.args[0]):  # Base.__init__(self, args)
        call = ast.Call(call.func, call.args[1:], call.keywords)
    with suppress(NoWay):
        values = default_values(inherited) | arguments_of(inherited, call, is_method=True)
        same = {n for n, v in values.items() if isinstance(v, ast.Name) and v.id == n}
        names = {name: f"{name}_of_base" for name in values.keys() - same}
        assignments = [assign(names[name], values[name]) for name in values if name in names]
        body = [Renamed(names).visit(copy.deepcopy(item)) for item in inherited.body]
        for item in (inner for statement in [*assignments, *body] for inner in ast.walk(statement)):
            if hasattr(item, "lineno"):
                ast.copy_location(item, node)
        return [*assignments, *body]
    return []


def with_bound_methods(
    owner: str, body: Sequence[ast.stmt], methods: Mapping[str, Function]
) -> Iterator[ast.stmt]:
    """The statements, each after what makes the methods that it calls attributes of an object that
    has no class: `self.width = self.find_width()`."""
    for node in body:
        names = {name.removeprefix("self.") for name in loads(node)}
        yield from (bound_method(owner, methods[name]) for name in sorted(names & methods.keys()))
        yield node


def bound_method(owner: str, method: Function) -> ast.stmt:
    """The method of a class as an attribute of `self`, or the value of a property, after the
    attributes that it reads."""
    value = f"{owner}.{method.name}"
    if not is_bound_to_class(method):
        reads = ", ".join(sorted(attributes_read(method) - {f"self.{method.name}"}))
        value = f"({reads}, {value}.__get__(self))[-1]" if reads else f"{value}.__get__(self)"
    node = ast.parse(f"self.{method.name} = {value}").body[0]
    return ast.copy_location(node, method)


class Renamed(ast.NodeTransformer):
    """Calls things by other names: `width`, or `self.net`."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        name = self.names.get(dotted_name(node))
        return ast.Name(name, node.ctx) if name else self.generic_visit(node)
