from torch import nn

from nets.block import Block


class TiedLM(nn.Module):
    """A language model whose output layer is its embedding.

    nparam:
        44_672
        [blocks.*]: 6_336
        non_embedding: 12_672
    """

    def __init__(self, vocabulary=500, width=64, depth=2):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.embedding.weight
