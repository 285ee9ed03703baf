from torch import nn


class Wider(nn.Linear):
    def __init__(self, inputs, outputs):
        super().__init__(inputs, 10 * outputs)


nn.Linear = Wider


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 3)
