"""A GPT whose blocks know the order of the words from tiny recurrent units, not from positions.

The model behind a notebook cell that adds up, part by part, what such a GPT should have: 65 % word
embedding, 35 % Transformer, and recurrent units for next to nothing. The cell is arithmetic only;
this is a model that it describes, and that has exactly these counts.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class ChannelRNN(nn.Module):
    """One tiny RNN for every channel: a scalar goes in, ``H`` hidden units, their mean comes out.

    Side by side they are a grouped convolution of width 1, one group for each channel. Like
    PyTorch's own RNN it has two bias vectors. Keeps the shape (batch, n, channels).

    nparam: 10_304
    nparam: channels*(H + H*H + 2*H)
    nparam[ih]: channels*H
    nparam[hh]: channels*H*H
    nparam[bias]: 2*channels*H
    """

    def __init__(self, channels: int = 368, H: int = 4) -> None:
        super().__init__()
        self.channels = channels
        self.H = H
        units = channels * H
        self.ih = nn.Conv1d(channels, units, kernel_size=1, groups=channels, bias=False)
        self.hh = nn.Conv1d(units, units, kernel_size=1, groups=channels, bias=False)
        self.bias = nn.ParameterDict({"ih": torch.zeros(units, 1), "hh": torch.zeros(units, 1)})

    def forward(self, x: Tensor) -> Tensor:
        driven = self.ih(x.mT) + self.bias["ih"]
        hidden = torch.zeros_like(driven[..., :1])
        steps = []
        for step in driven.split(1, dim=-1):
            hidden = torch.tanh(step + self.hh(hidden) + self.bias["hh"])
            steps.append(hidden)
        return torch.cat(steps, dim=-1).unflatten(1, (self.channels, self.H)).mean(dim=2).mT


class Attention(nn.Module):
    """Causal self-attention without biases, normalised before and after.

    nparam(368, 8): 542_432
    nparam(368, 8): 4*n_embd**2 + 2*n_embd
    """

    def __init__(self, n_embd: int, n_head: int) -> None:
        super().__init__()
        self.n_head = n_head
        self.ln = nn.LayerNorm(n_embd, bias=False)
        self.ln2 = nn.LayerNorm(n_embd, bias=False)
        self.kqv = nn.Linear(n_embd, 3 * n_embd, bias=False)
        self.proj = nn.Linear(n_embd, n_embd, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        k, q, v = self.kqv(self.ln(x)).unflatten(-1, (3, self.n_head, -1)).transpose(1, 3).unbind(2)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.ln2(self.proj(out.transpose(1, 2).flatten(start_dim=2)))


class MLP(nn.Module):
    """The feedforward half of a block, four times as wide inside, without biases.

    nparam(368): 1_083_760
    nparam(368): 8*n_embd**2 + n_embd
    """

    def __init__(self, n_embd: int) -> None:
        super().__init__()
        self.ln = nn.LayerNorm(n_embd, bias=False)
        self.ffw = nn.Linear(n_embd, 4 * n_embd, bias=False)
        self.proj = nn.Linear(4 * n_embd, n_embd, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.proj(F.gelu(self.ffw(self.ln(x))))


class Block(nn.Module):
    """Recurrent units, attention, MLP; each adds to what it reads.

    nparam(368, 8, 4): 1_636_496
    nparam(368, 8, 4): 12*n_embd**2 + 3*n_embd + n_embd*H*(H + 3)
    """

    def __init__(self, n_embd: int, n_head: int, H: int) -> None:
        super().__init__()
        self.recurrent = ChannelRNN(n_embd, H)
        self.attention = Attention(n_embd, n_head)
        self.mlp = MLP(n_embd)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.recurrent(x)
        x = x + self.attention(x)
        return x + self.mlp(x)


class RecurrentGPT(nn.Module):
    """A GPT with recurrent units in its blocks and no positions.

    (batch, n) tokens become (batch, n, vocab_size) logits; the embedding is the output layer too,
    which is why the notebook's row for the output layer is zero.

    nparam: 18_792_288
    nparam: vocab_size*n_embd + n_layer*(12*n_embd**2 + 3*n_embd + n_embd*H*(H + 3))

    The notebook's table, row by row, as modules:

    nparam[embedding.token]: 12_246_304
    nparam[embedding]: 12_246_304
    nparam[transformer.*.recurrent.ih]: 1_472
    nparam[transformer.*.recurrent.hh]: 5_888
    nparam[transformer.*.recurrent.bias]: 2_944
    nparam[transformer.*.recurrent]: 10_304
    nparam[transformer.*.attention.ln]: 368
    nparam[transformer.*.attention.ln2]: 368
    nparam[transformer.*.attention.kqv]: 406_272
    nparam[transformer.*.attention.proj]: 135_424
    nparam[transformer.*.attention]: 542_432
    nparam[transformer.*.mlp.ln]: 368
    nparam[transformer.*.mlp.ffw]: 541_696
    nparam[transformer.*.mlp.proj]: 541_696
    nparam[transformer.*.mlp]: 1_083_760
    nparam[transformer.*]: 1_636_496
    nparam[transformer]: 6_545_984

    What the notebook gets wrong: its visible cell sets H = 2, but the table below it was made with
    H = 4. Run again as written, it says

    nparam(H=2): 18_765_792

    And beside a nanoGPT without biases and of the same sizes it counts a third norm in every block,
    and neither the position embedding nor the final norm.
    """

    def __init__(
        self,
        vocab_size: int = 33_278,
        n_layer: int = 4,
        n_head: int = 8,
        n_embd: int = 368,
        H: int = 4,
    ) -> None:
        super().__init__()
        self.embedding = nn.ModuleDict({"token": nn.Embedding(vocab_size, n_embd)})
        self.transformer = nn.Sequential(*(Block(n_embd, n_head, H) for _ in range(n_layer)))

    def forward(self, tokens: Tensor) -> Tensor:
        token = self.embedding["token"]
        return F.linear(self.transformer(token(tokens)), token.weight)
