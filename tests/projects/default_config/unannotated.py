from torch import nn


class OtherConfig:
    width = 1


class GPTConfig:
    n_embd = 6


class GPT(nn.Module):
    """nparam: 42"""

    def __init__(self, config):
        super().__init__()
        self.layer = nn.Linear(config.n_embd, config.n_embd)
