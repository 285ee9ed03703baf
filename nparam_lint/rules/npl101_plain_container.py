"""Submodules or parameters that are kept in a plain list, dict, tuple or set.

`nn.Module` registers what is assigned to an attribute; it does not look into containers. What they
hold is missing from `parameters()`, so that no optimiser trains it, from `state_dict()`, so that it
is not saved, and from every count; `.to(device)` leaves it where it is.

A warning: the code runs, and now and then it is meant. No finding where something may register the
content after all (the container, or what is in it, is given to `nn.ModuleList`, `add_module`,
`setattr` or to a function that is not known), where the class says itself what its parameters are
(it defines `parameters`, `_apply`, …), where a single module is wrapped and only read as
`self.teacher[0]`, which hides it on purpose, and for modules that are not known to have parameters.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from nparam_lint.rules.classes import assigned, put_into
from nparam_lint.rules.contents import Contents
from nparam_lint.rules.rule_cases import Invalid, built, source
from nparam_lint.rules.uses import handed_over, is_name, overrides_registration, registers_values
from nparam_lint.rules.values import Box, Made, Values
from nparam_lint.rules.walk import Visitor, nodes

if TYPE_CHECKING:
    from nparam_lint.rules.classes import Class, Method
    from nparam_lint.rules.source import SourceFile
    from nparam_lint.rules.uses import Test

CODE = "NPL101"

VALID = (
    built("self.layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(n)])"),
    built("layers = [nn.Linear(2, 2)]\nself.layers = nn.ModuleList(layers)"),
    built("layers = []\nlayers.append(nn.Linear(2, 2))\nself.net = nn.Sequential(*layers)"),
    built("self.layers = [nn.Linear(2, 2)]\nself.net = nn.Sequential(*self.layers)"),
    built("self.layers = [nn.Linear(2, 2)]\nself.layers = nn.ModuleList(self.layers)"),
    built("self.a = nn.Linear(2, 2)\nself.b = nn.Linear(2, 2)\nself.layers = [self.a, self.b]"),
    built("self.a, self.b = [nn.Linear(2, 2) for _ in range(2)]"),
    built(
        """
        self.layers = []
        for i in range(n):
            layer = nn.Linear(2, 2)
            self.add_module(f"layer{i}", layer)
            self.layers.append(layer)
        """
    ),
    built(
        """
        self.layers = [nn.Linear(2, 2) for _ in range(n)]
        for i, layer in enumerate(self.layers):
            setattr(self, f"layer{i}", layer)
        """
    ),
    built(
        """
        self.plain = []
        self.registered = nn.ModuleList()
        layer = nn.Linear(2, 2)
        self.plain.append(layer)
        self.registered.append(layer)
        """
    ),
    built(
        """
        self.layers = [nn.Linear(2, 2) for _ in range(n)]
        self.net = nn.Sequential()
        for layer in self.layers:
            self.net.append(layer)
        """
    ),
    built(
        """
        self.layers = [nn.Linear(2, 2) for _ in range(n)]
        for i in range(n):
            setattr(self, f"layer{i}", self.layers[i])
        """
    ),
    built("layers = [nn.Linear(2, 2)]\nself.layers = layers\nregister(self, layers)"),
    built(
        """
        self.layers = nn.ModuleList()
        if n > 9:
            self.layers = []
        self.layers.append(nn.Linear(2, 2))
        """
    ),
    built("self.activations = [nn.ReLU(), nn.Tanh()]"),  # no parameters
    built("self.norms = [nn.LayerNorm(n, elementwise_affine=False)]"),
    built("self.kinds = {'linear': nn.Linear, 'conv': lambda: nn.Conv2d(1, 1, 1)}"),
    built("self.act = {'relu': nn.ReLU(), 'prelu': nn.PReLU()}['prelu']"),
    built("self.sizes = [layer.in_features for layer in (nn.Linear(2, 2),)]"),
    built("self.blocks = [block for block in n]"),
    built("self.heads = nn.ModuleDict()\nself.heads['a'] = nn.Linear(2, 2)"),
    built(
        "self.teacher = [nn.Linear(2, 2)]", "def forward(self, x):\n    return self.teacher[0](x)"
    ),
    built(
        "self.teacher = [n]",
        "def load(self):\n    self.teacher = [nn.Linear(self.teacher[0].n, 2)]",
    ),
    built("layers = []\nlayers = layers + [layers]\nself.layers = [layers]"),
    built("self.teachers = [nn.Linear(2, 2).eval(), nn.Linear(2, 2).requires_grad_(False)]"),
    built(
        "self.layers = [nn.Linear(2, 2)]",
        "def parameters(self):\n    return self.layers[0].parameters()",
    ),
    built("self.layers = [nn.Linear(2, 2), nn.Linear(2, 2)]\nregister(self, self.layers)"),
    built(
        "self.n = n",
        "@staticmethod\ndef fill(self):\n    self.layers = [nn.Linear(2, 2), nn.Linear(2, 2)]",
    ),
    built(
        "self.layers = None",
        "def forward(self, x):\n    self.layers = [nn.Linear(2, 2)]\n"
        "    self.net = nn.Sequential(*self.layers)",
    ),
    source(
        """
        from torch.nn import Linear
        class Net(nn.Module):
            def build(self, Linear):
                self.layers = [Linear(2, 2), Linear(2, 2)]
        """
    ),
    source(
        """
        def layer(n):
            if n:
                return nn.Linear(n, n)
            return nn.Identity()
        class Lazy(nn.Module):
            def forward(self, x):
                if self.fc is None:
                    self.fc = nn.Linear(2, 2)
                return self.fc(x)
        class Net(nn.Module):
            def build(self):
                self.layers = [layer(n) for n in range(2)]
                self.blocks = [Lazy(), Lazy()]
        """
    ),
    source("class Plain:\n    def __init__(self):\n        self.layers = [nn.Linear(2, 2)]"),
    source(
        "import flax.linen as nn\nclass Net(nn.Module):\n    def setup(self):\n"
        "        self.layers = [nn.Dense(2)]"
    ),
)
INVALID: tuple[Invalid, ...] = (
    (
        built("self.layers = [nn.Linear(2, 2) for _ in range(n)]"),
        ("6:9 self.layers keeps nn.Linear in a plain list, where parameters() does not find it",),
    ),
    (
        built("self.layers = []\nfor _ in range(n):\n    self.layers.append(nn.Linear(2, 2))"),
        ("8:13 self.layers keeps nn.Linear in a plain list, where parameters() does not find it",),
    ),
    (
        built(
            """
            layers = []
            layers = layers + [nn.Linear(2, 2) for _ in range(n)]
            self.layers = layers
            self.count = len(layers)
            self.register_parameter("bias", None)
            """,
            "def forward(self, x):\n    return torch.stack(self.layers)",
        ),
        ("8:9 self.layers keeps nn.Linear in a plain list, where parameters() does not find it",),
    ),
    (
        source(
            """
            def layer(n):
                return nn.Linear(n, n)
            class Net(nn.Module):
                def build(self):
                    self.layers = (layer(2), layer(3))
            """
        ),
        ("7:9 self.layers keeps nn.Linear in a plain tuple, where parameters() does not find it",),
    ),
    (
        built("self.heads = {}\nself.heads[n] = nn.Conv2d(1, 1, 1)"),
        ("7:9 self.heads keeps nn.Conv2d in a plain dict, where parameters() does not find it",),
    ),
    (
        built("self.heads = {k: nn.Linear(2, 2) for k in 'ab'}"),
        ("6:9 self.heads keeps nn.Linear in a plain dict, where parameters() does not find it",),
    ),
    (
        built("self.heads = dict(a=nn.Linear(2, 2), b=None)"),
        ("6:9 self.heads keeps nn.Linear in a plain dict, where parameters() does not find it",),
    ),
    (
        built("self.ws = tuple(nn.Parameter(torch.zeros(2)) for _ in range(n))"),
        ("6:9 self.ws keeps nn.Parameter in a plain tuple, where parameters() does not find it",),
    ),
    (
        built(
            "layers = []\nfor _ in range(n):\n    layers += [nn.ReLU(), nn.Linear(2, 2)]\n"
            "self.layers = layers"
        ),
        ("9:9 self.layers keeps nn.Linear in a plain list, where parameters() does not find it",),
    ),
    (
        built("layer = nn.Linear(2, 2).double()\nself.layers = [layer, nn.ReLU()]"),
        ("7:9 self.layers keeps nn.Linear in a plain list, where parameters() does not find it",),
    ),
    (
        built("self.p = [(nn.ReLU(), nn.Sequential(nn.Linear(2, 2))) for _ in range(n)]"),
        ("6:9 self.p keeps nn.Sequential in a plain list, where parameters() does not find it",),
    ),
    (
        built("self.layers = [nn.Linear(2, 2)] * 2 if n else None"),
        ("6:9 self.layers keeps nn.Linear in a plain list, where parameters() does not find it",),
    ),
    (
        built(
            "self.b = [self.block() for _ in range(n)]",
            "def block(self):\n    return nn.Sequential(nn.Conv2d(1, 1, 1), nn.ReLU())",
        ),
        ("6:9 self.b keeps nn.Sequential in a plain list, where parameters() does not find it",),
    ),
    (
        source(
            """
            class Block(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.fc = nn.Linear(2, 2)
            class Net(nn.Module):
                def build(self):
                    self.blocks: list[Block] = [Block(), Block()]
            """
        ),
        ("9:9 self.blocks keeps Block in a plain list, where parameters() does not find it",),
    ),
)

_BETTER = {
    ("module", "dict"): "nn.ModuleDict",
    ("module", "list"): "nn.ModuleList",
    ("parameter", "dict"): "nn.ParameterDict",
    ("parameter", "list"): "nn.ParameterList",
}


@dataclass(frozen=True, slots=True)
class _Store:
    """What an attribute is given; `whole`: as the container that it becomes."""

    at: cst.CSTNode
    value: cst.BaseExpression
    method: Method
    whole: bool


class Rule(Visitor):
    def __init__(self, file: SourceFile) -> None:
        super().__init__(file)
        self.values = Values(file)
        self.contents = Contents(self.values)

    def enter_class(self) -> None:
        self.kinds: dict[str, Box] = {}
        self.unclear: set[str] = set()
        self.stores: dict[str, list[_Store]] = defaultdict(list)
        self.singles: Counter[str] = Counter()  # assignments of a container of one

    def visit_Assign(self, node: cst.Assign | cst.AnnAssign, method: Method) -> None:
        for target, value in assigned(node):
            self._assigned(target, value, method)
        self._put(node, method)

    visit_AnnAssign = visit_Assign

    def visit_AugAssign(self, node: cst.AugAssign, method: Method) -> None:
        self._put(node, method)

    def visit_Call(self, node: cst.Call, method: Method) -> None:
        self._put(node, method)

    def _assigned(self, target: cst.CSTNode, value: cst.BaseExpression, method: Method) -> None:
        name = method.attribute(target)
        if not name or method.runs_forward:
            return
        box = self.contents.box(value, method)
        if box is not None:
            self.kinds.setdefault(name, box[0])
            self.singles[name] += isinstance(value, (cst.List, cst.Tuple)) and len(box[1]) == 1
            self.stores[name].append(_Store(target, value, method, whole=True))
        elif not is_name("None")(value):
            self.unclear.add(name)

    def _put(self, node: cst.CSTNode, method: Method) -> None:
        for holder, value in put_into(node):
            name = method.attribute(holder)
            if name and not method.runs_forward:
                self.stores[name].append(_Store(holder, value, method, whole=False))

    def leave_class(self, owner: Class) -> None:
        found = {
            name: first
            for name, stores in self.stores.items()
            if name in self.kinds and (first := self._first(name, stores)) is not None
        }
        if not found or overrides_registration(owner) or self._registers_others(owner):
            return
        for name, (store, made) in found.items():
            if self._may_be_meant(owner, name):
                continue
            kind = self.kinds[name]
            message = (
                f"self.{name} keeps {made.name} in a plain {kind}, where parameters() does not "
                "find it"
            )
            better = _BETTER[made.kind, "dict" if kind == "dict" else "list"]
            remedy = f"make self.{name} an {better}"
            self.report(store.at, message, remedy, owner.qualname)

    def _first(self, name: str, stores: list[_Store]) -> tuple[_Store, Made] | None:
        for store in stores:
            # What is put into an attribute that may be an nn.ModuleList may be registered.
            if store.whole or name not in self.unclear:
                made = self.contents.fresh(store.value, store.method)
                if made is not None:
                    return store, made
        return None

    def _registers_others(self, owner: Class) -> bool:
        return registers_values(
            owner, lambda node, method: self.values.made(node, method) is not None
        )

    def _may_be_meant(self, owner: Class, name: str) -> bool:
        """Is the attribute given to something that may register it, or does it hide one module?"""
        found = hidden = 0
        for method in owner.methods.values():
            body = method.node.body

            def is_it(node: cst.CSTNode, method: Method = method) -> bool:
                return method.attribute(node) == name

            if not method.runs_forward and handed_over(body, is_it):
                return True
            found += sum(is_it(node) for node in nodes(body))
            hidden += sum(_first_of(node, is_it) for node in nodes(body))
        return 0 < hidden == found - self.singles[name]


def _first_of(node: cst.CSTNode, is_it: Test) -> bool:
    """`self.name[0]`"""
    if not isinstance(node, cst.Subscript) or not is_it(node.value) or len(node.slice) != 1:
        return False
    index = node.slice[0].slice
    return (
        isinstance(index, cst.Index)
        and isinstance(index.value, cst.Integer)
        and index.value.value == "0"
    )
