from torch import nn as layers


class Block(layers.Module):
    """nparam: 20"""

    def __init__(self):
        super().__init__()
        self.layer = layers.Linear(4, 4)
