from dataclasses import dataclass

from torch import nn


@dataclass
class NetConfig:
    width: int = 4


class Net(nn.Module):
    """nparam: 20
    nparam: width**2 + width
    nparam(NetConfig(width=8)): 72
    nparam(NetConfig(8))[layer, trainable]: width**2 + width
    """

    def __init__(self, config: NetConfig):
        super().__init__()
        self.layer = nn.Linear(config.width, config.width)
