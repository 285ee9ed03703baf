from torch import nn

TABLE = {}
if TABLE["{width}"] > 3:
    WIDTH = 4
input("go on? ")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 3)
