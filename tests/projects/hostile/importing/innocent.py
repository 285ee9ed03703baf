"""Needs the value of a function of its own when imported: right when run, lost when read in part."""

from torch import nn


def widen(width):
    return width + 1


WIDTH = widen(2)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, WIDTH)
