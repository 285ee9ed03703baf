"""Turn a `Comparison` into text: the formats of `nparam-lint compare`, pure like all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nparam_lint.report.lazy import lazy

if TYPE_CHECKING:
    from collections.abc import Callable

    from nparam_lint.analysis.roles import Roles
    from nparam_lint.records import Environment, ModelReport
    from nparam_lint.report import Options

    Formatter = Callable[["Comparison", Options], str]


@dataclass(frozen=True, slots=True)
class Column:
    """One model of a comparison. `given`: its target as it was asked for; `roles`: None where it
    was not measured."""

    given: str
    model: ModelReport
    roles: Roles | None = None
    environment: Environment | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The models in the order in which they were asked for. `error`: why nothing could be measured
    at all."""

    version: str
    columns: tuple[Column, ...] = ()
    seconds: float = 0.0
    error: str | None = None


COMPARE_FORMATS: dict[str, Formatter] = {
    "text": lazy(__name__, "text"),
    "json": lazy(__name__, "json_"),
    "markdown": lazy(__name__, "markdown"),
}
