"""A budget cannot be read, or its formula uses an unknown name.

A line that starts with `nparam` is always taken for a budget: one that cannot
be read is reported at its line and column and is never skipped. A formula may
use constructor arguments, fields of a config argument, integer attributes of
the built module, and `min max abs ceil floor`. A declared `experts_per_token`
that does not fit the model is reported in the same way.
"""

from __future__ import annotations

from nparam_lint.claims.docstring_budgets import parse_docstring
from nparam_lint.rules.rule import Found, Invalid, Rule, Visitor, source


class MalformedBudget(Visitor):
    def visit_file(self) -> None:
        for definition in self.file.declared:
            for lines in definition.docstrings:
                for fault in parse_docstring(lines)[1]:
                    found = Found(fault.line, fault.column, fault.message, "", definition.qualname)
                    self.found.append(found)


VALID = (
    source('class Net(nn.Module):\n    """A net.\n\n    nparam: 124M\n    """'),
    source('class Net(nn.Module):\n    """nparam: width*10 + 10"""'),
    source('class Net(nn.Module):\n    """It needs no nparam at all."""'),
    source('text = """\nnparam: a lot\n"""'),
)
INVALID: tuple[Invalid, ...] = (
    (
        source('class Net(nn.Module):\n    """A net.\n\n    nparam: a lot\n    """'),
        (
            "6:13 found 'a lot', expected a count such as 124_475_904, 86.6M, 7.1M ± 2%, <= 25k, "
            "26.5M..27.5M, ~58k or a formula",
        ),
    ),
    (
        source('def net():\n    """nparam[trainable: 12"""\n    return nn.Linear(2, 2)'),
        ("4:14 found `[` that is never closed, expected `]`",),
    ),
    (
        source('class Net:\n    def __init__(self):\n        """nparam: 5Q"""'),
        (
            "5:20 found '5Q', expected a count such as 124_475_904, 86.6M, 7.1M ± 2%, <= 25k, "
            "26.5M..27.5M, ~58k or a formula",
        ),
    ),
)

RULE = Rule(
    __name__,
    __doc__,
    severity="error",
    example_bad="""\
nparam: about a million
nparam: hidden_sise * 10""",
    example_good="""\
nparam: ~1M
nparam: hidden_size * 10""",
    remedy=(
        "Write a number (`124_475_904`, `86.6M ± 1%`, `<= 25k`) or a formula over the "
        "constructor's arguments."
    ),
    visitor=MalformedBudget,
    valid=VALID,
    invalid=INVALID,
)
