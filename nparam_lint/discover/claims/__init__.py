"""Reads what texts claim: budgets in docstrings and comments, counts that are stated anywhere, and
comments that silence findings."""
