"""A budget whose docstring says another number in its prose.

"A classifier with 86M params" above `nparam: 43M`: whoever reads the sentence believes it, and one
of the two is wrong, whatever the model has.

A warning, as for every count in prose (NPL013). Only where no whole number satisfies both, where
both speak of the same count (`trainable` of `trainable`) and the budget is for the model as it is
built by default: a budget with arguments is about another model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nparam_lint.claims.docstring_budgets import parse_docstring
from nparam_lint.claims.expression import FormulaError
from nparam_lint.claims.prose import find_claims
from nparam_lint.rules.rule_cases import Invalid, source
from nparam_lint.rules.walk import Visitor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nparam_lint.claims.grammar import Bounds, Value
    from nparam_lint.records import Definition, DocLine

CODE = "NPL106"

_NET = '''\
class Net(nn.Module):
    """A net with {claim}.

    nparam{budget}
    """

    def __init__(self, depth=12):
        super().__init__()
'''


def _net(claim: str, budget: str) -> str:
    return source(_NET.format(claim=claim, budget=budget))


VALID = (
    _net("86M params", ": 86_567_656"),
    _net("~86M params", ": 85.8M"),
    _net("86M params", ": <= 90M"),
    _net("86M params", ": 80M..90M"),
    _net("86M params", "(depth=24): 300M"),
    _net("86M params", "[encoder]: 43M"),
    _net("86M trainable params", ": 92M"),
    _net("86M params", ": 12*width**2"),
    _net("under 90M params", ": 86M"),
    _net("12 layers", ": 86M"),
)
INVALID: tuple[Invalid, ...] = (
    (
        _net("86M params", ": 43M"),
        ("4:19 the docstring says '86M params' here, and its budget in line 6 says 43M",),
    ),
    (
        _net("86M trainable params", "[trainable]: 86_000"),
        (
            "4:19 the docstring says '86M trainable params' here, and its budget in line 6 says "
            "86_000",
        ),
    ),
    (
        _net("~86M params", ": <= 50M"),
        ("4:19 the docstring says '~86M params' here, and its budget in line 6 says <= 50M",),
    ),
    (
        _net("86M params", ": 12*768**2"),
        ("4:19 the docstring says '86M params' here, and its budget in line 6 says 12*768**2",),
    ),
)


class Rule(Visitor):
    def visit_docstring(self, definition: Definition, lines: Sequence[DocLine]) -> None:
        claims = find_claims(lines)
        budgets = parse_docstring(lines)[0] if claims else []
        for claim in claims:
            for budget in budgets:
                same = budget.arguments is None and budget.selector == claim.selector
                if same and _contradict(claim.value, budget.value):
                    message = (
                        f"the docstring says {claim.text!r} here, and its budget in line "
                        f"{budget.line} says {budget.text}"
                    )
                    remedy = "correct the sentence, or leave the number to the budget"
                    self.report((claim.line, claim.column), message, remedy, definition.qualname)
                    break


def _contradict(claim: Value, budget: Value) -> bool:
    """Is there no count that satisfies both?"""
    try:
        one, other = claim.bounds(), budget.bounds()
    except FormulaError:  # it needs values that only the built model has
        return False
    return _below(one, other) or _below(other, one)


def _below(one: Bounds, other: Bounds) -> bool:
    return one.high is not None and other.low is not None and one.high < other.low
