from torch import nn


class Part(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.layer = nn.Linear(width, width)


class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.Sequential(Part(), Part())


class Declared(nn.Module):
    """nparam: 12"""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)


class NeedsArguments(nn.Module):
    def __init__(self, width, depth):
        super().__init__()


class Failing(nn.Module):
    def __init__(self):
        super().__init__()
        raise RuntimeError("not today")


class Mentioned(nn.Linear):
    """It has 999 parameters, it says."""

    def __init__(self):
        super().__init__(3, 3)


def bare() -> nn.Sequential:
    """That others contain an nn.Sequential says nothing about it."""
    return nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2))
