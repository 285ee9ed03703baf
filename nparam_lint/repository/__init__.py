"""Git: the index, commits, and copies of both outside of the working tree."""
