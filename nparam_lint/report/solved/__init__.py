"""Turn what `nparam-lint solve` found into text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nparam_lint.report.lazy import lazy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nparam_lint.report import Options

    Formatter = Callable[["Solution", "Options"], str]


@dataclass(frozen=True, slots=True)
class Met:
    """Arguments, the count that was measured with them, and the call."""

    values: Mapping[str, int]
    count: int
    call: str


@dataclass(frozen=True, slots=True)
class Solved:
    """One target. `call`: as it was built first; `form`: its closed form; `names`: the unknowns,
    and what is tied to them; `points`: the best first; `combinations`: of all unknowns but
    `solved`, which was found by bisection in each; `cut`: whether there were more; `refused`:
    solutions that the model did not accept; `strayed`: that have another count than the closed form
    says; `reason`: why there is nothing."""

    target: str
    call: str = ""
    form: str = ""
    names: tuple[str, ...] = ()
    points: tuple[Met, ...] = ()
    combinations: int = 0
    solved: str = ""
    cut: bool = False
    refused: int = 0
    strayed: int = 0
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Solution:
    """All targets, for one budget."""

    version: str
    budget: int
    goal: str
    targets: tuple[Solved, ...] = ()
    seconds: float = 0.0
    error: str | None = None


SOLVED_FORMATS: dict[str, Formatter] = {
    "text": lazy(__name__, "text"),
    "json": lazy(__name__, "json_"),
}
