"""What other programs use: Python and notebooks, pytest, flake8, editors (a language server); and
the schemas of the config and the reports."""
