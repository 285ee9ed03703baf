from torch import nn


class Net(nn.Module):
    """A net with good and bad budgets.

    nparam: about a million
    nparam[trainable: 20
    nparam(width=): 20
    nparam: 4*width ++
    nparam: 20
    nparam:
    """

    def __init__(self, width=4):
        super().__init__()
        self.layer = nn.Linear(width, 4)


def net():
    """nparam is prose here, but this is none:
      nparam: 86.6
    """
    return Net()
