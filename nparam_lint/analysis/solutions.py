"""What `solve` is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nparam_lint.analysis.closed_forms.requirements import ArgumentRule
    from nparam_lint.analysis.closed_forms.search import Goal, Unknown


class Question(Struct, frozen=True):
    """`rules`: what must hold in addition to the models' own requirements; `number`: of
    solutions for each budget; `is_free`: without limits that were not asked for."""

    budgets: Sequence[int]
    unknowns: Mapping[str, Unknown]
    rules: Sequence[ArgumentRule]
    goal: Goal
    number: int
    is_free: bool = False


class Met(Struct, frozen=True):
    """Arguments, the count that was measured with them, and the call."""

    values: Mapping[str, int]
    count: int
    call: str


class CaseForm(Struct, frozen=True):
    """A closed form, and the conditions of its case, where there are others."""

    form: str
    where: str = ""


class Solved(Struct, frozen=True):
    """One target and one budget. `call`: as it was built first; `forms`: its closed form, by cases;
    `points`: the best first; `limits`: of unknowns that were given none; `idle`: unknowns that make
    no difference, and the values that they keep; `refused`: solutions that the model did not
    accept; `doubts`: why others may be nearer, nothing where there is proof that none are;
    `nearer`: what is, without the limits, where what was found is far from the budget; `reason`:
    why the budget is not met."""

    target: str
    budget: int
    call: str = ""
    forms: tuple[CaseForm, ...] = ()
    points: tuple[Met, ...] = ()
    limits: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    idle: Mapping[str, int] = field(default_factory=dict)
    refused: int = 0
    doubts: tuple[str, ...] = ()
    nearer: Met | None = None
    reason: str | None = None


class Solutions(Struct, frozen=True):
    """All targets, for each of the budgets."""

    goal: str
    budgets: tuple[int, ...] = ()
    targets: tuple[Solved, ...] = ()
    seconds: float = 0.0
    is_free: bool = False
    metric: str = "total"
    error: str | None = None
