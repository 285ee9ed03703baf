"""More than a check: closed forms, arguments for a budget, comparing models."""
