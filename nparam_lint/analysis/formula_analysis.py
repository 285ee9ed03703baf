"""What a check asks of the analysis of constructors, which is loaded once there is a formula."""

from __future__ import annotations

from nparam_lint.analysis import boundaries, missing_term
from nparam_lint.gate.hooks import FormulaAnalysis

# Each is a late module: its file is read when it is asked.
ANALYSIS = FormulaAnalysis(
    lambda budget, session: missing_term.missing_term(budget, session),
    lambda traced: boundaries.boundaries(traced),
)
