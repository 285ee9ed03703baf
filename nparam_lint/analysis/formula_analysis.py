"""What a check asks of the analysis of constructors, which is loaded once there is a formula."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nparam_lint.analysis import boundaries, missing_term
from nparam_lint.gate.hooks import FormulaAnalysis

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nparam_lint.config.session import Session
    from nparam_lint.count.measured import Measured
    from nparam_lint.ground.notation.budget import Budget
    from nparam_lint.ground.values import NameValue


def _missing_term(budget: Budget, session: Session) -> str:
    return missing_term.missing_term(budget, session)


def _boundaries(traced: Measured) -> Sequence[Mapping[str, NameValue]]:
    return boundaries.boundaries(traced)


ANALYSIS = FormulaAnalysis(_missing_term, _boundaries)
