import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        """A norm, half a feedforward layer, and a scale.

        nparam(64): 6_336
        """
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, width + width // 2, bias=False)
        self.scale = nn.Parameter(torch.ones(width))
