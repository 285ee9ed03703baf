"""What a check asks of the analysis of constructors; loaded only for formulas."""

from nparam_lint.analysis.boundaries import boundaries
from nparam_lint.gate import FormulaAnalysis, RunContext
from nparam_lint.records import Budget


def _missing_term(budget: Budget, context: RunContext) -> str:
    from nparam_lint.analysis.missing_term import missing_term  # few formulas are wrong

    return missing_term(budget, context)


ANALYSIS = FormulaAnalysis(_missing_term, boundaries)
