from torch import nn


class Net(nn.Module):
    """Two encoders.

    nparam[encoders.*]: 20
    nparam[encoder]: 20
    nparam[decoder*]: 20
    nparam: hidden_sise * 10 + 4
    nparam: (hidden_size + 1) * 8
    nparam: hidden_size / 3
    nparam: depth
    """

    def __init__(self, hidden_size=4):
        super().__init__()
        self.depth = 40
        self.encoders = nn.ModuleList(nn.Linear(hidden_size, 4) for _ in range(2))
