"""The file that defines the model cannot be imported.

To count a model, its file is imported by the project's own Python interpreter.
That failed: a package is missing there, the file has an error, or the wrong
interpreter was chosen. A declared model that cannot be counted is an error,
never a pass.

A file that Python cannot parse is reported as well, with line and column: if it
could contain a model or a budget, if a file with one imports it, or if it is
named on the command line. A file of more than 1 MB, or one that takes longer to
read than --timeout, is skipped and reported: as a warning if it cannot contain
a budget.
"""

EXAMPLE_BAD = "import einops  # not installed in the interpreter that nparam-lint found"
EXAMPLE_GOOD = "$ .venv/bin/pip install einops   # or: nparam-lint --python path/to/python"
REMEDY = "`nparam-lint doctor` says which interpreter was chosen, and why."
