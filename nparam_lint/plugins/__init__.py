"""nparam-lint inside other tools: a plugin for flake8 and one for pytest."""
