"""The file that defines the model cannot be imported.

To count a model, its file is imported by the project's own Python interpreter.
That failed: a package is missing there, the file has an error, or another
interpreter than the one you meant was chosen. A declared model that cannot be
counted is an error, never a pass.

A file that Python cannot parse is reported as well, with line and column:
where it could hold a model or a budget, where a file that does imports it,
and where it is named on the command line. A file of more than 1 MB, or one
that takes longer to read than --timeout, is left out and named: a warning
where no budget can be in it.
"""

EXAMPLE_BAD = "import einops  # not installed in the interpreter that nparam-lint found"
EXAMPLE_GOOD = "$ .venv/bin/pip install einops   # or: nparam-lint --python path/to/python"
REMEDY = "`nparam-lint doctor` says which interpreter was chosen, and why."
