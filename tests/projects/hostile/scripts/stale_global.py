from torch import nn

WIDTH = 3


def search():
    return 30


def setup():
    global WIDTH
    WIDTH = search()


def train():
    raise RuntimeError("nobody trains here")


setup()
train()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, WIDTH)


class Free(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 3)
