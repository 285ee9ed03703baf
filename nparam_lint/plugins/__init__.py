"""nparam-lint inside other tools: flake8, pytest, and editors (a language server)."""
