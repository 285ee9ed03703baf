"""nparam-lint: checks the parameter counts that a repository claims for its PyTorch models."""

__version__ = "0.1.0"
