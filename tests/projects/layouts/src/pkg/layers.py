from torch.nn import Linear as L


class Layer(L):
    """nparam(2): 6"""

    def __init__(self, width):
        super().__init__(width, width)
