"""What a run is about, and what it may use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nparam_lint.claims.budget import Budget
from nparam_lint.count.measured import Measured
from nparam_lint.ground.findings import BudgetResult, Finding
from nparam_lint.ground.values import NameValue

if TYPE_CHECKING:
    from nparam_lint.config.settings import Settings
    from nparam_lint.count.interpreter import Interpreter
    from nparam_lint.discover import Discovery
    from nparam_lint.gate.explanations import Cause
    from nparam_lint.gate.requests import ModelRequest

    Progress = Callable[[int, int, str], None]  # done, all, the label of the last one
    Broken = Sequence[tuple[ModelRequest, BudgetResult]]
    Causes = Callable[[Broken, "ProjectSource", "RunContext"], list[Cause]]


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


@dataclass(frozen=True, slots=True)
class ProjectSource:
    """The result of reading some files, before anything is built: the models to build, with their
    budgets, and the findings about the declarations themselves. `places`: the paths that were
    given, relative to the root; empty where these are the whole project."""

    settings: Settings
    files: Sequence[str]
    found: Discovery
    requests: Sequence[ModelRequest]
    findings: Sequence[Finding]
    places: tuple[str, ...] = ()
