"""A budget is declared for something that no longer exists.

The configuration names a file, class or function that no longer exists. A
budget whose target was renamed or deleted is an error; otherwise it would pass
forever without checking anything.

A budget in the docstring of a definition that Python does not use is stale,
too: one of two in branches (`try: ... except ImportError: ...`), or one whose
name is rebound later in the file (`Net = Small`). So is a budget of a class
inside a model, `nparam(in nets/gpt.py::GPT)`, if the model does not contain it.
"""

EXAMPLE_BAD = """\
[tool.nparam-lint.budgets]
"models/net.py::OldNet" = 101_770"""
EXAMPLE_GOOD = """\
[tool.nparam-lint.budgets]
"models/net.py::Net" = 101_770"""
REMEDY = "Correct the target, or move the budget to what Python uses, or delete it."
