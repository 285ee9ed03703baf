"""Sizes of which the project calls one: the others are called as that is. Methods of a class,
`Config.net_1M(vocab_size=size).build()` beside `Config.net_32B(vocab_size=size).build()`; functions
that need the same arguments to make the same class, `net18(classes=10)` beside `net34(…)`."""

from __future__ import annotations

import ast
import dataclasses
import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.discover.syntax import dotted_name
from nparam_lint.evidence.call_ways import TEST
from nparam_lint.evidence.statements import stores
from nparam_lint.ground.grouping import grouped
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.values import Position

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.evidence import Evidence
    from nparam_lint.evidence.file_calls import CalledFiles
    from nparam_lint.evidence.named_parameters import FoundFunction
    from nparam_lint.ground.notation import Target

_METHOD = late_pattern(r"\b([A-Z]\w*)\.([A-Za-z]\w*)\(")
# `net2_` of `net2_32B`: what the sizes of one family begin with.
_FAMILY = late_pattern(
    r"""(\w*?)(?<![A-Za-z0-9])
    (?:[0-9]+(?:[p_.][0-9]+)?[KMBkmb]|tiny|small|base|medium|large|huge)(?![a-z])""",
    re.VERBOSE,
)


def find_sibling_sizes(files: CalledFiles, told: Sequence[Evidence]) -> Iterator[Evidence]:
    """`told`: the evidence that there is of calls."""
    published = [evidence for evidence in told if evidence.rank < TEST]
    yield from _methods(files, published)
    yield from _functions(files, published, {evidence.target for evidence in told})


def _methods(files: CalledFiles, published: Sequence[Evidence]) -> Iterator[Evidence]:
    texts = [f"{e.recipe.setup or ''}\n{e.recipe.call or ''}" for e in published]
    called = {pair for text in texts for pair in _METHOD.findall(text)}
    seen: set[tuple[str, str, str]] = set()
    for evidence in published:
        pairs = _METHOD.findall(evidence.recipe.call or "")
        owner, method = pairs[0] if len(pairs) == 1 else ("", "")
        family = _FAMILY.match(method)
        symbol = files.names.resolve(evidence.file, owner) if family else None
        if not (family and symbol and symbol.kind == "class"):
            continue
        functions = files.query.size_names.file(symbol.where).functions
        model = functions.get(f"{symbol.name}.{method}")
        sizes = symbol.where, symbol.name, family[1]
        if model is None or sizes in seen:
            continue
        seen.add(sizes)
        for function in functions.values():
            sibling = function.node.name
            if (owner, sibling) not in called and _is_alike(function, model):
                call = _METHOD.sub(f"{owner}.{sibling}(", evidence.recipe.call or "")
                recipe = dataclasses.replace(evidence.recipe, call=call)
                yield replace(_size(evidence, function, method), recipe=recipe)


def _functions(
    files: CalledFiles, published: Sequence[Evidence], told: set[Target]
) -> Iterator[Evidence]:
    """The functions of a file that nothing calls, each as the first call of one like it."""
    by_file = grouped(
        (target for target in files.query.targets if target not in told),
        lambda target: target.location,
    )
    for evidence in published:
        name, call = evidence.target.callable, evidence.recipe.call or ""
        siblings = by_file.get(evidence.target.location, [])
        is_plain = call.startswith(f"{name}(") and evidence.target.is_path
        functions = files.query.size_names.file(evidence.target.location).functions
        model = functions.get(name) if is_plain and siblings else None
        if model is None or model.owner or not model.required:
            continue
        for target in siblings.copy():
            function = functions.get(target.callable)
            if function is None or not _is_alike(function, model):
                continue
            siblings.remove(target)
            imported = ""
            if evidence.file != target.location:
                module = files.query.module_for(target.location, evidence.file)
                imported = f"from {module} import {target.callable}\n"
            setup = f"{evidence.recipe.setup or ''}\n{imported}".strip() or None
            call = f"{target.callable}{call.removeprefix(name)}"
            recipe = dataclasses.replace(evidence.recipe, setup=setup, call=call)
            yield replace(_size(evidence, function, name), target=target, recipe=recipe)


def _size(evidence: Evidence, function: FoundFunction, name: str) -> Evidence:
    """A function as a size that is called as the evidence says of another one."""
    at = Position(function.path, function.node.lineno, function.node.col_offset + 1)
    note = f"called as {name} is in {evidence.way.position}"
    way = replace(evidence.way, kind="size", position=at, name=function.node.name, note=note)
    return replace(evidence, way=way, key=None, run=None)


def _is_alike(function: FoundFunction, model: FoundFunction) -> bool:
    """Whether a function makes the same class as another one from the same arguments; a method that
    is called after a size of the same family, its own."""
    if function is model or (function.owner, function.kind) != (model.owner, model.kind):
        return False
    families = [_FAMILY.match(item.node.name) for item in (function, model)]
    is_family = len({family and family[1] for family in families}) == 1
    makes = _made_by(function) & ({"cls", model.owner} if model.owner else _made_by(model))
    is_of_owner = is_family or not model.owner
    return is_of_owner and bool(makes) and function.required == model.required


def _made_by(function: FoundFunction) -> set[str]:
    """What the calls call whose values a function returns."""
    nodes = [*ast.walk(function.node)]
    returned = [node.value for node in nodes if isinstance(node, ast.Return) and node.value]
    names = {value.id for value in returned if isinstance(value, ast.Name)}
    for node in nodes:
        if isinstance(node, ast.Assign) and names & stores(node):
            returned.append(node.value)
    calls = (value for value in returned if isinstance(value, ast.Call))
    return {dotted_name(call.func).partition(".")[0] for call in calls} - {""}
