"""The benchmarks that `benchmarks/run.py` runs: a function each, which compares two sides."""
