"""A budget cannot be read, or its formula uses an unknown name.

A line that starts with `nparam` is always taken for a budget: one that cannot
be read is reported at its line and column and is never skipped. The word beside
a number is also reported in places where budgets are not read: inside a line of
prose, in comments, in strings that are not docstrings, and in the docstrings of
modules, of instance methods, and of definitions inside a function. A formula
may use constructor arguments, fields of a config argument, integer attributes
of the built module, and `min max abs ceil floor trunc`. A declared
`experts_per_token` that does not fit the model is reported in the same way, and
so is a comment in Markdown or reStructuredText that should bind a number to a
model: `<!-- nparam: vit.py::vit_b_16 -->`.
"""

from nparam_lint.gate.rules import source

EXAMPLE_BAD = """\
nparam: about a million
A net. nparam: 124M
nparam: hidden_sise * 10"""
EXAMPLE_GOOD = """\
nparam: ~1M
nparam: 124M
nparam: hidden_size * 10"""
REMEDY = (
    "Write a number (`124_475_904`, `86.6M ± 1%`, `<= 25k`) or a formula over the "
    "constructor's arguments."
)

VALID = (
    source('class Net(nn.Module):\n    """A net.\n\n    nparam: 124M\n    """'),
    source('class Net(nn.Module):\n    """nparam: width*10 + 10"""'),
    source('class Net(nn.Module):\n    """It needs no nparam at all."""'),
    source('text = """\nnparam: a lot\n"""'),
    source('class Net(nn.Module):\n    """**NParam : 124M**"""'),
    source("nparam = 110  # nparam of the net"),
)
_EXPECTED = "a count such as 124_475_904, 86.6M, 7.1M ± 2%, <= 25k, 26.5M..27.5M, ~58k or a formula"
INVALID = {
    source('class Net(nn.Module):\n    """A net.\n\n    nparam: a lot\n    """'): (
        f"6:13 found 'a lot', expected {_EXPECTED}"
    ),
    source('def net():\n    """nparam[trainable: 12"""\n    return nn.Linear(2, 2)'): (
        "4:14 found `[` that is never closed, expected `]`"
    ),
    source('class Net(nn.Module):\n    """A net. nparam = 110"""'): (
        "4:15 found `nparam = 110` inside a line, expected `nparam: 110` on a line of its own"
    ),
    source("class Net(nn.Module):  # nparam 110\n    pass"): (
        "3:26 found `nparam 110` in a comment, which is not read; expected `nparam: 110` in the "
        "docstring of a class, of its `__init__`, or of a function that returns a model"
    ),
    source('class Net:\n    def __init__(self):\n        """nparam: 5Q"""'): (
        f"5:20 found '5Q', expected {_EXPECTED}"
    ),
}
