"""Submodules or parameters are kept in a plain list, dict, tuple or set.

Found in the source, without building anything. PyTorch registers what is
assigned to an attribute and does not look into containers: `parameters()`
leaves the content out, so no optimiser trains it, `state_dict()` does not save
it, and `.to()` does not move it. NPL010 reports the same for the built model,
with the count. Appended elements, comprehensions, and local lists that are
assigned later are found too.

It is a warning, since the code runs and is sometimes intended. Not reported if

- the content may have no parameters: `nn.ReLU()`, a class from another file;
- the container or its content is passed to something that may register it
  (`nn.ModuleList(…)`, `nn.Sequential(*…)`, `add_module`, `setattr`, an unknown
  function), or is also an attribute of its own;
- the class itself defines its parameters (`parameters`, `state_dict`,
  `_apply`, …);
- a single module is only read as `self.teacher[0]`, which hides it on purpose,
  or the modules are made with `.eval()` or `.requires_grad_(False)`.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from typing import TYPE_CHECKING

from msgspec import Struct, field

from nparam_lint.discover.syntax import assigned
from nparam_lint.gate.rules import built, source
from nparam_lint.gate.rules.nodes import arguments, is_constant, put_into

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.gate.rules import Found
    from nparam_lint.gate.rules.source_file import Class, Method
    from nparam_lint.gate.rules.values import Made, Values

SEVERITY = "warning"
EXAMPLE_BAD = "self.blocks = [nn.Linear(64, 64) for _ in range(4)]"
EXAMPLE_GOOD = "self.blocks = nn.ModuleList(nn.Linear(64, 64) for _ in range(4))"
REMEDY = "Use `nn.ModuleList`, `nn.ModuleDict`, `nn.ParameterList` or `nn.ParameterDict`."

# A class with one of these defines its parameters itself.
_OVERRIDES = frozenset(
    """
    parameters named_parameters children named_children modules named_modules state_dict
    load_state_dict _apply apply to cuda __getattr__ __setattr__ trainable_parameters
    get_parameters param_groups
    """.split()
)
_STORING = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Call)
_REGISTERS = ("add_module", "register_module", "register_parameter", "__setattr__")


class _Store(Struct, frozen=True):
    """A value that an attribute gets; `whole`: the value is the container itself, not an
    element."""

    at: ast.expr
    value: ast.expr
    method: Method
    whole: bool


class _Attribute(Struct):
    """An attribute of a class. `kind`: of the plain container that it is, or ""; `unclear`: it is
    assigned something else too; `stores`: all that it is given, in order; `singles`: how often a
    container of one is assigned."""

    kind: str = ""
    unclear: bool = False
    stores: list[_Store] = field(default_factory=list)
    singles: int = 0

    def first(self, values: Values) -> tuple[_Store, Made] | None:
        """The first place where it gets something created only for it."""
        for store in self.stores if self.kind else ():
            # What is put into an attribute that may be an nn.ModuleList may be registered.
            if store.whole or not self.unclear:
                creation = values.fresh(store.value, store.method)
                if creation is not None:
                    return store, creation
        return None


def check(owner: Class, values: Values) -> Iterator[Found]:
    builders = [method for method in owner.methods.values() if not method.runs_forward]
    attributes = _attributes(builders, values)
    firsts = {name: first for name, a in attributes.items() if (first := a.first(values))}
    if not firsts or not _OVERRIDES.isdisjoint(owner.methods) or _registers_others(owner, values):
        return
    for name, (store, creation) in firsts.items():
        kind = attributes[name].kind
        if not _may_be_meant(owner, name, attributes[name].singles):
            better = f"nn.{creation.kind.capitalize()}{'Dict' if kind == 'dict' else 'List'}"
            yield (
                store.at,
                f"self.{name} keeps {creation.name} in a plain {kind}, where parameters() does not "
                "find it",
                f"make self.{name} an {better}",
            )


def _attributes(methods: list[Method], values: Values) -> dict[str, _Attribute]:
    """The attributes of a class, by what its methods store in them."""
    attributes: dict[str, _Attribute] = defaultdict(_Attribute)
    stores = ((m, node) for m in methods for node in m.nodes if node.__class__ in _STORING)
    for method, node in stores:
        for target, value in assigned(node):
            name = method.attribute(target)
            box = values.box(value, method) if name else None
            if box is not None:
                attribute = attributes[name]
                attribute.kind = attribute.kind or box[0]
                # `[X]` or `(X,)`
                attribute.singles += isinstance(value, (ast.List, ast.Tuple)) and len(box[1]) == 1
                attribute.stores.append(_Store(target, value, method, whole=True))
            elif name and not is_constant(value, None):
                attributes[name].unclear = True
        for holder, value in put_into(node):
            if name := method.attribute(holder):
                attributes[name].stores.append(_Store(holder, value, method, whole=False))
    return attributes


def _registers_others(owner: Class, values: Values) -> bool:
    """Does the class register values from elsewhere, as in `setattr(self, name, block)`? A value
    that is created in the call itself does not count."""
    for method in owner.methods.values():
        for call in method.calls:
            function = call.func
            is_setattr = isinstance(function, ast.Name) and function.id == "setattr"
            is_method = isinstance(function, ast.Attribute) and function.attr in _REGISTERS
            if is_setattr or is_method:
                value = next((value for _, value in reversed(arguments(call))), None)
                if value and not is_constant(value, None) and not values.made(value, method):
                    return True
    return False


def _may_be_meant(owner: Class, name: str, singles: int) -> bool:
    """Is the attribute given to something that may register it, or does it hide one module?"""
    attribute, uses, firsts = f"self.{name}", 0, 0
    for method in owner.methods.values():
        if not method.runs_forward and method.flow.handed_over(attribute):
            return True
        uses += method.flow.uses[attribute]
        firsts += method.flow.firsts[attribute]
    return 0 < firsts == uses - singles


VALID = (
    built("self.layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(n)])"),
    built("layers = [nn.Linear(2, 2)]\nself.layers = nn.ModuleList(layers)"),
    built("layers = []\nlayers.append(nn.Linear(2, 2))\nself.net = nn.Sequential(*layers)"),
    built("self.layers = [nn.Linear(2, 2)]\nself.net = nn.Sequential(*self.layers)"),
    built("self.layers = [nn.Linear(2, 2)]\nself.layers = nn.ModuleList(self.layers)"),
    *(
        built(f"self.d = {{}}\nself.d['a'] = nn.Linear(2, 2)\nself.net = {registered}")
        for registered in (
            "nn.ModuleList(list(self.d.values()))",
            "nn.ModuleList(self.d.values())",
            "nn.Sequential(*self.d.values())",
            "nn.Sequential(OrderedDict(self.d.items()))",
            "nn.Sequential(self.d['a'], nn.ReLU())",
            "nn.ModuleList([self.d['a']])",
            "nn.ModuleList([self.d[k] for k in self.d])",
        )
    ),
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
_KEPT = {
    built(
        "self.layers = [nn.Linear(2, 2) for _ in range(n)]"
    ): "6:9 self.layers keeps nn.Linear in a plain list",
    built(
        "self.layers = []\nfor _ in range(n):\n    self.layers.append(nn.Linear(2, 2))"
    ): "8:13 self.layers keeps nn.Linear in a plain list",
    built(
        """
        layers = []
        layers = layers + [nn.Linear(2, 2) for _ in range(n)]
        self.layers = layers
        self.count = len(layers)
        self.register_parameter("bias", None)
        """,
        "def forward(self, x):\n    return torch.stack(self.layers)",
    ): "8:9 self.layers keeps nn.Linear in a plain list",
    source(
        """
        def layer(n):
            return nn.Linear(n, n)
        class Net(nn.Module):
            def build(self):
                self.layers = (layer(2), layer(3))
        """
    ): "7:9 self.layers keeps nn.Linear in a plain tuple",
    built(
        "self.heads = {}\nself.heads[n] = nn.Conv2d(1, 1, 1)"
    ): "7:9 self.heads keeps nn.Conv2d in a plain dict",
    built(
        "self.heads = {k: nn.Linear(2, 2) for k in 'ab'}"
    ): "6:9 self.heads keeps nn.Linear in a plain dict",
    built(
        "self.heads = dict(a=nn.Linear(2, 2), b=None)"
    ): "6:9 self.heads keeps nn.Linear in a plain dict",
    built(
        "self.ws = tuple(nn.Parameter(torch.zeros(2)) for _ in range(n))"
    ): "6:9 self.ws keeps nn.Parameter in a plain tuple",
    built(
        "layers = []\nfor _ in range(n):\n    layers += [nn.ReLU(), nn.Linear(2, 2)]\n"
        "self.layers = layers"
    ): "9:9 self.layers keeps nn.Linear in a plain list",
    built(
        "layer = nn.Linear(2, 2).double()\nself.layers = [layer, nn.ReLU()]"
    ): "7:9 self.layers keeps nn.Linear in a plain list",
    built(
        "self.p = [(nn.ReLU(), nn.Sequential(nn.Linear(2, 2))) for _ in range(n)]"
    ): "6:9 self.p keeps nn.Sequential in a plain list",
    built(
        "self.layers = [nn.Linear(2, 2)] * 2 if n else None"
    ): "6:9 self.layers keeps nn.Linear in a plain list",
    built(
        "self.b = [self.block() for _ in range(n)]",
        "def block(self):\n    return nn.Sequential(nn.Conv2d(1, 1, 1), nn.ReLU())",
    ): "6:9 self.b keeps nn.Sequential in a plain list",
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
    ): "9:9 self.blocks keeps Block in a plain list",
}
INVALID = {case: f"{kept}, where parameters() does not find it" for case, kept in _KEPT.items()}
