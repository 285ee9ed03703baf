"""What each line makes of `Net` stands at its end, as `annotate` prints it."""

import torch
import torch.nn as nn
from layers import Attention, Base, clones


class Wide(nn.Linear):
    def __init__(self, d):
        super().__init__(d, d, bias=False)  # 2× 72


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.attn = Attention(d)  # 4× 528
        self.mlp = nn.Sequential(
            nn.Linear(d, 2 * d),  # 4× 336
            nn.GELU(),
            nn.Linear(2 * d, d),  # 4× 312
        )
        self.register_parameter("gamma", nn.Parameter(torch.ones(d)))  # 4× 24


class Net(Base):
    def __init__(self, d=6):
        super().__init__(d)  # 2× 12
        self.words = nn.Embedding(10, d)  # 60
        self.blocks = nn.ModuleList([Block(d) for _ in range(3)])  # 3× (900)
        for _ in range(2):
            self.blocks.append(nn.Linear(1, 1))  # 2× 4
        self.extra = nn.ModuleDict()
        self.extra["block"] = Block(d)  # (300)
        self.copies = clones(Attention(d), 5)  # 5× 660
        layer = nn.TransformerEncoderLayer(d, 2, 4, bias=False)  # 2× 408
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.wide = Wide(d)  # (36)
        self.also = Wide(d)  # (36)
        self.list = nn.ParameterList([torch.zeros(2), torch.zeros(3)])  # 5
        self.head = linear_head(self.words)
        self.normed = nn.utils.parametrizations.weight_norm(nn.Linear(2, 1))  # 4

    def make(self, d):
        self.made = nn.Linear(1, 1)  # 2


def linear_head(words):
    head = nn.Linear(6, 10, bias=False)
    head.weight = words.weight
    return head
