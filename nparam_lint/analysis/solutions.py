"""What `solve` found: arguments that meet a budget, and how they were found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Met:
    """Arguments, the count that was measured with them, and the call."""

    values: Mapping[str, int]
    count: int
    call: str


@dataclass(frozen=True, slots=True)
class Solved:
    """One target and one budget. `call`: as it was built first; `form`: its closed form; `names`:
    the unknowns, and what is tied to them; `points`: the best first; `combinations`: of all
    unknowns but `solved`, which was found by bisection in each; `cut`: whether there were more;
    `limits`: of unknowns that were given none; `idle`: unknowns that make no difference, and the
    values that they keep; `refused`: solutions that the model did not accept; `strayed`: that have
    another count than the closed form says; `reason`: why there is nothing."""

    target: str
    budget: int
    call: str = ""
    form: str = ""
    names: tuple[str, ...] = ()
    points: tuple[Met, ...] = ()
    combinations: int = 0
    solved: str = ""
    cut: bool = False
    limits: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    idle: Mapping[str, int] = field(default_factory=dict)
    refused: int = 0
    strayed: int = 0
    reason: str | None = None

    @property
    def is_best(self) -> bool:
        """Whether there is proof that no others are nearer."""
        return bool(self.form) and not self.cut and not self.strayed


@dataclass(frozen=True, slots=True)
class Solutions:
    """All targets, for each of the budgets."""

    version: str
    goal: str
    budgets: tuple[int, ...] = ()
    targets: tuple[Solved, ...] = ()
    seconds: float = 0.0
    error: str | None = None
