"""What a check asks of the rooms above it: of the analysis of constructors, and of other states of
the project."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from nparam_lint.count.measured import Measured
from nparam_lint.ground.findings import BudgetResult, Change
from nparam_lint.ground.notation.budget import Budget
from nparam_lint.ground.values import NameValue, SourceLine

if TYPE_CHECKING:
    from nparam_lint.config.session import Session
    from nparam_lint.gate.candidates import Candidate, ProjectSource

    Broken = Sequence[tuple[Candidate, BudgetResult]]
    # What made the difference, for each broken budget.
    FindCauses = Callable[[Broken, ProjectSource], list["BudgetCause"]]


class BudgetCause(Struct, frozen=True):
    """`since`: what is compared with, and what is said of it; `changes`: see `Finding`. `edited`:
    the lines that are not as they were, of the files that define the model and what changed.
    `was_met`: the budget was the count then, and no other measure."""

    since: str
    changes: tuple[Change, ...] = ()
    edited: tuple[SourceLine, ...] = ()
    was_met: bool = False


class FormulaAnalysis(Struct, frozen=True):
    """`missing_term`: which term a wrong formula lacks. `boundaries`: of a model that was traced,
    other arguments on all sides of its conditions."""

    missing_term: Callable[[Budget, Session], str]
    boundaries: Callable[[Measured], Sequence[Mapping[str, NameValue]]]
