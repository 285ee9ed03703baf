"""A comment ignores a finding that is not there.

`# nparam: ignore[NPL010]` silences that finding on its line. Nothing of that
code was found there: what it was written for has been corrected, or the code is
mistyped. Left behind, it would silence the next fault.
"""

SEVERITY = "warning"
EXAMPLE_BAD = "self.fc = nn.Linear(64, 10)  # nparam: ignore[NPL010]"
EXAMPLE_GOOD = "self.fc = nn.Linear(64, 10)"
REMEDY = "Delete the comment."
