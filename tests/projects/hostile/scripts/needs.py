import nparam_no_such_package as layers
from torch import nn


class Uses(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = layers.Layer(2, 3)


class Inherits(layers.Base):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 3)
