"""A budget that cannot be read, or whose text can never be a count.

The same finding that building the models gives, for where nothing is built: in an editor, in
flake8, in an environment without torch. An error, since such a budget checks nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nparam_lint.claims.docstring_budgets import parse_docstring
from nparam_lint.rules.rule_cases import Invalid, source
from nparam_lint.rules.walk import Visitor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nparam_lint.records import Definition, DocLine

CODE = "NPL002"

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


class Rule(Visitor):
    def visit_docstring(self, definition: Definition, lines: Sequence[DocLine]) -> None:
        for fault in parse_docstring(lines)[1]:
            self.report((fault.line, fault.column), fault.message, "", definition.qualname)
