"""How a count is claimed: the notation of targets and budgets, docstrings, prose, suppressions."""
