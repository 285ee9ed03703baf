"""What a function does before it calls a model's class: for one that would load weights then."""

from __future__ import annotations

import ast
import copy
import re
from typing import TYPE_CHECKING

from nparam_lint.discover.syntax import dotted_name, flat
from nparam_lint.ground.orders import Recipe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.discover.ways.named_parameters import FoundFunction

_LOADS = re.compile(
    r"(?i)from_pretrained|load_state_dict|load_url|hub|download|urlopen|load_weights|load_pretrained"
    r"|load_checkpoint|torch\.load|load_file|load_model|(^|\.)open$"
)


def downloads(function: FoundFunction) -> bool:
    """Whether calling a function loads weights: without a condition, under one that holds by
    default, or because it is called `load`."""
    is_loader = function.node.name.startswith(("load", "from_pretrained"))
    return any(
        _loads(node) and (is_loader or not isinstance(node, ast.If) or _holds(function, node.test))
        for node in function.node.body
    )


def _holds(function: FoundFunction, test: ast.expr) -> bool:
    """Whether a condition is a parameter that is true by default."""
    default = function.defaults.get(test.id) if isinstance(test, ast.Name) else None
    return isinstance(default, ast.Constant) and bool(default.value)


def _loads(node: ast.AST) -> bool:
    calls = (item for item in ast.walk(node) if isinstance(item, ast.Call))
    return any(_LOADS.search(dotted_name(call.func)) for call in calls)


def needed_for(function: FoundFunction, arguments: dict[str, str], model: str) -> Recipe | None:
    """The statements of the function that its call of the class `model` needs, and that call. None
    where there is none, where an argument is unknown, or where these load something too."""
    body = function.node.body
    calls = (_call_of(node, model, function.kind == "class") for node in body)
    number, call = next(((n, call) for n, call in enumerate(calls) if call), (0, None))
    if call is None:
        return None
    needed = _names(call)
    kept: list[ast.stmt] = []
    for node in reversed(body[:number]):
        bound = _bound(node)
        if bound & needed:
            needed |= _names(node)
            kept.insert(0, node)
    if any(map(_loads, kept)):
        return None
    values = {name: ast.unparse(value) for name, value in function.defaults.items()} | arguments
    own = {item.arg for item in function.parameters}
    if (needed & own) - set(values):
        return None
    setup = [f"{name} = {values[name]}" for name in values if name in needed]
    setup += [_written(function, node) for node in kept]
    return Recipe(setup="\n".join(setup) or None, call=_written(function, call))


def _call_of(node: ast.stmt, model: str, is_class_method: bool) -> ast.Call | None:
    """The call of the class that a statement assigns or returns."""
    value = getattr(node, "value", None)
    if not isinstance(node, (ast.Assign, ast.Return, ast.AnnAssign)):
        return None
    if not isinstance(value, ast.Call):
        return None
    head = dotted_name(value.func)
    return value if head == model or (is_class_method and head == "cls") else None


def _written(function: FoundFunction, node: ast.AST) -> str:
    """A part of a function, as it can be written outside of it."""
    if function.kind != "class":
        return ast.unparse(node)
    own = function.node.args.args[0].arg
    node = copy.deepcopy(node)
    for item in ast.walk(node):
        if isinstance(item, ast.Name) and item.id == own:
            item.id = function.owner
    return ast.unparse(node)


def _names(node: ast.AST) -> set[str]:
    return {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}


def _bound(node: ast.stmt) -> set[str]:
    """The names that a statement gives a value, or whose values it may change."""
    return {name for item in flat([node]) for name in _changed(item)}


def _changed(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from ((item.asname or item.name).split(".")[0] for item in node.names)
    targets = [*getattr(node, "targets", ()), getattr(node, "target", None)]
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        targets.append(node.value.func if isinstance(node.value.func, ast.Attribute) else None)
    for target in targets:
        for item in ast.walk(target) if target else ():
            if isinstance(item, ast.Name):
                yield item.id
