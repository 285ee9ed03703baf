from pathlib import Path

from torch import nn

Path("evil.txt").write_text("evil")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 3)
