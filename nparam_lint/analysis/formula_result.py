"""What `formula` found out about a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.parameter_forms import ClosedForm, Derived

if TYPE_CHECKING:
    from nparam_lint.analysis.closed_forms.observations import Variable
    from nparam_lint.records import Environment


@dataclass(frozen=True, slots=True)
class FormulaResult:
    """What was found out about `target`. `call`: as it was built first; `cases`: the form there,
    then with other choices; `untold`: choices that matter too; `reason`: why the model could not be
    built, and what it `missing`ly needs; `error`: why nothing could be asked at all."""

    version: str
    target: str
    call: str = ""
    variables: tuple[Variable, ...] = ()
    cases: tuple[Derived, ...] = ()
    untold: tuple[str, ...] = ()
    environment: Environment | None = None
    reason: str | None = None
    missing: tuple[str, ...] = ()
    error: str | None = None
    seconds: float = 0.0

    @property
    def has_form(self) -> bool:
        return bool(self.cases) and all(isinstance(case, ClosedForm) for case in self.cases)

    @property
    def is_given(self) -> bool:
        """Whether no number could be varied, so that the count is no formula of anything."""
        return not any(variable.is_number for variable in self.variables)

    @property
    def order(self) -> list[str]:
        """The names in the order of the signature."""
        return [variable.name for variable in self.variables]
