import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 3)


model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(10**9):
    optimizer.zero_grad()
    loss = model.layer(torch.zeros(1, 2)).sum()
    loss.backward()
    optimizer.step()
torch.save(model.state_dict(), "weights.pt")
