import torch
from torch import nn


class Same(nn.Module):
    """nparam: 20"""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)


class Differs(nn.Module):
    """nparam: 25"""

    def __init__(self):
        super().__init__()
        where = torch.empty(0).device.type
        self.layer = nn.Linear(4, 5 if where == "meta" else 4)
