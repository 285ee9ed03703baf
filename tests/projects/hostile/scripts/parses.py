import argparse

from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("data")
parser.add_argument("files", nargs="+")
parser.add_argument("--name", required=True)
parser.add_argument("--width", type=int, default=3)
args = parser.parse_args()
print("reading", args.data.upper())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, args.width)
