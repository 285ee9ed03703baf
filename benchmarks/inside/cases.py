"""Small models that tools count wrong. The budget of each, derived by hand, counts every distinct
parameter once. They are built with their defaults.
"""

import torch
from torch import nn


class TiedHead(nn.Module):
    """The head takes the embedding's weight: 100*16, once.

    nparam: 1_600
    """

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(100, 16)
        self.head = nn.Linear(16, 100, bias=False)
        self.head.weight = self.embedding.weight


class TiedEmbedding(nn.Module):
    """The embedding takes the head's weight: 100*16, once.

    nparam: 1_600
    """

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(100, 16)
        self.head = nn.Linear(16, 100, bias=False)
        self.embedding.weight = self.head.weight


class TiedByData(nn.Module):
    """Two parameters, one storage: two parameters, 2*100*16.

    nparam: 3_200
    """

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(100, 16)
        self.head = nn.Linear(16, 100, bias=False)
        self.head.weight.data = self.embedding.weight.data


class TwoNames(nn.Module):
    """One layer under two names: 8*8 + 8.

    nparam: 72
    """

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.second = self.first


class Repeated(nn.Module):
    """`[layer] * 4`: one layer, 8*8 + 8.

    nparam: 72
    """

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*[nn.Linear(8, 8)] * 4)


class Leaf(nn.Module):
    """A layer that is given, and a bias of its own. It is counted as a part of `TwoParents`."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer
        self.bias = nn.Parameter(torch.zeros(8))


class TwoParents(nn.Module):
    """One layer under two parents: 8*8 + 8, and 2*8 for the parents' biases.

    nparam: 88
    """

    def __init__(self):
        super().__init__()
        layer = nn.Linear(8, 8)
        self.left, self.right = Leaf(layer), Leaf(layer)


class Child(nn.Module):
    """Holds its parent. It is counted as a part of `Cycle`."""

    def __init__(self, parent):
        super().__init__()
        self.parent = parent
        self.layer = nn.Linear(8, 8)


class Cycle(nn.Module):
    """A child that holds its parent: 2*(8*8 + 8).

    nparam: 144
    """

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.child = Child(self)


class OwnParameter(nn.Module):
    """A parameter of the root beside a layer: 8 + 8*8 + 8.

    nparam: 80
    """

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(8))
        self.layer = nn.Linear(8, 8)


class Lists(nn.Module):
    """Parameters in lists and dicts, nested: 3*4 + 2*5.

    nparam: 22
    """

    def __init__(self):
        super().__init__()
        rows = nn.ParameterList(nn.Parameter(torch.zeros(4)) for _ in range(3))
        self.groups = nn.ModuleList([rows])
        self.named = nn.ParameterDict({name: nn.Parameter(torch.zeros(5)) for name in "ab"})


class HiddenList(nn.Module):
    """Layers in a plain list are no parameters of the model (72 are; 2*72 are hidden).

    nparam: 72
    """

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.hidden = [nn.Linear(8, 8), nn.Linear(8, 8)]


class View(nn.Module):
    """A parameter that is a view of another: 10*4 + 2*4.

    nparam: 48
    """

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(10, 4))
        self.head = nn.Parameter(self.table.data[:2])


class OwnMethod(nn.Module):
    """`parameters` returns what is trained in the second stage; the model has 2*(8*8 + 8).

    nparam: 144
    """

    def __init__(self):
        super().__init__()
        self.backbone, self.head = nn.Linear(8, 8), nn.Linear(8, 8)

    def parameters(self, recurse=True):
        return self.head.parameters(recurse)


class Normed(nn.Module):
    """Weight norm makes two parameters of one: 16*8 + 16 + 16.

    nparam: 160
    """

    def __init__(self):
        super().__init__()
        self.layer = nn.utils.parametrizations.weight_norm(nn.Linear(8, 16))


class Experts(nn.Module):
    """Experts as one tensor of three dimensions, and a router: 4*8*16 + 4*8.

    nparam: 544
    """

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(4, 8, 16))
        self.router = nn.Linear(8, 4, bias=False)


class CrossAttention(nn.Module):
    """Keys and values of other widths: 16*(16 + 8 + 8) + 3*16 + 16*16 + 16.

    nparam: 832
    """

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(16, 2, kdim=8, vdim=8)


class Frozen(nn.Module):
    """What is frozen counts, and so does what `forward` never uses: 2*(8*8 + 8).

    nparam: 144
    """

    def __init__(self):
        super().__init__()
        self.backbone = nn.Linear(8, 8).requires_grad_(False)
        self.unused = nn.Linear(8, 8)

    def forward(self, x):
        return self.backbone(x)
