"""The source of generated models: six families as they stand in real repositories, with the blocks
that a package shares. `@NAME@`, `@WIDTH@`, `@DEPTH@` and `@BUDGETS@` are filled in.

A file builds its model with its defaults; `width` is an argument of each.
"""

from __future__ import annotations

BLOCKS = '''\
"""Blocks that the models of this package share."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F


class ConvNormAct(nn.Sequential):
    """Convolution, batch norm and an activation."""

    def __init__(self, inputs: int, outputs: int, kernel: int = 3, stride: int = 1) -> None:
        super().__init__(
            nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
        )


class Residual(nn.Module):
    """Two convolutions and what came in; a projection where the shape changes."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1) -> None:
        super().__init__()
        self.body = nn.Sequential(
            ConvNormAct(inputs, outputs, 3, stride),
            nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        self.skip = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.skip = nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.body(x) + self.skip(x))


class Mlp(nn.Module):
    """The feed-forward part of a block."""

    def __init__(self, width: int, ratio: int = 4, dropout: float = 0.0) -> None:
        super().__init__()
        self.inner = nn.Linear(width, ratio * width)
        self.outer = nn.Linear(ratio * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.dropout(self.outer(F.gelu(self.inner(x))))


class Attention(nn.Module):
    """Attention of several heads, causal where it is asked for."""

    def __init__(self, width: int, heads: int, causal: bool = False) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv = nn.Linear(width, 3 * width)
        self.project = nn.Linear(width, width)
        nn.init.xavier_uniform_(self.qkv.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        qkv = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.project(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """Attention and feed-forward, each behind a norm."""

    def __init__(self, width: int, heads: int, causal: bool = False) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, causal)
        self.mlp = Mlp(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))
'''

_MLP = '''\
"""A plain classifier of feature vectors."""

from __future__ import annotations

import torch
from torch import nn


class @NAME@(nn.Module):
    """Linear layers with dropout between.

@BUDGETS@
    """

    def __init__(self, inputs: int = 784, width: int = @WIDTH@, classes: int = 10) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for _ in range(@DEPTH@):
            layers += [nn.Linear(inputs, width), nn.ReLU(), nn.Dropout(0.1)]
            inputs = width
        self.features = nn.Sequential(*layers)
        self.head = nn.Linear(width, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(x.flatten(1)))
'''

_CONVNET = '''\
"""A residual network for small images."""

from __future__ import annotations

import torch
from torch import nn

from .blocks import ConvNormAct, Residual


class @NAME@(nn.Module):
    """A stem, four stages of residual blocks, and a linear head.

@BUDGETS@
    """

    def __init__(self, width: int = @WIDTH@, depth: int = @DEPTH@, classes: int = 100) -> None:
        super().__init__()
        self.stem = ConvNormAct(3, width)
        stages: list[nn.Module] = []
        inputs = width
        for stage in range(4):
            outputs = width * 2**stage
            for number in range(depth):
                stages.append(Residual(inputs, outputs, 2 if stage and not number else 1))
                inputs = outputs
        self.stages = nn.Sequential(*stages)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(inputs, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.pool(self.stages(self.stem(x))).flatten(1))
'''

_LANGUAGE = '''\
"""A decoder-only language model."""

from __future__ import annotations

import torch
from torch import nn

from .blocks import Block


class @NAME@(nn.Module):
    """Embeddings, causal blocks, and a head that is tied to the embedding.

@BUDGETS@
    """

    def __init__(
        self, vocabulary: int = 8192, length: int = 256, width: int = @WIDTH@, depth: int = @DEPTH@
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, width // 32, causal=True) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight
        self.apply(self._initialise)

    def _initialise(self, module: nn.Module) -> None:
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.tokens(tokens) + self.positions(places)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))
'''

_VISION = '''\
"""A vision transformer."""

from __future__ import annotations

import torch
from torch import nn

from .blocks import Block


class @NAME@(nn.Module):
    """Patches, a class token, blocks, and a head.

@BUDGETS@
    """

    def __init__(
        self, size: int = 224, patch: int = 16, width: int = @WIDTH@, depth: int = @DEPTH@
    ) -> None:
        super().__init__()
        patches = (size // patch) ** 2
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(torch.zeros(1, patches + 1, width))
        rates = [0.1 * number / depth for number in range(depth)]
        self.rates = rates
        self.blocks = nn.Sequential(*(Block(width, width // 32) for _ in rates))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 1000)
        nn.init.trunc_normal_(self.positions, std=0.02)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.positions
        return self.head(self.norm(self.blocks(x))[:, 0])
'''

_TAGGER = '''\
"""A recurrent tagger."""

from __future__ import annotations

import torch
from torch import nn


class @NAME@(nn.Module):
    """An embedding, a bidirectional LSTM, and a label for each token.

@BUDGETS@
    """

    def __init__(self, vocabulary: int = 5000, width: int = @WIDTH@, labels: int = 17) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width, padding_idx=0)
        self.encoder = nn.LSTM(width, width, @DEPTH@, bidirectional=True, batch_first=True)
        self.dropout = nn.Dropout(0.3)
        self.labels = nn.Linear(2 * width, labels)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        states, _ = self.encoder(self.dropout(self.embedding(tokens)))
        return self.labels(self.dropout(states))
'''

_AUTOENCODER = '''\
"""A convolutional autoencoder."""

from __future__ import annotations

import torch
from torch import nn

from .blocks import ConvNormAct


class @NAME@(nn.Module):
    """Halves an image again and again, and back.

@BUDGETS@
    """

    def __init__(self, channels: int = 3, width: int = @WIDTH@, depth: int = @DEPTH@) -> None:
        super().__init__()
        widths = [width * 2**level for level in range(depth)]
        down: list[nn.Module] = [ConvNormAct(channels, width)]
        for inputs, outputs in zip(widths, widths[1:]):
            down.append(ConvNormAct(inputs, outputs, stride=2))
        self.encoder = nn.Sequential(*down)
        up: list[nn.Module] = []
        for outputs, inputs in reversed(list(zip(widths, widths[1:]))):
            up += [nn.ConvTranspose2d(inputs, outputs, 2, 2), nn.ReLU(inplace=True)]
        self.decoder = nn.Sequential(*up, nn.Conv2d(width, channels, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.decoder(self.encoder(x))
'''

FAMILIES = (
    ("Classifier", _MLP),
    ("ResNet", _CONVNET),
    ("Language", _LANGUAGE),
    ("Vision", _VISION),
    ("Tagger", _TAGGER),
    ("Autoencoder", _AUTOENCODER),
)

# A layer of a plain GPT.
BLOCK = """\
class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.ln_1 = nn.LayerNorm(d)
        self.qkv = nn.Linear(d, 3 * d)
        self.proj = nn.Linear(d, d)
        self.ln_2 = nn.LayerNorm(d)
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)
"""
