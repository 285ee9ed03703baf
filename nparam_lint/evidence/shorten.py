"""The shortest form of a call and of the statements that it needs."""

from __future__ import annotations

import ast
import copy
from typing import TYPE_CHECKING

from nparam_lint.discover.syntax import dotted_name
from nparam_lint.evidence.statements import Assumption, stores

if TYPE_CHECKING:
    from collections.abc import Sequence

_SCOPES = (ast.FunctionDef, ast.ClassDef, ast.Lambda, ast.comprehension)


def shortened(made: Sequence[ast.stmt], call: ast.Call) -> tuple[list[ast.stmt], ast.Call]:
    """The slice and the call with constants in the place of names that stand for them, and without
    arguments that are empty; what a condition says of an option holds from the start."""
    return _with_constants(*_without_empty(_joined(_hoisted(made)), call))


def _hoisted(made: Sequence[ast.stmt]) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    for node in made:
        found.append(node)
        if isinstance(node, Assumption):
            found[-1] = ast.Assign(node.targets, node.value, lineno=1)
            root = dotted_name(node.targets[0]).partition(".")[0]
            at = [n for n, one in enumerate(found) if root in stores(one)]
            if at:
                found.insert(at[-1] + 1, found.pop())
    return found


def _joined(made: list[ast.stmt]) -> list[ast.stmt]:
    """One import statement for each module."""
    found: list[ast.stmt] = []
    first: dict[tuple[str, int], ast.ImportFrom] = {}
    for node in made:
        if isinstance(node, ast.ImportFrom):
            key = (node.module or "", node.level)
            if key in first:
                known = {(a.name, a.asname) for a in first[key].names}
                first[key].names += [a for a in node.names if (a.name, a.asname) not in known]
                continue
            node = first[key] = copy.copy(node)
            node.names = [*node.names]
        found.append(node)
    return found


def _with_constants(made: Sequence[ast.stmt], call: ast.Call) -> tuple[list[ast.stmt], ast.Call]:
    names = [name for node in made for name in stores(node)]
    if any(isinstance(n, _SCOPES) for node in (*made, call) for n in ast.walk(node)):
        return [*made], call
    constants: dict[str, ast.expr] = {}
    left: list[ast.stmt] = []
    for node in made:
        value = getattr(node, "value", None)
        (name,) = stores(node) if len(stores(node)) == 1 else ("",)
        is_assignment = isinstance(node, (ast.Assign, ast.AnnAssign)) and names.count(name) == 1
        if is_assignment and value and "." not in name and _is_constant(value):
            constants[name] = value
        else:
            left.append(node)
    if not constants:
        return left, call
    put = _Put(constants)
    return [put.visit(copy.deepcopy(node)) for node in left], put.visit(copy.deepcopy(call))


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


def _without_empty(made: list[ast.stmt], call: ast.Call) -> tuple[list[ast.stmt], ast.Call]:
    """The slice and the call without `*args` and `**kwargs` that nothing is given for."""
    empty = {
        node.targets[0].id: node
        for node in made
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and ast.unparse(node.value) in ("{}", "()")
    }
    names = [n for node in (*made, call) for n in ast.walk(node) if isinstance(n, ast.Name)]
    once = [name for name in empty if sum(n.id == name for n in names) == 2]
    args = [a for a in call.args if not (isinstance(a, ast.Starred) and _name(a.value) in once)]
    keywords = [k for k in call.keywords if not (k.arg is None and _name(k.value) in once)]
    if len(args) + len(keywords) == len(call.args) + len(call.keywords):
        return made, call
    short = ast.copy_location(ast.Call(call.func, args, keywords), call)
    left = {n.id for n in ast.walk(short) if isinstance(n, ast.Name)}
    gone = [empty[name] for name in once if name not in left]
    return [node for node in made if node not in gone], short


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""
