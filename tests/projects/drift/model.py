from torch import nn


class ByClass(nn.Module):
    """nparam: 100"""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(10, 10)
        self.second = nn.Linear(10, 1)


class ByInit(nn.Module):
    def __init__(self):
        """Makes the layers.

        nparam: <= 50
        """
        super().__init__()
        self.only = nn.Linear(10, 6)


def by_factory():
    """nparam[trainable]: 1.2k"""
    return nn.Sequential(nn.Linear(100, 10), nn.Linear(10, 10))


class ByConfig(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(30, 30)
        self.tail = nn.Linear(30, 5)
