"""Why so big? Where the parameters of a sequence model are.

The models of a teaching notebook that starts from one embedding table and adds a part at a time, up
to a one-layer Transformer, counting after each step. Everything is tiny (256 characters, vectors of
5) so that every count can be checked by hand.
"""

import torch
from torch import Tensor, nn


class EmbeddingLM(nn.Module):
    """Look a token up, and compare the result with every token: the smallest language model.

    (batch, n) tokens become (batch, n, vocab_size) logits. With tied weights the output layer is
    free: the count is the embedding's own. The notebook asks what happens without.

    nparam: 1_280
    nparam: vocab_size*emb_dim*(1 if tie_weights else 2)
    nparam[embedding]: 1_280
    nparam(tie_weights=False): 2_560
    nparam(vocab_size=50_000, emb_dim=2048): 102_400_000
    """

    def __init__(self, vocab_size: int = 256, emb_dim: int = 5, tie_weights: bool = True) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, emb_dim)
        self.output = nn.Linear(emb_dim, vocab_size, bias=False)
        if tie_weights:
            self.output.weight = self.embedding.weight

    def embed(self, tokens: Tensor) -> Tensor:
        return self.embedding(tokens)

    def body(self, x: Tensor) -> Tensor:
        return x

    def forward(self, tokens: Tensor) -> Tensor:
        return self.output(self.body(self.embed(tokens)))


class MLP(nn.Sequential):
    """Two linear layers, biases and all, around a ReLU. The last dimension is ``emb_dim``.

    nparam: 181
    nparam: (emb_dim + 1)*n_hidden + (n_hidden + 1)*emb_dim
    """

    def __init__(self, emb_dim: int = 5, n_hidden: int = 16) -> None:
        super().__init__(nn.Linear(emb_dim, n_hidden), nn.ReLU(), nn.Linear(n_hidden, emb_dim))


class FeedForwardLM(EmbeddingLM):
    """The smallest language model with an MLP in the middle.

    nparam: 1_461
    nparam: vocab_size*emb_dim*(1 if tie_weights else 2) + n_hidden*(2*emb_dim + 1) + emb_dim
    nparam[mlp]: 181
    """

    def __init__(
        self,
        vocab_size: int = 256,
        emb_dim: int = 5,
        n_hidden: int = 16,
        tie_weights: bool = True,
    ) -> None:
        super().__init__(vocab_size, emb_dim, tie_weights)
        self.mlp = MLP(emb_dim, n_hidden)

    def body(self, x: Tensor) -> Tensor:
        return self.mlp(x)


class SelfAttention(nn.Module):
    """One head, no mask, no scaling: attention at its simplest.

    nparam: 120
    nparam: 4*emb_dim*(emb_dim + 1)
    nparam[output]: 30

    The notebook builds and counts the output projection but never applies it: a quarter of these
    weights would get no gradient. No count can show that. Here it is applied.
    """

    def __init__(self, emb_dim: int = 5) -> None:
        super().__init__()
        self.query = nn.Linear(emb_dim, emb_dim)
        self.key = nn.Linear(emb_dim, emb_dim)
        self.value = nn.Linear(emb_dim, emb_dim)
        self.output = nn.Linear(emb_dim, emb_dim)

    def forward(self, x: Tensor) -> Tensor:
        weights = (self.query(x) @ self.key(x).mT).softmax(dim=-1)
        return self.output(weights @ self.value(x))


class TransformerLayer(nn.Module):
    """Attention, norm, MLP, norm; no residual connections.

    nparam: 200
    nparam: 4*emb_dim*(emb_dim + 1) + (emb_dim + 1)*n_hidden + (n_hidden + 1)*emb_dim + 4*emb_dim
    nparam[attention]: 120
    nparam[*_norm]: 10
    nparam[*_norm]: 2*emb_dim
    """

    def __init__(self, emb_dim: int = 5, n_hidden: int = 5) -> None:
        super().__init__()
        self.attention = SelfAttention(emb_dim)
        self.attention_norm = nn.LayerNorm(emb_dim)
        self.mlp = MLP(emb_dim, n_hidden)
        self.mlp_norm = nn.LayerNorm(emb_dim)

    def forward(self, x: Tensor) -> Tensor:
        x = self.attention_norm(self.attention(x))
        return self.mlp_norm(self.mlp(x))


class TransformerLM(EmbeddingLM):
    """The smallest language model with learned positions and one Transformer layer in the middle.

    More than two thirds of it are still the embedding.

    nparam: 1_851
    nparam: emb_dim*(vocab_size + max_len + 4*emb_dim + 9) + 2*emb_dim*n_hidden + n_hidden
    nparam[embedding]: 1_280
    nparam[position]: 250
    nparam[layer]: 321
    """

    def __init__(
        self,
        vocab_size: int = 256,
        max_len: int = 50,
        emb_dim: int = 5,
        n_hidden: int = 16,
    ) -> None:
        super().__init__(vocab_size, emb_dim)
        self.position = nn.Embedding(max_len, emb_dim)
        self.layer = TransformerLayer(emb_dim, n_hidden)

    def embed(self, tokens: Tensor) -> Tensor:
        return self.embedding(tokens) + self.position(
            torch.arange(tokens.shape[-1], device=tokens.device)
        )

    def body(self, x: Tensor) -> Tensor:
        return self.layer(x)
