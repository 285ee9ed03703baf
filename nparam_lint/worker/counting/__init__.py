"""Counts a model that was built."""
