"""A declared count, and how to build the model that it is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from nparam_lint.ground.notation import Selector, Target
    from nparam_lint.ground.notation.grammar import Tolerance, Value
    from nparam_lint.ground.orders import Recipe
    from nparam_lint.ground.values import Origin, Position


class Budget(Struct, frozen=True):
    """A declared count of a target, from wherever it was declared; `declared` is its text there.
    `device`, `recipe`: how to build the target for it, where the config says so; `definition`: the
    class or function whose docstring it stands in."""

    target: Target
    selector: Selector
    value: Value
    declared: str
    position: Position
    origin: Origin
    tolerance: Tolerance | None = None
    reason: str | None = None
    device: str | None = None
    recipe: Recipe | None = None
    definition: Position | None = None
