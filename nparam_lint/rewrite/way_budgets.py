"""Budgets for the ways in which a project builds its models: a line `nparam(arguments): …` in the
docstring where the model is called itself, else a key of the config that holds the whole call."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from nparam_lint.claims import Target, TextError, parse_target
from nparam_lint.records import Measured

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nparam_lint.gate.requests import ModelRequest
    from nparam_lint.records import Definition, ModelReport

NAMED = ("size", "config")


class WayBudget(NamedTuple):
    """A way that a budget is to be declared for: that of `model`, which is `measured`. `arguments`:
    those of its line in the docstring of `definition`; None: it has none, and `target` is for the
    config. `reason`: why it can have no budget."""

    model: ModelReport
    measured: Measured
    target: str
    arguments: str | None
    definition: Definition
    reason: str = ""


def way_budgets(
    models: Sequence[ModelReport], requests: Iterable[ModelRequest], every: bool
) -> Iterator[WayBudget]:
    """Those that the repository names; of a model that nothing else builds, the first call.
    `every`: also of models that are parts of others."""
    asked = {(str(request.target), request.way): request for request in requests}
    ways = [m for m in models if m.way and m.way.kind in (*NAMED, "call") and "::" in m.target]
    known = {m.target for m in models if m.way is None or m.way.kind in NAMED}
    own = {m.target for m in models if m.way is None}
    for model in ways:
        request = asked.get((model.target, model.way))
        if request is None or not request.definitions or not (every or model.top_level):
            continue
        if model.way and model.way.kind == "call":
            if model.target in known:
                continue
            known.add(model.target)
        if isinstance(model.measurement, Measured) and model.measurement.counts.total:
            budget = _declared(model, request, model.measurement)
            if budget.target.removesuffix("()") not in own:  # a factory: it gets one of its own
                yield budget


def _declared(model: ModelReport, request: ModelRequest, measured: Measured) -> WayBudget:
    definition = request.used(measured) or request.definitions[-1]
    place = "" if model.way is None else model.way.position
    try:
        target = parse_target(f"{request.location}::{measured.call}")
    except TextError:
        target = None
    if request.recipe.setup or target is None or target.arguments is None:
        reason = f"{place} builds it with more than one call: say them in the config (setup)"
        return WayBudget(model, measured, model.target, None, definition, reason)
    here = request.location == definition.path or _is_literal(target.arguments)
    if here and target.callable == definition.qualname and "\\" not in target.arguments:
        own = Target(definition.path, definition.qualname, target.arguments)
        return WayBudget(model, measured, str(own), target.arguments, definition)
    key = str(target)
    key = key.replace('"', "'") if "'" not in key else key  # it stands in quotes
    return WayBudget(model, measured, key, None, definition)


def _is_literal(arguments: str) -> bool:
    """Whether they mean the same in every file."""
    try:
        names = ast.walk(ast.parse(f"f({arguments})", mode="eval").body)
    except (SyntaxError, ValueError):
        return False
    return not any(isinstance(node, ast.Name) and node.id != "f" for node in names)
