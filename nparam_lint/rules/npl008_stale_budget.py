"""A budget is declared for something that no longer exists.

The configuration names a file, class or function that is gone. A budget whose
target was renamed or deleted is an error; otherwise it would pass for ever
without checking anything.
"""

from nparam_lint.rules.rule import Rule

RULE = Rule(
    __name__,
    __doc__,
    severity="error",
    example_bad="""\
[tool.nparam-lint.budgets]
"models/net.py::OldNet" = 101_770""",
    example_good="""\
[tool.nparam-lint.budgets]
"models/net.py::Net" = 101_770""",
    remedy="Correct the target, or delete the budget.",
)
