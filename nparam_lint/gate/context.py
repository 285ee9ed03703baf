"""What a run is about, and what it may use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nparam_lint.claims.budget import Budget
from nparam_lint.count.measured import Measured
from nparam_lint.ground.findings import BudgetResult, Change
from nparam_lint.ground.values import NameValue, SourceLine

if TYPE_CHECKING:
    from nparam_lint.config.settings import Settings
    from nparam_lint.count.interpreter import Interpreter
    from nparam_lint.gate.requests import ModelRequest, ProjectSource

    Progress = Callable[[int, int, str], None]  # done, all, the label of the last one
    Broken = Sequence[tuple[ModelRequest, BudgetResult]]
    Causes = Callable[[Broken, ProjectSource, "RunContext"], list["Cause"]]


@dataclass(frozen=True, slots=True)
class Cause:
    """`since`: what is compared with, and what is said of it; `changes`: see `Finding`. `edited`:
    the lines that are not as they were, of the files that define the model and what changed."""

    since: str
    changes: tuple[Change, ...] = ()
    edited: tuple[SourceLine, ...] = ()


@dataclass(frozen=True, slots=True)
class FormulaAnalysis:
    """What a check asks of the analysis of constructors. `missing_term`: which term a wrong formula
    lacks. `boundaries`: of a model that was traced, other arguments on all sides of its
    conditions."""

    missing_term: Callable[[Budget, RunContext], str]
    boundaries: Callable[[Measured], Sequence[Mapping[str, NameValue]]]


@dataclass(frozen=True, slots=True)
class RunContext:
    """The context of one run. `interpreter`: None means the one that the settings select.
    `analysis`: what loads it, if formulas are to be checked with it. `causes`: finds out for broken
    budgets what made the difference, if there is another state to compare with."""

    settings: Settings
    environ: Mapping[str, str]
    progress: Progress | None = None
    interpreter: Interpreter | None = None
    analysis: Callable[[], FormulaAnalysis] | None = None
    causes: Causes | None = None
