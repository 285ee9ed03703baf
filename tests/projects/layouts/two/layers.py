from torch import nn


class Layer(nn.Linear):
    def __init__(self):
        super().__init__(2, 2)
