import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 3)


loader = DataLoader(TensorDataset(torch.zeros(4, 2)), batch_size=2)
for (batch,) in loader:
    print(Net()(batch))
