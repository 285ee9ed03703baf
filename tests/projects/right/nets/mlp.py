from torch import nn


class MLP(nn.Module):
    """A small classifier.

    nparam: 101_770
    nparam: 102k
    nparam: 0.1M ± 2%
    nparam: ~100k
    nparam: <= 110k
    nparam: 101k..102k
    nparam: 784*width + width + 10*width + 10
    nparam[hidden]: 100_480
    nparam[out, trainable]: 1_290
    nparam[bytes]: 407_080
    nparam(width=64): 50_890
    """

    def __init__(self, width=128):
        super().__init__()
        self.hidden = nn.Linear(784, width)
        self.out = nn.Linear(width, 10)


def wide(width=512):
    """The same, wider.

    :nparam: 407_050
    """
    return MLP(width)
