from nparam_no_such_package import REGISTRY
from torch import nn


@REGISTRY
def other():
    import torch.nn as nn  # its own name

    return nn


@REGISTRY.register_module()
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 3)
