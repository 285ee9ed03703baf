"""A declared count, and how to build the model that it is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nparam_lint.claims import Selector, Target
    from nparam_lint.claims.grammar import Tolerance, Value
    from nparam_lint.ground.values import Origin, Position


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to build a target: `arguments` of its call; or `setup` lines and a whole `call`. `input`
    is run through the model to give lazy parameters their shapes. `experts_per_token`: how many
    experts of a mixture a token uses. `file`: the Python file whose names the call is written in,
    where it is not that of the target."""

    arguments: str | None = None
    setup: str | None = None
    call: str | None = None
    input: str | None = None
    experts_per_token: int | None = None
    file: str | None = None

    @property
    def says_how_to_call(self) -> bool:
        return self.arguments is not None or self.call is not None


@dataclass(frozen=True, slots=True)
class Budget:
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
