"""What a function does before it calls a model's class: for one that would load weights then."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from nparam_lint.discover.syntax import dotted_name
from nparam_lint.evidence.places import SourceText
from nparam_lint.evidence.slices import Slice
from nparam_lint.evidence.statements import NoWay, source_of
from nparam_lint.ground.orders import Recipe
from nparam_lint.ground.script_words import LOADS_WEIGHTS

if TYPE_CHECKING:
    from nparam_lint.evidence.named_parameters import FoundFunction, SizeFile


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
    return any(LOADS_WEIGHTS.search(dotted_name(call.func)) for call in calls)


def needed_for(
    function: FoundFunction, file: SizeFile, arguments: dict[str, str], model: str
) -> Recipe | None:
    """The statements of the function that its call of the class `model` needs, and that call. None
    where there is none, where an argument is unknown, or where these load something too."""
    first = function.node.args.args[:1] if function.kind == "class" else []
    cls = first[0].arg if first else ""
    text = SourceText(file.text, file.tree, lambda call: not _loads(call), path=function.path)
    for place in text.places(re.compile(rf"\b(?:{re.escape(model)}|{cls or model})\s*\(")):
        call = place.call
        if place.functions[-1:] != [function.node] or dotted_name(call.func) not in (model, cls):
            continue
        part = Slice(text, outside=function.node)
        try:
            statements = part.of(place, *call.args, *call.keywords)
            values = {cls: function.owner, **arguments}
            setup = [
                f"{name} = {values.get(name) or ast.unparse(part.default(function.node, name))}"
                for name in sorted(part.given_outside, key=lambda name: (name in values, name))
            ]
        except NoWay:
            return None
        setup += [source_of(statements)] if statements else []
        callee = function.owner if dotted_name(call.func) == cls else model
        arguments_text = ast.unparse(call)[len(ast.unparse(call.func)) :]
        return Recipe(setup="\n".join(setup) or None, call=f"{callee}{arguments_text}")
    return None
