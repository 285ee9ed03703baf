"""Writes budgets into source and config: `nparam-lint update` and `nparam-lint init`.

The new text is parsed again before it is written, and everything else stays the same, byte for
byte. An edit for which this cannot be guaranteed raises `edits.Unsafe` and is not made.
"""
