"""`super().__init__()` is missing, or comes too late.

Found in the source, without building anything. `nn.Module.__init__` creates the
tables in which modules and parameters are registered. Assigning a module or
parameter before it raises AttributeError; without it, the first call of the
model raises the error.

It is an error, since such code cannot run. Plain values may be assigned before.
A class that assigns nothing else is reported only if it defines `forward`,
since only its call is sure to fail. Not reported if

- it was built, by itself or inside another model;
- a base is in another file, and is none of `torch.nn`: it is not read;
- something that it calls may initialise the module: an inherited method, a
  helper, a function that gets `self`, any `__init__` of a base;
- `self.__dict__` is replaced;
- the class has `__new__`, `__setattr__`, a metaclass or an unknown decorator;
- its `__init__` is called by name in the file, after that of another base.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from nparam_lint.discover.syntax import FUNCTIONS, assigned
from nparam_lint.gate.rules import built, source
from nparam_lint.gate.rules.nodes import arguments, nodes, plain_name
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.gate.rules import Found
    from nparam_lint.gate.rules.source_file import Class, Method, SourceFile
    from nparam_lint.gate.rules.values import Values

EXAMPLE_BAD = """\
class Net(nn.Module):
    def __init__(self):
        self.fc = nn.Linear(784, 10)
        super().__init__()"""
EXAMPLE_GOOD = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(784, 10)"""
REMEDY = "Call `super().__init__()` first."

_WHAT_TO_DO = "call super().__init__() first"
# Methods of nn.Module that need what its __init__ creates.
_NEEDS_INIT = frozenset("register_buffer register_parameter register_module add_module".split())
_HARMLESS = frozenset(
    "isinstance hasattr getattr setattr delattr type id len vars str repr print callable".split()
)
_REPLACES = frozenset("__new__ __setattr__ __getattr__ __init_subclass__".split())
_HARMLESS_DECORATOR = late_pattern(r"regist|final$|export|deprecated|overload")


def check(owner: Class, values: Values) -> Iterator[Found]:
    fault = _fault(owner, values)
    if fault is not None and not _is_special(owner, values.file):
        yield fault


def _fault(owner: Class, values: Values) -> Found | None:
    """What is wrong, if `__init__` is all that could initialise the module."""
    method = owner.methods.get("__init__")
    if method is None or method.node.decorator_list:
        return None
    early: tuple[ast.expr, str, str] | None = None
    acts = False
    verdicts: dict[Method, bool] = {}
    for node in nodes(method.node.body, skip=(*FUNCTIONS, ast.Lambda)):
        if _may_initialise(node, method, verdicts):
            return (early[0], early[1], _WHAT_TO_DO) if early is not None else None
        early = early or _early(node, method, values)
        acts |= any(method.attribute(target) for target, _ in assigned(node))
        acts |= isinstance(node, ast.Call) and method.attribute(node.func) in owner.methods
    if not early and not (acts and "forward" in owner.methods):
        return None
    message = f"{owner.qualname}.__init__ never calls super().__init__()"
    return method.node, message + (early[2] if early else ""), _WHAT_TO_DO


def _is_special(owner: Class, file: SourceFile) -> bool:
    """May the module be initialised in a way that `__init__` does not show?"""
    family = file.family(owner.qualname)
    decorators = (item for member in family for item in member.node.decorator_list)
    names = (plain_name(d.func if isinstance(d, ast.Call) else d) for d in decorators)
    return (
        not file.inherits_from_torch(owner.qualname)
        or any(name.endswith(owner.node.name) for name in file.called_inits)
        or any(not _REPLACES.isdisjoint(m.methods) or m.node.keywords for m in family)
        or not all(map(_HARMLESS_DECORATOR.search, names))
    )


def _early(node: ast.AST, method: Method, values: Values) -> tuple[ast.expr, str, str] | None:
    """What fails before `Module.__init__`: where, and how to say so with and without it."""
    for target, value in assigned(node):
        name = method.attribute(target)
        creation = values.made(value, method) if name else None
        if creation is not None:
            what = f"self.{name} is assigned {creation.name} before super().__init__() is called"
            return target, what, f", and assigns {creation.name} to self.{name}"
    if isinstance(node, ast.Call) and method.attribute(node.func) in _NEEDS_INIT:
        name = f"self.{method.attribute(node.func)}()"
        return node, f"{name} is called before super().__init__()", f", and calls {name}"
    return None


def _may_initialise(node: ast.AST, method: Method, verdicts: dict[Method, bool]) -> bool:
    """May `Module.__init__` be called by this? `verdicts`: the methods that were looked at."""
    if isinstance(node, ast.Attribute) and node.attr in ("__init__", "__dict__"):
        return True
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Call):
        return plain_name(function.value.func) == "super"
    name = method.attribute(function)
    if not name:
        callee = plain_name(function)
        gets_self = any(
            isinstance(value, ast.Name) and value.id == method.self_name
            for _, value in arguments(node)
        )
        return callee in ("exec", "eval") or (gets_self and callee not in (*_HARMLESS, "super"))
    helper = method.sibling(name)
    if name in _NEEDS_INIT or helper is None:  # None: it is inherited
        return name not in _NEEDS_INIT
    if helper not in verdicts:
        verdicts[helper] = False  # until its body says otherwise: it may call itself
        verdicts[helper] = any(_may_initialise(inner, helper, verdicts) for inner in helper.nodes)
    return verdicts[helper]


def _net(body: str, more: str = "") -> str:
    return source(f"class Net(nn.Module):\n    def __init__(self, n=2):\n{body}\n{more}")


VALID = (
    built("self.fc = nn.Linear(2, 2)"),
    _net("        self.n = n\n        super().__init__()\n        self.fc = nn.Linear(n, n)"),
    _net("        nn.Module.__init__(self)\n        self.fc = nn.Linear(n, n)"),
    _net("        super(Net, self).__init__()\n        self.fc = nn.Linear(n, n)"),
    _net(
        "        self.start()\n        self.fc = nn.Linear(n, n)",
        "    def start(self):\n        super().__init__()",
    ),
    _net("        initialise(self)\n        self.fc = nn.Linear(n, n)"),
    _net("        layer = nn.Linear(n, n)\n        super().__init__()\n        self.fc = layer"),
    _net(
        "        for base in (nn.Module,):\n            base.__init__(self)\n"
        "        self.fc = nn.Linear(n, n)"
    ),
    _net("        raise TypeError('use Net.make')"),
    source(
        "class Net(nn.Module):\n    @initialised\n    def __init__(self):\n"
        "        self.fc = nn.Linear(2, 2)"
    ),
    _net("        self.n = n", "    def scale(self, x):\n        return x * self.n"),
    _net("        self.__dict__ = n.__dict__\n        self.fc = nn.Linear(2, 2)"),
    source(
        """
        class Other(nn.Module):
            def __init__(self):
                super().__init__()
        class Part(nn.Module):
            def __init__(self):
                self.fc = nn.Linear(2, 2)
        class Net(Other, Part):
            def __init__(self):
                Other.__init__(self)
                Part.__init__(self)
        """
    ),
    source(
        """
        class Base(nn.Module):
            def __new__(cls, *args):
                self = super().__new__(cls)
                nn.Module.__init__(self)
                return self
        class Net(Base):
            def __init__(self):
                self.fc = nn.Linear(2, 2)
        """
    ),
    source("class Net(nn.Module):\n    fc = None"),
    source("class Plain:\n    def __init__(self):\n        self.fc = nn.Linear(2, 2)"),
    source(
        "class Net(nn.Module, metaclass=Meta):\n    def __init__(self):\n"
        "        self.fc = nn.Linear(2, 2)"
    ),
    _net("        self.initialise()\n        self.fc = nn.Linear(n, n)"),
    source(
        """
        class Base(nn.Module):
            def __init_subclass__(cls):
                cls.__init__ = initialised(cls.__init__)
        class Net(Base):
            def __init__(self):
                self.fc = nn.Linear(2, 2)
        """
    ),
    *(
        source(
            f"""
            from fastai.vision.all import Module
            from .core import Base, base
            class Net({bases}):
                def __init__(self):
                    self.fc = nn.Linear(2, 2)
                def forward(self, x):
                    return self.fc(x)
            """
        )
        for bases in ("Module", "Base, nn.Module", "base(), nn.Module")
    ),
)
INVALID = {
    _net(
        "        self.fc = nn.Linear(n, n)\n        super().__init__()"
    ): "5:9 self.fc is assigned nn.Linear before super().__init__() is called",
    _net(
        "        self.n = n\n        self.w = nn.Parameter(torch.zeros(n))\n"
        "        self.act = nn.ReLU()"
    ): "4:5 Net.__init__ never calls super().__init__(), and assigns nn.Parameter to self.w",
    _net(
        "        self.n = n", "    def forward(self, x):\n        return x * self.n"
    ): "4:5 Net.__init__ never calls super().__init__()",
    _net(
        "        self.setup(n)",
        "    def setup(self, n):\n        self.fc = nn.Linear(n, n)\n"
        "    def forward(self, x):\n        return self.fc(x)",
    ): "4:5 Net.__init__ never calls super().__init__()",
    _net(
        "        self.register_buffer('b', torch.zeros(n))\n        super().__init__()"
    ): "5:9 self.register_buffer() is called before super().__init__()",
    source(
        """
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
        class Net(Block):
            def __init__(self):
                self.block = Block()
        """
    ): "7:5 Net.__init__ never calls super().__init__(), and assigns Block to self.block",
}
