"""The attention half of the comparison: a Transformer, and one with a stack among its layers."""

import math
import re

import torch
from torch import Tensor, nn

from . import stack as superposition


def sinusoids(length: int, like: Tensor) -> Tensor:
    """The fixed position encoding of the original Transformer, (length, like.shape[-1])."""
    half = like.shape[-1] // 2
    position = torch.arange(length, device=like.device, dtype=like.dtype)[:, None]
    rate = torch.arange(half, device=like.device, dtype=like.dtype) * (-math.log(10_000) / half)
    angle = position * rate.exp()
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(start_dim=1)


def standard_layer(d_model: int, num_heads: int, d_ff: int) -> nn.TransformerEncoderLayer:
    """PyTorch's own Transformer layer, normalising before each half.

    Its four attention projections have biases, 4*d_model of its parameters.

    nparam(32, 4, 128): 12_704
    nparam(16, 4, 64): 3_280
    nparam(32, 4, 128): d_model*(4*d_model + 9) + d_ff*(2*d_model + 1)
    """
    return nn.TransformerEncoderLayer(
        d_model, num_heads, d_ff, dropout=0.0, batch_first=True, norm_first=True
    )


class TransformerLM(nn.Module):
    """A causal Transformer language model with tied embeddings and sinusoidal positions.

    (batch, n) tokens become (batch, n, vocab_size) logits.

    The counts that the notebook printed, for five widths, the feedforward part always four times
    as wide:

    nparam: 40_224
    nparam(d_model=48, d_ff=192): 87_984
    nparam(d_model=56, d_ff=224): 118_776
    nparam(d_model=64, d_ff=256): 154_176
    nparam(d_model=128, d_ff=512): 603_264
    nparam: (vocab_size + 2)*d_model + num_layers*(d_model*(4*d_model + 9) + d_ff*(2*d_model + 1))
    nparam[layers.*]: d_model*(4*d_model + 9) + d_ff*(2*d_model + 1)

    The notebook's formula says 39,840 for the first: it assumes attention without biases and so
    misses 4*d_model in every layer.
    """

    def __init__(
        self,
        vocab_size: int = 64,
        num_layers: int = 3,
        d_model: int = 32,
        num_heads: int = 4,
        d_ff: int = 128,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.layers = nn.ModuleList(
            standard_layer(d_model, num_heads, d_ff) for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(d_model)
        self.output = nn.Linear(d_model, vocab_size, bias=False)
        self.output.weight = self.embedding.weight

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        length, width = x.shape[1:]
        x = x * math.sqrt(width) + sinusoids(length, x)
        mask = nn.Transformer.generate_square_subsequent_mask(length, x.device, x.dtype)
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=True)
        return self.output(self.norm(x))


class StackAttention(nn.Module):
    """A stack in place of attention: each position sees what its predecessors left on top.

    nparam(16, 16): 560
    nparam(16, 16): d_model*(2*stack_size + 3)
    """

    def __init__(self, d_model: int, stack_size: int) -> None:
        super().__init__()
        self.stack_size = stack_size
        self.actions = nn.Linear(d_model, 3, bias=False)
        self.pushed = nn.Linear(d_model, stack_size, bias=False)
        self.output = nn.Linear(stack_size, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        stack = superposition.empty_stack(x, self.stack_size)
        steps = zip(
            self.actions(x).softmax(dim=-1).unbind(dim=1),
            self.pushed(x).unbind(dim=1),
            strict=True,
        )
        readings = []
        for actions, pushed in steps:
            stack = superposition.update(stack, actions, pushed)
            readings.append(superposition.read(stack))
        return self.output(torch.stack(readings, dim=1))


class StackLayer(nn.Module):
    """A Transformer layer with a stack instead of attention. Stacks do not see ahead: no mask.

    nparam(16, 64, 16): 2_752
    nparam(16, 64, 16): d_model*(2*stack_size + 8) + d_ff*(2*d_model + 1)
    """

    def __init__(self, d_model: int, d_ff: int, stack_size: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = StackAttention(d_model, stack_size)
        self.norm2 = nn.LayerNorm(d_model)
        self.feedforward = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model)
        )

    def forward(self, x: Tensor, **_mask: object) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.feedforward(self.norm2(x))


def parse_layers(layers: str) -> list[int]:
    """The layers that a string such as ``"2.superposition-16.1"`` describes, in order.

    Fields are separated by dots: a number is so many standard layers, ``superposition-16`` one
    stack layer with vectors of 16. In the result 0 is a standard layer, any other number a stack
    layer of that size. A field must fit as a whole: ``"16-1"`` is an error here.
    """
    sizes: list[int] = []
    for field in layers.split("."):
        match = re.fullmatch(r"(\d+)|superposition-(\d+)", field)
        if match is None:
            raise ValueError(f"not a layer: {field!r} in {layers!r}")
        standard, stack_size = match.groups()
        sizes += [int(stack_size)] if standard is None else [0] * int(standard)
    return sizes


class StackTransformer(TransformerLM):
    """A Transformer with superposition-stack layers among its standard ones.

    Shapes as in ``TransformerLM``. ``layers`` describes the sequence of layers, in the notation of
    the library that the notebook used (see ``parse_layers``).

    The counts that the notebook printed, together with the layers that they belong to:

    nparam: 59_568
    nparam(d_model=20, d_ff=80, layers="20.superposition-8.1"): 111_340
    nparam(d_model=20, d_ff=80, layers="20.superposition-16.1"): 111_660
    nparam(d_model=24, d_ff=96, layers="24.superposition-16.1"): 187_848

    And what was intended, one standard layer and one stack layer:

    nparam(layers="1.superposition-16"): 7_088
    nparam(d_model=20, d_ff=80, layers="1.superposition-8"): 10_140
    nparam(d_model=20, d_ff=80, layers="1.superposition-16"): 10_460
    nparam(d_model=24, d_ff=96, layers="1.superposition-16"): 14_472

    The notebook wrote width, standard layers, stack size and stack layers into one string,
    ``"16-1.superposition-16.1"``. The library expects no width: it read the leading 16 as sixteen
    standard layers, silently dropped the ``-1`` and took the last 1 for a seventeenth. The
    models came out eight to thirteen times too big, in a study about equal budgets.

    The closed form, with n standard layers, m stack layers and s the sum of the stack sizes:

    nparam: d*(vocab_size + 2) + (n + m)*d_ff*(2*d + 1) + n*d*(4*d + 9) + d*(2*s + 8*m)
    nparam(layers="1.superposition-16")[layers.0]: d*(4*d + 9) + d_ff*(2*d + 1)
    nparam(layers="1.superposition-16")[layers.1]: d*(2*s + 8) + d_ff*(2*d + 1)

    The notebook's own formula says 7,024 for the 7,088 that it meant: again without the four
    attention biases of a standard layer.
    """

    def __init__(
        self,
        vocab_size: int = 64,
        d_model: int = 16,
        num_heads: int = 4,
        d_ff: int = 64,
        layers: str = "16.superposition-16.1",
    ) -> None:
        super().__init__(vocab_size, 0, d_model, num_heads, d_ff)
        sizes = parse_layers(layers)
        self.d = d_model
        self.n = sizes.count(0)
        self.m = len(sizes) - self.n
        self.s = sum(sizes)
        self.layers.extend(
            StackLayer(d_model, d_ff, size) if size else standard_layer(d_model, num_heads, d_ff)
            for size in sizes
        )


def stack_transformer(
    vocab_size: int = 64,
    num_layers: int = 1,
    num_stack_layers: int = 1,
    d_model: int = 16,
    num_heads: int = 4,
    d_ff: int = 64,
    stack_size: int = 16,
) -> StackTransformer:
    """What the notebook meant: ``num_layers`` standard layers, then ``num_stack_layers`` others.

    nparam: 7_088
    nparam: d*(n*(4*d + 2*d_ff + 9) + 2*m*(d_ff + stack_size + 4) + vocab_size + 2) + d_ff*(n + m)
    """
    layers = f"{num_layers}" + f".superposition-{stack_size}" * num_stack_layers
    return StackTransformer(vocab_size, d_model, num_heads, d_ff, layers)


def misread_stack_transformer(
    v: int = 64,
    n: int = 1,
    m: int = 1,
    d: int = 16,
    num_heads: int = 4,
    f: int = 64,
    s: int = 16,
) -> StackTransformer:
    """What the notebook built: its string for ``n`` standard and ``m`` stack layers, misread.

    The width d becomes a number of layers, so the count grows with its cube; n is dropped.

    nparam: 59_568
    nparam(d=20, f=80, s=8): 111_340
    nparam: d*(d*(4*m + 4*d + 2*f + 9) + m*(2*f + 9) + v + 3*f + 2*s + 10) + f*(m + 1)
    """
    written = f"{d}-{n}.superposition-{s}.{m}"
    read = written.replace(f"-{n}.", ".", 1)  # the library drops what it cannot read
    return StackTransformer(v, d, num_heads, f, read)
