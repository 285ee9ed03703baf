"""What deriving comes to: a form with all that it rests on, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nparam_lint.analysis.closed_forms.constraint_inference import Constraint
    from nparam_lint.analysis.closed_forms.observations import Value
    from nparam_lint.analysis.closed_forms.parameter_forms import ShapeForm, Wrong
    from nparam_lint.analysis.closed_forms.polynomial import Polynomial


@dataclass(frozen=True, slots=True)
class ClosedForm:
    """What was derived, and from what. `base`: the arguments' values in the call that was asked
    about; `idle`: arguments that make no difference; `fixed`: those that cannot be varied, and why;
    `rules`: what the model asks of its arguments, and the form beyond that; `case`: the choices
    that it holds for."""

    total: Polynomial
    shapes: tuple[ShapeForm, ...]
    base: Mapping[str, Value]
    value: int
    rules: tuple[Constraint, ...]
    idle: tuple[str, ...]
    fixed: Mapping[str, str]
    built: int
    verified: int
    case: Mapping[str, Value] = field(default_factory=dict)

    @property
    def limits(self) -> list[Constraint]:
        """Where the form holds; the model can be built elsewhere too."""
        return [rule for rule in self.rules if rule.is_limit]

    @property
    def demands(self) -> list[Constraint]:
        """What the model requires of its arguments."""
        return [rule for rule in self.rules if not rule.is_limit]


@dataclass(frozen=True, slots=True)
class NoForm:
    """Why there is none; `wrong`: the quantity that has none, and where its simplest form fails."""

    reason: str
    wrong: Wrong | None = None
    case: Mapping[str, Value] = field(default_factory=dict)


Derived = ClosedForm | NoForm
