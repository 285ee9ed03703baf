import signal
import time

from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 3)


class Loops(Net):
    def __init__(self):
        while True:
            pass


class IgnoresSignals(Net):
    def __init__(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
            signal.signal(number, signal.SIG_IGN)
        while True:
            time.sleep(0.1)
