"""Records what a build reads and changes, and where things are."""
