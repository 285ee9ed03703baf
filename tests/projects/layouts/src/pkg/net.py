import torch.nn as tnn

from .layers import Layer


class Net(tnn.Module):
    """nparam: 12"""

    def __init__(self):
        super().__init__()
        self.one = Layer(3)
