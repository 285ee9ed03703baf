"""Holds measurements against budgets: pure, in exact integers."""
