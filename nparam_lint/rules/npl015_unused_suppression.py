"""A comment ignores a finding that is not there.

`# nparam: ignore[NPL010]` silences that finding on its line. Nothing of that
code was found there: what it was written for has been corrected, or the code is
mistyped. Left behind, it would silence the next fault.
"""

from nparam_lint.rules.rule import Rule

RULE = Rule(
    __name__,
    __doc__,
    severity="warning",
    example_bad="self.fc = nn.Linear(64, 10)  # nparam: ignore[NPL010]",
    example_good="self.fc = nn.Linear(64, 10)",
    remedy="Delete the comment.",
)
