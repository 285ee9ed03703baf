"""Blocks that are made in every way there is, and models that contain them."""

import copy
import functools
from dataclasses import dataclass, field
from types import SimpleNamespace

import torch
from torch import nn


class Plain(nn.Module):
    def __init__(self, width, heads=2, *, bias=True, act=nn.GELU, **more):
        width = width * 1
        super().__init__()
        heads = None
        self.layer = nn.Linear(width, width, bias=bias)


class Child(Plain):
    def __init__(self, size, *sizes):
        super().__init__(size, heads=7)


class NoConstructor(Plain):
    pass


class New(nn.Module):
    def __new__(cls, width):
        made = super().__new__(cls)
        nn.Module.__init__(made)
        made.weight = nn.Parameter(torch.zeros(width))
        return made

    def __init__(self, width):
        pass


class Meta(type):
    def __call__(cls, *args, **kwargs):
        return super().__call__(*args, scale=3, **kwargs)


class Made(nn.Module, metaclass=Meta):
    def __init__(self, width, scale):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(width * scale))


@dataclass(eq=False)
class Data(nn.Module):
    width: int
    names: list = field(default_factory=list)
    bias: bool = True

    def __post_init__(self):
        super().__init__()
        self.layer = nn.Linear(self.width, 1, bias=self.bias)


def decorated(function):
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


class Decorated(nn.Module):
    @decorated
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(width))


class NoHash(nn.Module):
    __hash__ = None

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(width))

    def __eq__(self, other):
        raise TypeError("not to be compared")


class Again(nn.Module):
    def __init__(self, width):
        super().__init__()
        if width == 3:
            self.__init__(4)
            return
        self.weight = nn.Parameter(torch.zeros(width))


class Slotted:
    __slots__ = ("secret",)


class BadConfig:
    def __getattribute__(self, name):
        raise RuntimeError(name)


class Anything(nn.Module):
    def __init__(self, value):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))


class Fails(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = Plain(width)
        raise ValueError(width)


class Empty(nn.Module):
    pass


class Lazy(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width

    def build(self):
        self.layer = Plain(self.width)
        return self


class Layer(nn.Module):
    def __init__(self, width, depth=1):
        super().__init__()
        self.inner = Plain(width, heads=depth)


def make_local(width):
    class Local(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(size))

    return Local(width)


class Config(dict):
    __getattr__ = dict.get


class Model(nn.Module):
    """Contains them all."""

    def __init__(self):
        super().__init__()
        self.plain = nn.ModuleList([Plain(4) for _ in range(3)])
        self.other = Plain(4, 3, bias=False, act=nn.ReLU, rate=0.5)
        self.child = Child(5, 6, 7)
        self.many = Child(5, *range(9))
        self.none = NoConstructor(5)
        self.new, self.made = New(3), Made(3)
        self.data, self.decorated = Data(3, bias=False), Decorated(3)
        self.nohash, self.again = NoHash(3), Again(3)
        self.lazy = Lazy(6).build()
        self.local = make_local(2)
        self.shared = self.plain[0]
        self.first = Layer(3)
        layer = Layer(2, depth=9)
        self.layers = nn.ModuleDict({str(n): copy.deepcopy(layer) for n in range(2)})
        Plain(99)
        try:
            self.fails = Fails(4)
        except ValueError:
            pass
        values = [
            SimpleNamespace(width=3, _own=4), Config(a=1), BadConfig(), Slotted(), torch.float16,
            "x" * 999, [1, 2, (3,)], list(range(99)), {"a": None}, nn.Linear(1, 1), lambda: 3,
            functools.partial(nn.LayerNorm, eps=1e-6), torch.zeros(3), nn.ReLU, 10**300,
            [[[1, 2]], 3],
        ]  # fmt: skip
        self.anything = nn.Sequential(*map(Anything, values))
        for size, module in enumerate(self.anything):
            module.weight = nn.Parameter(torch.zeros(size))
        self.indexed = nn.ModuleList([Plain(1, number) for number in range(5)])
        self.empty = Empty()


class Patching(nn.Module):
    """Makes modules with a constructor of its own."""

    def __init__(self):
        original = nn.Module.__init__

        def patched(self, *args, **kwargs):
            original(self, *args, **kwargs)

        nn.Module.__init__ = patched
        super().__init__()
        self.plain = Plain(4)
        nn.Module.__init__ = original


class NoSuper(nn.Module):
    def __init__(self):
        self.__dict__["layer"] = Plain(3)


class Around(nn.Module):
    """Gets a block that whoever calls it makes."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner
