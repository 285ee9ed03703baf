"""The commands of the command line; one module each.

A module has `USAGE`, `DESCRIPTION`, `add_arguments(parser)` and `run(options, environ)`, which
returns the exit code and raises `shared.UsageError` where the question cannot be answered.
"""
