"""What a function does before it calls a model's class: for one that would load weights then."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from nparam_lint.discover.syntax import dotted_name
from nparam_lint.evidence.places import Frame, Place, SourceText
from nparam_lint.evidence.slices import Slice
from nparam_lint.evidence.statements import NoWay, source_of
from nparam_lint.ground.orders import Recipe
from nparam_lint.ground.script_words import LOADS_WEIGHTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nparam_lint.evidence.named_parameters import FoundFunction, SizeFile


def downloads(function: FoundFunction) -> bool:
    """Whether calling a function loads weights: without a condition, under one that holds by
    default, or because it is called `load`."""
    is_loader = function.node.name.startswith(("load", "from_pretrained"))
    return any(
        _loads(node) and (is_loader or not isinstance(node, ast.If) or _holds(function, node.test))
        for node in function.node.body
    )


def only_opens(function: FoundFunction) -> bool:
    """Whether a function that seems to load weights opens files alone, which may be the project's
    own."""
    names = (dotted_name(n.func) for n in ast.walk(function.node) if isinstance(n, ast.Call))
    return all(name == "open" for name in names if LOADS_WEIGHTS.search(name))


def _holds(function: FoundFunction, test: ast.expr) -> bool:
    """Whether a condition is a parameter that is true by default."""
    default = function.defaults.get(test.id) if isinstance(test, ast.Name) else None
    return isinstance(default, ast.Constant) and bool(default.value)


def _loads(node: ast.AST) -> bool:
    calls = (item for item in ast.walk(node) if isinstance(item, ast.Call))
    return any(LOADS_WEIGHTS.search(dotted_name(call.func)) for call in calls)


def needed_for(
    function: FoundFunction, file: SizeFile, arguments: dict[str, str], model: str
) -> Recipe | None:
    """The statements of the function that its call of the class `model` needs, and that call; or
    those that what it returns needs, where the function itself is the model. None where there is
    none, where an argument is unknown, or where these load something too."""
    node = function.node
    first = node.args.args[:1] if function.kind == "class" else []
    cls = first[0].arg if first else ""
    text = SourceText(file.text, file.tree, lambda call: not _loads(call), path=function.path)
    if model == node.name and node in file.tree.body:
        end = node.body[-1]
        if not (isinstance(end, ast.Return) and isinstance(end.value, ast.Name)):
            return None
        body = (file.tree.body, node.body)
        frames = (
            Frame(file.tree, body[0], body[0].index(node)),
            Frame(node, body[1], len(body[1]) - 1),
        )
        place = Place(ast.Call(end.value, [], []), frames)
        return _recipe(_cut(function, place, [end.value], text, arguments), end.value.id)
    for place in text.places(re.compile(rf"\b(?:{re.escape(model)}|{cls or model})\s*\(")):
        call = place.call
        if place.functions[-1:] == [node] and dotted_name(call.func) in (model, cls):
            values = {cls: function.owner, **arguments}
            setup = _cut(function, place, [*call.args, *call.keywords], text, values)
            callee = function.owner if dotted_name(call.func) == cls else model
            arguments_text = ast.unparse(call)[len(ast.unparse(call.func)) :]
            return _recipe(setup, f"{callee}{arguments_text}")
    return None


def _cut(
    function: FoundFunction,
    place: Place,
    nodes: Sequence[ast.expr | ast.keyword],
    text: SourceText,
    values: dict[str, str],
) -> str | None:
    """The setup for what these parts of the call at a place need; None where that is not known."""
    part = Slice(text, outside=function.node)
    try:
        statements = part.of(place, *nodes)
        setup = [
            f"{name} = {values.get(name) or ast.unparse(part.default(function.node, name))}"
            for name in sorted(part.given_outside, key=lambda name: (name in values, name))
        ]
    except NoWay:
        return None
    setup += [source_of(statements)] if statements else []
    return "\n".join(setup)


def _recipe(setup: str | None, call: str) -> Recipe | None:
    return None if setup is None else Recipe(setup=setup or None, call=call)
