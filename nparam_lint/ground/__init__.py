"""What every room stands on, and what needs none of them. The worker reads `metrics` and `facts`,
too: standard library alone, Python 3.9 syntax."""
