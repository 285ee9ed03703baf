from torch import nn

from ..base import ADD
from .width import WIDTH


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, WIDTH + ADD)
