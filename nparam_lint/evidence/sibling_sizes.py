"""Sizes that a class has as methods, of which the project calls one: the others are called as that
is, `Config.net_1M(vocab_size=size).build()` beside `Config.net_32B(vocab_size=size).build()`."""

from __future__ import annotations

import ast
import dataclasses
import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.discover.syntax import dotted_name
from nparam_lint.evidence.call_ways import TEST
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.values import Position

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.evidence import Evidence
    from nparam_lint.evidence.file_calls import CalledFiles
    from nparam_lint.evidence.named_parameters import FoundFunction

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
            if (owner, sibling) in called or not _is_alike(function, model):
                continue
            call = _METHOD.sub(f"{owner}.{sibling}(", evidence.recipe.call or "")
            at = Position(symbol.where, function.node.lineno, function.node.col_offset + 1)
            note = f"called as {method} is in {evidence.way.position}"
            way = replace(evidence.way, kind="size", position=at, name=sibling, note=note)
            recipe = dataclasses.replace(evidence.recipe, call=call)
            yield replace(evidence, way=way, recipe=recipe, key=None, run=None)


def _is_alike(function: FoundFunction, model: FoundFunction) -> bool:
    """Whether a method makes an object of its class from the same arguments as another one, and is
    called after a size of the same family."""
    values = (n.value for n in ast.walk(function.node) if isinstance(n, ast.Return) and n.value)
    calls = (value for value in values if isinstance(value, ast.Call))
    makes = {dotted_name(call.func).partition(".")[0] for call in calls}
    families = [_FAMILY.match(item.node.name) for item in (function, model)]
    return (
        function is not model
        and len({family and family[1] for family in families}) == 1
        and (function.owner, function.kind) == (model.owner, model.kind)
        and function.required == model.required
        and not makes.isdisjoint({"cls", model.owner})
    )
