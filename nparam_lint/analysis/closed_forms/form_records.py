"""What a derivation gives: closed forms, and why there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from nparam_lint.analysis.closed_forms.algebra import substituted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nparam_lint.analysis.closed_forms.observations import Value
    from nparam_lint.analysis.closed_forms.polynomial import Polynomial
    from nparam_lint.analysis.closed_forms.requirements import ArgumentRule


class ShapeForm(Struct, frozen=True):
    """A family of parameters: how many there are, and the shape of each; None where only their
    `size`, the number of all their elements, has a form. `value`: that in the base call;
    `first`: the first parameter of them."""

    name: str
    number: Polynomial
    shape: tuple[Polynomial, ...] | None
    size: Polynomial
    value: int
    source: str | None = None
    first: str = ""

    def substituted(self, values: Mapping[str, Polynomial]) -> ShapeForm:
        """With these in the place of names."""
        shape = self.shape and tuple(substituted(length, values) for length in self.shape)
        number, size = substituted(self.number, values), substituted(self.size, values)
        return replace(self, number=number, shape=shape, size=size)


class ClosedForm(Struct, frozen=True):
    """What was derived, and from what. `base`: the arguments' values in the call that was asked
    about; `idle`: arguments that make no difference; `fixed`: those that cannot be varied, and why;
    `rules`: what the model asks of its arguments, and the form beyond that; `case`: the choices
    that it holds for; `unproved`: what was lost on the way, and is only known from building at
    other places, nothing where the form is proved; `distinct`: of each argument, the number of
    values that these places have; `left_out`: paths of the constructor without a form."""

    total: Polynomial
    shapes: tuple[ShapeForm, ...]
    base: Mapping[str, Value]
    value: int
    rules: tuple[ArgumentRule, ...]
    idle: tuple[str, ...]
    fixed: Mapping[str, str]
    built: int
    verified: int
    case: Mapping[str, Value] = field(default_factory=dict)
    unproved: tuple[str, ...] = ()
    distinct: Mapping[str, int] = field(default_factory=dict)
    left_out: int = 0

    @property
    def is_proved(self) -> bool:
        """Every decision on the way is among the rules, and nothing else was lost than how often
        something is repeated, which was fitted with more points than the form has degrees."""
        return not self.unproved

    @property
    def limits(self) -> list[ArgumentRule]:
        """Where the form holds; the model can be built elsewhere too."""
        return [rule for rule in self.rules if rule.is_limit]

    @property
    def requirements(self) -> list[ArgumentRule]:
        """What the model requires of its arguments."""
        return [rule for rule in self.rules if not rule.is_limit]


class NoForm(Struct, frozen=True):
    """Why there is none; `lost`: arguments that could not be followed, and what became of them."""

    reason: str
    lost: Mapping[str, str] = field(default_factory=dict)
    case: Mapping[str, Value] = field(default_factory=dict)


Derived = ClosedForm | NoForm
