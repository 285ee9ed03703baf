"""The shortest form of a call and of the statements that it needs."""

from __future__ import annotations

import ast
import copy
from typing import TYPE_CHECKING

from nparam_lint.discover.syntax import dotted_name
from nparam_lint.evidence.statements import Assumption, loads, stores

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

_SCOPES = (ast.FunctionDef, ast.ClassDef, ast.Lambda, ast.comprehension)


def shortened(
    statements: Iterable[ast.stmt], call: ast.Call, read: Container[str] = ()
) -> tuple[list[ast.stmt], ast.Call]:
    """The slice and the call with constants in the place of names that stand for them, but for
    those that the model itself `read`s, and without arguments that are empty; what a condition says
    of an option holds from the start."""
    return _with_constants(*_without_empty(_joined(_hoisted(statements)), call), read)


def _hoisted(statements: Iterable[ast.stmt]) -> list[ast.stmt]:
    """What conditions say, right after what it is said of."""
    hoisted: list[ast.stmt] = []
    for node in statements:
        if isinstance(node, Assumption):
            root = dotted_name(node.targets[0]).partition(".")[0]
            setters = [n for n, setter in enumerate(hoisted) if root in stores(setter)]
            at = setters[-1] + 1 if setters else len(hoisted)
            hoisted.insert(at, ast.Assign(node.targets, node.value, lineno=1))
        else:
            hoisted.append(node)
    return hoisted


def _joined(statements: Iterable[ast.stmt]) -> list[ast.stmt]:
    """One import statement for each module."""
    joined: list[ast.stmt] = []
    imports: dict[tuple[str, int], ast.ImportFrom] = {}
    for node in statements:
        if isinstance(node, ast.ImportFrom):
            key = (node.module or "", node.level)
            if key in imports:
                aliases = {(a.name, a.asname) for a in imports[key].names}
                imports[key].names += [a for a in node.names if (a.name, a.asname) not in aliases]
                continue
            node = imports[key] = copy.copy(node)
            node.names = [*node.names]
        joined.append(node)
    return joined


def _with_constants(
    statements: list[ast.stmt], call: ast.Call, read: Container[str]
) -> tuple[list[ast.stmt], ast.Call]:
    names = [name for node in statements for name in stores(node)]
    if any(isinstance(n, _SCOPES) for node in (*statements, call) for n in ast.walk(node)):
        return statements, call
    constants: dict[str, ast.expr] = {}
    remaining: list[ast.stmt] = []
    for node in statements:
        value = getattr(node, "value", None)
        (name,) = stores(node) if len(stores(node)) == 1 else ("",)
        is_assignment = isinstance(node, (ast.Assign, ast.AnnAssign)) and names.count(name) == 1
        is_free = is_assignment and "." not in name and name not in read
        if is_free and value and _is_constant(value):
            constants[name] = value
        else:
            remaining.append(node)
    put = _Put(constants)
    return [put.visit(copy.deepcopy(node)) for node in remaining], put.visit(copy.deepcopy(call))


def _is_constant(node: ast.AST | None) -> bool:
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.operand, ast.Constant)
    if isinstance(node, ast.Tuple):
        return all(map(_is_constant, node.elts)) and len(node.elts) < 6
    return isinstance(node, ast.Constant)


class _Put(ast.NodeTransformer):
    """Puts constants in the place of names."""

    def __init__(self, constants: dict[str, ast.expr]) -> None:
        self.constants = constants

    def visit_Name(self, node: ast.Name) -> ast.expr:
        is_read = isinstance(node.ctx, ast.Load)
        return self.constants.get(node.id, node) if is_read else node


def _without_empty(statements: list[ast.stmt], call: ast.Call) -> tuple[list[ast.stmt], ast.Call]:
    """The slice and the call without `*args` and `**kwargs` that nothing is given for."""
    nodes = [inner for node in (*statements, call) for inner in ast.walk(node)]
    names = [node.id for node in nodes if isinstance(node, ast.Name)]
    empty = {
        node.targets[0].id
        for node in statements
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and ast.unparse(node.value) in ("{}", "()")
        and names.count(node.targets[0].id) == 2  # there, and perhaps in the call
    }
    unpacked = {f"{stars}{name}" for stars in ("*", "**") for name in empty}
    args = [item for item in call.args if ast.unparse(item) not in unpacked]
    keywords = [item for item in call.keywords if ast.unparse(item) not in unpacked]
    short = ast.copy_location(ast.Call(call.func, args, keywords), call)
    needless = loads(call) - loads(short)
    return [node for node in statements if stores(node).isdisjoint(needless)], short
