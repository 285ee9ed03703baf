"""One GPT three times, and an MLP: the cost of four ways to write a small model.

A notebook trains small GPTs by different authors, and a plain MLP, on three-digit addition (16
characters; 12 of them are seen) and on Shakespeare (65 characters; 128 are seen). They were to be
configured alike, and block by block they are: however a GPT block of width d is written, it has
12*d**2 + 13*d parameters. They differ at both ends, and in two unintended ways.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class CausalSelfAttention(nn.Module):
    """Self-attention with queries, keys and values from one layer.

    nparam(16, 4): 1_088
    nparam(16, 4): 4*d_model*(d_model + 1)
    """

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.proj = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(x).unflatten(-1, (3, self.n_heads, -1)).transpose(1, 3).unbind(dim=2)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(out.transpose(1, 2).flatten(start_dim=2))


class Block(nn.Module):
    """A GPT block; ``norm_first`` is GPT-2's way, the other is that of the first GPT.

    nparam(16, 4): 3_280
    nparam(16, 4): 12*d_model**2 + 13*d_model
    """

    def __init__(self, d_model: int, n_heads: int, norm_first: bool = True) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.ln_1 = nn.LayerNorm(d_model)
        self.attn = CausalSelfAttention(d_model, n_heads)
        self.ln_2 = nn.LayerNorm(d_model)
        self.mlp = nn.Sequential(
            nn.Linear(d_model, 4 * d_model),
            nn.GELU(approximate="tanh"),
            nn.Linear(4 * d_model, d_model),
        )

    def forward(self, x: Tensor) -> Tensor:
        if self.norm_first:
            x = x + self.attn(self.ln_1(x))
            return x + self.mlp(self.ln_2(x))
        x = self.ln_1(x + self.attn(x))
        return self.ln_2(x + self.mlp(x))


class FirstGPT(nn.Module):
    """The first GPT as the HuggingFace library has it, and the notebook's output layer on top.

    (batch, n) tokens become (batch, n, vocab_size) logits. Norms come after each half of a block,
    so there is none at the end; the output layer is not tied to the embedding.

    nparam: 13_824
    nparam: 2*vocab_size*n_embd + n_positions*n_embd + n_layer*(12*n_embd**2 + 13*n_embd)
    nparam[blocks.*]: 3_280
    """

    def __init__(
        self,
        vocab_size: int = 16,
        n_positions: int = 12,
        n_embd: int = 16,
        n_layer: int = 4,
        n_head: int = 4,
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, n_embd)
        self.positions = nn.Embedding(n_positions, n_embd)
        self.blocks = nn.Sequential(
            *(Block(n_embd, n_head, norm_first=False) for _ in range(n_layer))
        )
        self.output = nn.Linear(n_embd, vocab_size, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        return self.output(self.blocks(self.tokens(tokens) + self.positions(positions)))


@dataclass
class NanoConfig:
    block_size: int = 12
    vocab_size: int = 16
    n_layer: int = 6
    n_head: int = 4
    n_embd: int = 16


class NanoGPT(nn.Module):
    """GPT-2 as nanoGPT has it: norms first and one more at the end, output tied to the embedding.

    (batch, n) tokens become (batch, n, vocab_size) logits.

    nparam: 20_160
    nparam(NanoConfig(block_size=128, vocab_size=65, n_layer=4, n_embd=64)): 212_416
    nparam(NanoConfig(block_size=128, vocab_size=65, n_layer=4, n_embd=96)): 466_080
    nparam: (vocab_size + block_size + 2)*n_embd + n_layer*(12*n_embd**2 + 13*n_embd)
    nparam[blocks.*]: 12*n_embd**2 + 13*n_embd

    On addition the notebook gives this one six layers and the others four, so it is compared at
    about one and a half times their size. With four it would have

    nparam(NanoConfig(n_layer=4)): 13_600

    nanoGPT's own printout beside the second count, 0.20M, leaves out the positions.
    """

    def __init__(self, config: NanoConfig) -> None:
        super().__init__()
        self.tokens = nn.Embedding(config.vocab_size, config.n_embd)
        self.positions = nn.Embedding(config.block_size, config.n_embd)
        self.blocks = nn.Sequential(
            *(Block(config.n_embd, config.n_head) for _ in range(config.n_layer))
        )
        self.norm = nn.LayerNorm(config.n_embd)
        self.output = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.output.weight = self.tokens.weight

    def forward(self, tokens: Tensor) -> Tensor:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.blocks(self.tokens(tokens) + self.positions(positions))
        return self.output(self.norm(x))


@dataclass
class LensConfig:
    d_vocab: int = 16
    n_ctx: int = 12
    d_model: int = 16
    n_heads: int = 4
    d_head: int = 4
    d_mlp: int = 64
    n_layers: int = 4
    train_b_U: bool = True


def weight(*shape: int) -> nn.Parameter:
    return nn.Parameter(0.02 * torch.randn(shape))


def bias(*shape: int) -> nn.Parameter:
    return nn.Parameter(torch.zeros(shape))


class LensAttention(nn.Module):
    """Self-attention with a matrix for every head, as in TransformerLens.

    nparam: 1_088
    nparam: 4*n_heads*d_head*d_model + 3*n_heads*d_head + d_model
    """

    def __init__(self, config: LensConfig) -> None:
        super().__init__()
        heads, d_head, d_model = config.n_heads, config.d_head, config.d_model
        self.W_Q, self.b_Q = weight(heads, d_model, d_head), bias(heads, 1, d_head)
        self.W_K, self.b_K = weight(heads, d_model, d_head), bias(heads, 1, d_head)
        self.W_V, self.b_V = weight(heads, d_model, d_head), bias(heads, 1, d_head)
        self.W_O, self.b_O = weight(heads, d_head, d_model), bias(d_model)

    def forward(self, x: Tensor) -> Tensor:
        x = x[:, None]
        q, k, v = x @ self.W_Q + self.b_Q, x @ self.W_K + self.b_K, x @ self.W_V + self.b_V
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return (out @ self.W_O).sum(dim=1) + self.b_O


class LensMLP(nn.Module):
    """The feedforward half of a block, with bare matrices.

    nparam: 2_128
    nparam: 2*d_model*d_mlp + d_mlp + d_model
    """

    def __init__(self, config: LensConfig) -> None:
        super().__init__()
        self.W_in, self.b_in = weight(config.d_model, config.d_mlp), bias(config.d_mlp)
        self.W_out, self.b_out = weight(config.d_mlp, config.d_model), bias(config.d_model)

    def forward(self, x: Tensor) -> Tensor:
        return F.gelu(x @ self.W_in + self.b_in, approximate="tanh") @ self.W_out + self.b_out


class LensBlock(nn.Module):
    """A GPT-2 block out of the two.

    nparam: 3_280
    nparam: 2*d_model*(2*n_heads*d_head + d_mlp + 3) + 3*n_heads*d_head + d_mlp
    """

    def __init__(self, config: LensConfig) -> None:
        super().__init__()
        self.ln1 = nn.LayerNorm(config.d_model)
        self.attn = LensAttention(config)
        self.ln2 = nn.LayerNorm(config.d_model)
        self.mlp = LensMLP(config)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class LensTransformer(nn.Module):
    """GPT-2 as the lectures around TransformerLens write it: every matrix in plain sight.

    (batch, n) tokens become (batch, n, d_vocab) logits. The output layer has a matrix of its own
    and a bias. In the formulas d is d_model, and a the width of all heads together.

    nparam: 13_872
    nparam(LensConfig(65, 128, 64, 4, 16, 256)): 216_641
    nparam(LensConfig(65, 128, 96, 4, 24, 384)): 472_385
    nparam: d_vocab*(2*d + 1) + d*(n_ctx + 2) + n_layers*(a*(4*d + 3) + d_mlp*(2*d + 1) + 6*d)
    nparam[blocks.*]: a*(4*d + 3) + d_mlp*(2*d + 1) + 6*d

    The bias at the end was written to stay fixed: ``nn.Parameter(torch.zeros(n,
    requires_grad=False))``. But a new parameter asks for gradients whatever its tensor did, so it
    is trained, and counted as trainable. As meant:

    nparam[trainable]: 13_872
    nparam(LensConfig(train_b_U=False))[trainable]: 13_856
    nparam(LensConfig(train_b_U=False))[frozen]: 16
    """

    def __init__(self, config: LensConfig) -> None:
        super().__init__()
        self.d = config.d_model
        self.a = config.n_heads * config.d_head
        self.W_E = weight(config.d_vocab, config.d_model)
        self.W_pos = weight(config.n_ctx, config.d_model)
        self.blocks = nn.Sequential(*(LensBlock(config) for _ in range(config.n_layers)))
        self.ln_final = nn.LayerNorm(config.d_model)
        self.W_U = weight(config.d_model, config.d_vocab)
        self.b_U = bias(config.d_vocab).requires_grad_(config.train_b_U)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.blocks(self.W_E[tokens] + self.W_pos[: tokens.shape[1]])
        return self.ln_final(x) @ self.W_U + self.b_U


@dataclass
class MLPConfig:
    vocab_size: int = 16
    input_len: int = 12
    n_embed: int = 8
    n_hidden: int = 128
    output_len: int = 1


class SequenceMLP(nn.Module):
    """Embed every input token, put the vectors side by side, and send them through an MLP.

    (batch, input_len) tokens become (batch, output_len, vocab_size) logits. The baseline, and on
    addition the winner.

    nparam: 14_608
    nparam(MLPConfig(65, 128, n_embed=16, n_hidden=256)): 542_289
    nparam(MLPConfig(65, 128, n_embed=8, n_hidden=128)): 140_105
    nparam(MLPConfig(65, 128, n_embed=16, n_hidden=64)): 136_401
    nparam: v*n_embed + (n_embed*input_len + 1)*n_hidden + (n_hidden + 1)*v*output_len
    """

    def __init__(self, config: MLPConfig) -> None:
        super().__init__()
        self.v = config.vocab_size
        self.embed = nn.Embedding(config.vocab_size, config.n_embed)
        self.mlp = nn.Sequential(
            nn.Linear(config.n_embed * config.input_len, config.n_hidden),
            nn.ReLU(),
            nn.Linear(config.n_hidden, config.vocab_size * config.output_len),
            nn.Unflatten(-1, (config.output_len, config.vocab_size)),
        )

    def forward(self, tokens: Tensor) -> Tensor:
        return self.mlp(self.embed(tokens).flatten(start_dim=1))
