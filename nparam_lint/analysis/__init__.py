"""What is asked of counts beyond a check: closed forms, solving, comparing, and diffs."""
