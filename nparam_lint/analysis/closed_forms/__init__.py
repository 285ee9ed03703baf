"""Closed forms: derives the formula of a count from models that were built, and verifies it."""
