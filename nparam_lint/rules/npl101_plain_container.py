"""Submodules or parameters are kept in a plain list, dict, tuple or set.

Found in the source, without building anything. PyTorch registers what is
assigned to an attribute and does not look into containers: `parameters()`
leaves the content out, so that no optimiser trains it, `state_dict()` does not
save it, `.to()` does not move it. NPL010 says the same of the built model, with
the count. What is appended, comprehensions, and local lists that are assigned
later are found too.

A warning: the code runs, and sometimes it is intended. Not reported if

- the content may have no parameters: `nn.ReLU()`, a class of another file;
- the container or its content is passed to something that may register it
  (`nn.ModuleList(…)`, `nn.Sequential(*…)`, `add_module`, `setattr`, an unknown
  function), or is also an attribute of its own;
- the class defines what its parameters are (`parameters`, `state_dict`,
  `_apply`, …);
- a single module is only read as `self.teacher[0]`, which hides it on purpose,
  or the modules are made with `.eval()` or `.requires_grad_(False)`.

`nparam-lint --fix` makes the change where that is safe.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nparam_lint.rules.class_methods import (
    assigned,
    overrides_registration,
    put_into,
    registers_values,
)
from nparam_lint.rules.nodes import is_constant, statements
from nparam_lint.rules.rule import Invalid, Rule, Visitor, built, source
from nparam_lint.rules.values import Box, Contents, Made, Values

if TYPE_CHECKING:
    from nparam_lint.rules.class_methods import Class, Method
    from nparam_lint.rules.source_file import SourceFile

_BETTER = {
    ("module", "dict"): "nn.ModuleDict",
    ("module", "list"): "nn.ModuleList",
    ("parameter", "dict"): "nn.ParameterDict",
    ("parameter", "list"): "nn.ParameterList",
}


@dataclass(frozen=True, slots=True)
class _Store:
    """What an attribute is given; `whole`: as the container that it becomes."""

    at: ast.expr
    value: ast.expr
    method: Method
    whole: bool


class _Attributes:
    """The attributes of a class that are plain containers. `kinds`: which kind; `unclear`: those
    that are assigned something else too; `stores`: all that they are given, in order; `singles`:
    how often a container of one is assigned."""

    def __init__(self) -> None:
        self.kinds: dict[str, Box] = {}
        self.unclear: set[str] = set()
        self.stores: dict[str, list[_Store]] = defaultdict(list)
        self.singles: Counter[str] = Counter()


class PlainContainer(Visitor):
    def __init__(self, file: SourceFile) -> None:
        super().__init__(file)
        self.values = Values(file)
        self.contents = Contents(self.values)

    def visit_class(self, owner: Class) -> None:
        methods = [method for method in owner.methods.values() if not method.runs_forward]
        if not any(self._assigns_container(method) for method in methods):
            return
        attributes = _Attributes()
        for method in methods:
            for node in method.nodes:
                self._note(node, method, attributes)
        found = {
            name: first
            for name in attributes.kinds
            if (first := self._first(name, attributes)) is not None
        }
        if not found or overrides_registration(owner) or self._registers_others(owner):
            return
        for name, (store, made) in found.items():
            if _may_be_meant(owner, name, attributes.singles[name]):
                continue
            kind = attributes.kinds[name]
            message = (
                f"self.{name} keeps {made.name} in a plain {kind}, where parameters() does not "
                "find it"
            )
            better = _BETTER[made.kind, "dict" if kind == "dict" else "list"]
            self.report(store.at, message, f"make self.{name} an {better}", owner.qualname)

    def _assigns_container(self, method: Method) -> bool:
        return any(
            method.attribute(target) and self.contents.box(value, method) is not None
            for statement in statements(method.node.body)
            for target, value in assigned(statement)
        )

    def _note(self, node: ast.AST, method: Method, attributes: _Attributes) -> None:
        for target, value in assigned(node):
            name = method.attribute(target)
            box = self.contents.box(value, method) if name else None
            if box is not None:
                attributes.kinds.setdefault(name, box[0])
                attributes.singles[name] += _is_display(value) and len(box[1]) == 1
                attributes.stores[name].append(_Store(target, value, method, whole=True))
            elif name and not is_constant(value, None):
                attributes.unclear.add(name)
        for holder, value in put_into(node):
            if name := method.attribute(holder):
                attributes.stores[name].append(_Store(holder, value, method, whole=False))

    def _first(self, name: str, attributes: _Attributes) -> tuple[_Store, Made] | None:
        for store in attributes.stores[name]:
            # What is put into an attribute that may be an nn.ModuleList may be registered.
            if store.whole or name not in attributes.unclear:
                made = self.contents.fresh(store.value, store.method)
                if made is not None:
                    return store, made
        return None

    def _registers_others(self, owner: Class) -> bool:
        return registers_values(
            owner, lambda node, method: self.values.made(node, method) is not None
        )


def _is_display(value: ast.expr) -> bool:
    """`[X]` or `(X,)`"""
    return isinstance(value, (ast.List, ast.Tuple))


def _may_be_meant(owner: Class, name: str, singles: int) -> bool:
    """Is the attribute given to something that may register it, or does it hide one module?"""
    attribute, found, hidden = f"self.{name}", 0, 0
    for method in owner.methods.values():
        if not method.runs_forward and method.flow.handed_over(attribute):
            return True
        found += method.flow.uses[attribute]
        hidden += method.flow.firsts[attribute]
    return 0 < hidden == found - singles


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

RULE = Rule(
    __name__,
    __doc__,
    severity="warning",
    example_bad="self.blocks = [nn.Linear(64, 64) for _ in range(4)]",
    example_good="self.blocks = nn.ModuleList(nn.Linear(64, 64) for _ in range(4))",
    remedy="Use `nn.ModuleList`, `nn.ModuleDict`, `nn.ParameterList` or `nn.ParameterDict`.",
    visitor=PlainContainer,
    valid=VALID,
    invalid=INVALID,
)
