"""Turn what `nparam-lint formula` found into text."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING

from nparam_lint.closed.derive import ClosedForm, Derived

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nparam_lint.closed.observe import Variable
    from nparam_lint.records import Environment
    from nparam_lint.report import Options

    Formatter = Callable[["Formula", "Options"], str]


@dataclass(frozen=True, slots=True)
class Formula:
    """What was found out about `target`. `call`: as it was built first; `cases`: the form there,
    then with other choices; `types`: module path → class; `reason`: why the model could not be
    built, and what it `missing`ly needs; `error`: why nothing could be asked at all."""

    version: str
    target: str
    call: str = ""
    variables: tuple[Variable, ...] = ()
    cases: tuple[Derived, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    environment: Environment | None = None
    reason: str | None = None
    missing: tuple[str, ...] = ()
    error: str | None = None
    seconds: float = 0.0

    @property
    def has_form(self) -> bool:
        return bool(self.cases) and all(isinstance(case, ClosedForm) for case in self.cases)

    @property
    def order(self) -> list[str]:
        """The names in the order of the signature."""
        return [variable.name for variable in self.variables]


def _lazy(module: str) -> Formatter:
    def render(formula: Formula, options: Options) -> str:
        text: str = import_module(f"{__name__}.{module}").render(formula, options)
        return text

    return render


CLOSED_FORMATS: dict[str, Formatter] = {
    "text": _lazy("text"),
    "python": _lazy("python"),
    "latex": _lazy("latex"),
    "json": _lazy("json_"),
}
