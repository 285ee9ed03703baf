"""Writes budgets into source and config: `nparam-lint update` and `nparam-lint init`.

What is written is read again before it goes to a file, and everything else stays as it is, byte for
byte; an edit of which that cannot be said raises `edits.Unsafe` and is not made.
"""
