"""A budget is declared for something that no longer exists.

The configuration names a file, class or function that is gone. A budget whose
target was renamed or deleted is an error; otherwise it would pass for ever
without checking anything.

So is a budget in the docstring of a definition that Python does not use: one of
two in branches (`try: ... except ImportError: ...`), or one whose name means
something else by the end of the file (`Net = Small`).
"""

EXAMPLE_BAD = """\
[tool.nparam-lint.budgets]
"models/net.py::OldNet" = 101_770"""
EXAMPLE_GOOD = """\
[tool.nparam-lint.budgets]
"models/net.py::Net" = 101_770"""
REMEDY = "Correct the target, or move the budget to what Python uses, or delete it."
