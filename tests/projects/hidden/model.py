from torch import nn


class Forgetful(nn.Module):
    """nparam: 20"""

    def __init__(self):
        super().__init__()
        self.seen = nn.Linear(4, 4)
        self.blocks = [nn.Linear(4, 4) for _ in range(3)]
        self.heads = {"a": nn.Linear(4, 1)}
