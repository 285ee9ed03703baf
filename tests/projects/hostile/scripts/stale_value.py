from torch import nn

WIDTH = 3


class Config:
    width = 3

    def load(self, width):
        self.width = width


CONFIG = Config()


def search():
    return 30


def setup():
    global WIDTH
    WIDTH = search()


def configure(config):
    config.width = search()


def train():
    raise RuntimeError("nobody trains here")


WIDTH = search()
train()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, WIDTH)


class Free(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 3)
