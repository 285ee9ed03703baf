"""What is said of changes: of a comparison of revisions, and of counts at every commit."""
