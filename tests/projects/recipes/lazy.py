from torch import nn


class Shaped(nn.Module):
    """Its width comes from what it is given."""

    def __init__(self):
        super().__init__()
        self.layer = nn.LazyLinear(10)

    def forward(self, x):
        return self.layer(x)


class Two(nn.Module):
    def __init__(self, width=5):
        super().__init__()
        self.left = nn.LazyLinear(width)
        self.right = nn.LazyLinear(width)

    def forward(self, left, right):
        return self.left(left), self.right(right)


class Shapeless(nn.Module):
    """nparam: 50"""

    def __init__(self):
        super().__init__()
        self.layer = nn.LazyLinear(10)


class ByTable(Shaped):
    """nparam: 70"""
