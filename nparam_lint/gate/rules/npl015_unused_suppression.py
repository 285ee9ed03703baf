"""A comment ignores a finding that is not there.

`# nparam: ignore[NPL010]` silences that finding on its line. No such finding is
there: the problem has been corrected, or the code is misspelt. If the comment
stays, it would silence the next real finding.
"""

SEVERITY = "warning"
EXAMPLE_BAD = "self.fc = nn.Linear(64, 10)  # nparam: ignore[NPL010]"
EXAMPLE_GOOD = "self.fc = nn.Linear(64, 10)"
REMEDY = "Delete the comment."
