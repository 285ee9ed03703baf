import nparam_no_such_package as pd
from torch import nn

frame = pd.read_csv("data.csv")
classes = frame["label"].nunique()


class Net(nn.Module):
    def __init__(self, width=3):
        super().__init__()
        self.layer = nn.Linear(2, width)


class OfClasses(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, classes)
