"""Constructors run with numbers that carry an expression: what a shape is, and what was decided."""
