from torch import nn


class Right(nn.Module):
    """A tiny autoencoder with ~1.3K parameters."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(128, 10)


class Wrong(Right):
    """A tiny autoencoder with ~2K parameters."""


class NeedsArguments(nn.Module):
    """A network of 5M parameters."""

    def __init__(self, width, depth):
        super().__init__()


def factory():
    """Params: 27M"""
    return Right()


class NoClaim(Right):
    """Loads ImageNet-1k weights; takes 3 parameters."""
