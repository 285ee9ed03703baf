"""The model cannot be built: its constructor failed or needs arguments.

The class or factory was called and raised an exception, or it has required
arguments that no budget gives. Give the arguments in the budget, or once for
all its budgets in the configuration.

As a warning: the model was built, but its constructor caught what nparam-lint
refused it (to write, to start a program), and may build another one elsewhere.
"""

EXAMPLE_BAD = '''\
class Net(nn.Module):
    """nparam: 101_770"""
    def __init__(self, width):  # no budget gives the width'''
EXAMPLE_GOOD = '''\
class Net(nn.Module):
    """nparam(width=128): 101_770"""

# or in pyproject.toml:
[tool.nparam-lint.arguments]
"net.py::Net" = "width=128"'''
REMEDY = (
    "Give the arguments: `nparam(width=128): …` in the docstring, or under "
    "`[tool.nparam-lint.arguments]`."
)
