"""What each line makes of `net.py::Net` stands at its end, as `annotate` prints it."""

import copy

import torch
import torch.nn as nn


def linear(a, b):
    return nn.Linear(a, b)  # 18× 1,134


def clones(module, times):
    return nn.ModuleList([copy.deepcopy(module) for _ in range(times)])


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.qkv = linear(d, 2 * d)  # 9× (756)
        self.proj = linear(d, d)  # 9× (378)
        self.scale = nn.Parameter(torch.ones(d))  # 9× 54


class Base(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.stem = nn.Linear(1, d)  # 12
        self.make(d)  # 2

    def make(self, d):
        raise NotImplementedError
