"""What git knows: the index, commits, and copies of either outside of the working tree."""
