"""What a module holds beside its parameters is looked through without running any of it."""

from collections.abc import Iterable

import pytest
from worker_runs import Run, make_orders, run

SOURCE = '''
import collections, contextvars, dataclasses, functools, itertools, threading, types, weakref
import unittest.mock
import torch
from torch import nn

class Silent:
    """Nobody may ask it anything."""
    def __getattribute__(self, name):
        raise RuntimeError(name)
    __iter__ = __len__ = __bool__ = __eq__ = __hash__ = __getattribute__

class Lying(Silent):
    __class__ = nn.Linear

class Dictionary(dict):
    def values(self):
        raise KeyError("lazy")
    __iter__ = __len__ = items = keys = values

class Tuple(tuple):
    def __len__(self):
        raise NotImplementedError

class List(list):
    def __iter__(self):
        while True:
            yield 0
    def __len__(self):
        raise SystemExit

class Meta(type):
    def __eq__(cls, other):
        raise RuntimeError
    __hash__ = None
    __name__ = __mro__ = __module__ = property(__eq__)
    __instancecheck__ = __subclasscheck__ = __eq__

class Unnamed(metaclass=Meta):
    def __init__(self):
        self.layer = nn.Linear(2, 2)

class Tensor(torch.Tensor):
    @classmethod
    def __torch_function__(cls, *args, **kwargs):
        raise RuntimeError
    def __getattr__(self, name):
        raise RuntimeError(name)

class Slots:
    __slots__ = ("layer", "unset", "parent")
    def __init__(self):
        self.parent, self.layer = self, nn.Linear(2, 2)

@dataclasses.dataclass
class Data:
    layer: nn.Module

class Shared:
    layer = nn.Linear(2, 2)

class Heir(Shared):
    pass

def closure(layer):
    return lambda x: layer(x)

def default(x, layer=nn.Linear(2, 2)):
    return layer(x)

def generator(layer):
    while True:
        yield layer

def deep(value):
    for _ in range(5000):
        value = [value]
    return value

class Net(nn.Module):
    def __init__(self, *holds):
        super().__init__()
        self.a = nn.Linear(1, 1)
        for number, hold in enumerate(holds):
            object.__setattr__(self, f"held{number}", hold(nn.Linear(2, 2)))

class ClassAttribute(nn.Module):
    held = nn.Linear(2, 2)

class Hook(nn.Linear):
    def __init__(self):
        super().__init__(1, 1)
        layer = nn.Linear(2, 2)
        self.register_forward_hook(lambda *args: layer(args[1]))

class Endless(nn.Linear):
    def parameters(self, recurse=True):
        while True:
            yield self.weight

class Given(nn.Linear):
    def __init__(self, given, d=1):
        super().__init__(d, d)

class Back(nn.Linear):
    def __init__(self):
        super().__init__(1, 1)
        self.child = nn.Linear(1, 1)
        object.__setattr__(self.child, "parent", weakref.proxy(self))

class Matrices(nn.Module):
    def __init__(self):
        super().__init__()
        self.csr = nn.Parameter(torch.eye(4).to_sparse_csr())
        self.coo = nn.Parameter(torch.eye(3).to_sparse())
        parts = [torch.zeros(2), torch.zeros(3)]
        self.ragged = nn.Parameter(torch.nested.nested_tensor(parts))
        self.register_buffer("jagged", torch.nested.nested_tensor(parts, layout=torch.jagged))
'''
# What is held → the type that is told. Each hides nn.Linear(2, 2).
FOUND = {
    "Dictionary(a=layer)": "Dictionary",
    "Tuple([layer])": "Tuple",
    "List([layer])": "List",
    "[{1: (layer, {2})}]": "list",
    "collections.deque([layer])": "deque",
    "collections.ChainMap({}, {'a': layer})": "ChainMap",
    "types.MappingProxyType({'a': layer})": "mappingproxy",
    "types.SimpleNamespace(a=[layer])": "SimpleNamespace",
    "itertools.chain([layer])": "chain",
    "functools.partial(print, key=layer)": "partial",
    "contextvars.ContextVar('v', default=layer)": "ContextVar",
    "torch.optim.SGD(layer.parameters(), 1.0)": "SGD",
    "torch.distributions.Normal(layer.weight, layer.weight, False), layer.bias": "tuple",
    "layer.forward": "method",
    "lambda x: layer(x)": "function",
    "[p.requires_grad_(False) for p in layer.parameters()]": "list",
    "deep(layer)": "list",
    "default": "function",
    "Data(layer)": "Data",
    "Slots()": "Slots",
    "Unnamed()": "Unnamed",
    "Shared": "type",
}
NOTHING = (
    "Silent()",
    "Lying()",
    "Unnamed",
    "unittest.mock.Mock(spec=nn.Linear)",
    "unittest.mock.create_autospec(nn.Linear)",
    "weakref.proxy(layer)",
    "weakref.WeakValueDictionary({1: layer})",
    "torch.zeros(3).as_subclass(Tensor)",
    "itertools.count()",
    "threading.Lock()",
    "torch",
    "__import__('os').environ",
)
# The whole count of other models, and (path, count, what) of what each hides.
OTHERS = {
    "ClassAttribute()": (0, [("held", 6, "Linear")]),
    "Net(lambda layer: Heir())": (2, [("held0", 6, "Heir")]),
    "Hook()": (2, [("_forward_hooks", 6, "OrderedDict")]),
    "Endless(1, 1)": (2, [("", 1, "overridden parameters()")]),
    "Back()": (4, []),
    "Matrices()": (16 + 9 + 5, []),
}
MANY = "Net(lambda layer: [[] for _ in range(200_000)])"


# Arguments, and what a formula may name of each.
GIVEN = {
    "Silent()": {"d": 1},
    "Lying()": {"d": 1},
    "Dictionary(a=7)": {"d": 1, "given['a']": 7},
    "List([7])": {"d": 1, "given[0]": 7},
    "Tuple([7])": {"d": 1, "given[0]": 7},
}


def net(held: Iterable[str]) -> str:
    return f"Net({', '.join(f'lambda layer: ({one})' for one in held)})"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Run:
    root = tmp_path_factory.mktemp("hidden")
    (root / "m.py").write_text(SOURCE)
    calls = [net(FOUND), net(NOTHING), *OTHERS, MANY, *(f"Given({one})" for one in GIVEN)]
    names = tuple({name for values in GIVEN.values() for name in values})
    return run(root, make_orders(root, [f"m.py::{call}" for call in calls], names=names))


def test_it_is_found_behind_what_holds_it(built: Run) -> None:
    model = built.measured(f"m.py::{net(FOUND)}")
    expected = {(f"held{number}", 6, what) for number, what in enumerate(FOUND.values())}
    assert {(h.path, h.count, h.what) for h in model.hidden} == expected
    assert (model.counts.total, model.notes) == (2, ())


def test_nothing_is_found_and_the_model_is_counted(built: Run) -> None:
    model = built.measured(f"m.py::{net(NOTHING)}")
    assert (model.counts.total, model.hidden, model.notes) == (2, (), ())


@pytest.mark.parametrize("call", OTHERS)
def test_other_models(built: Run, call: str) -> None:
    model = built.measured(f"m.py::{call}")
    hidden = [(h.path, h.count, h.what) for h in model.hidden]
    assert (model.counts.total, hidden) == OTHERS[call]


def test_matrices_that_are_not_stored_whole_are_told(built: Run) -> None:
    model = built.measured("m.py::Matrices()")
    assert model.notes == (
        "csr: sparse_csr: counted by its shape, whatever is stored of it",
        "coo: sparse_coo: counted by its shape, whatever is stored of it",
    )
    assert model.counts.buffers == 5


def test_what_is_not_searched_is_told(built: Run) -> None:
    text = "hidden parameters were looked for in 200,000 objects that it holds, not in the rest"
    assert built.measured(f"m.py::{MANY}").notes == (text,)


@pytest.mark.parametrize("given", GIVEN)
def test_an_argument_is_asked_nothing_either(built: Run, given: str) -> None:
    model = built.measured(f"m.py::Given({given})")
    assert (model.counts.total, model.names) == (2, GIVEN[given])
