"""`super().__init__()` that is missing, or comes after the first module or parameter.

`nn.Module.__init__` makes the tables in which modules and parameters are registered. Assigning one
before raises `AttributeError: cannot assign module before Module.__init__() call`; without it the
first call of the model fails, and it has no parameters.

An error: such code cannot run. Plain values may be assigned before, and are; a class that assigns
nothing else must define `forward` to be found, since only its call is sure to fail. No finding
where something that is called may initialise the module: a method that is inherited or that does
so, a function that is given `self`, any `__init__` of a base; where `self.__dict__` is replaced;
in a class that replaces `__new__` or `__setattr__`, has a metaclass or an unknown decorator; and
in one whose `__init__` is called by name elsewhere in the file, after that of another base.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from nparam_lint.rules.classes import assigned, dotted_name, keeps_signature
from nparam_lint.rules.rule_cases import Invalid, built, source
from nparam_lint.rules.values import Values
from nparam_lint.rules.walk import Visitor, nodes

if TYPE_CHECKING:
    from nparam_lint.rules.classes import Class, Method
    from nparam_lint.rules.source import SourceFile

CODE = "NPL103"


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
    *(
        source(
            f"""
            from other import Base, base
            class Net({bases}):
                def __init__(self):
                    self.n = 2
                def forward(self, x):
                    return x * self.n
            """
        )
        for bases in ("Base, nn.Module", "base(), nn.Module")
    ),
)
INVALID: tuple[Invalid, ...] = (
    (
        _net("        self.fc = nn.Linear(n, n)\n        super().__init__()"),
        ("5:9 self.fc is assigned nn.Linear before super().__init__() is called",),
    ),
    (
        _net(
            "        self.n = n\n        self.w = nn.Parameter(torch.zeros(n))\n"
            "        self.act = nn.ReLU()"
        ),
        ("4:5 Net.__init__ never calls super().__init__(), and assigns nn.Parameter to self.w",),
    ),
    (
        _net("        self.n = n", "    def forward(self, x):\n        return x * self.n"),
        ("4:5 Net.__init__ never calls super().__init__()",),
    ),
    (
        _net(
            "        self.setup(n)",
            "    def setup(self, n):\n        self.fc = nn.Linear(n, n)\n"
            "    def forward(self, x):\n        return self.fc(x)",
        ),
        ("4:5 Net.__init__ never calls super().__init__()",),
    ),
    (
        _net("        self.register_buffer('b', torch.zeros(n))\n        super().__init__()"),
        ("5:9 self.register_buffer() is called before super().__init__()",),
    ),
    (
        source(
            """
            class Block(nn.Module):
                def __init__(self):
                    super().__init__()
            class Net(Block):
                def __init__(self):
                    self.block = Block()
            """
        ),
        ("7:5 Net.__init__ never calls super().__init__(), and assigns Block to self.block",),
    ),
)

_REMEDY = "call super().__init__() first"
# Methods of nn.Module that need what its __init__ makes.
_NEEDS_INIT = frozenset("register_buffer register_parameter register_module add_module".split())
_HARMLESS = frozenset(
    "isinstance hasattr getattr setattr delattr type id len vars str repr print callable".split()
)
_REPLACES = frozenset("__new__ __setattr__ __getattr__ __init_subclass__".split())


class Rule(Visitor):
    def __init__(self, file: SourceFile) -> None:
        super().__init__(file)
        self.values = Values(file)

    def enter_method(self, method: Method) -> None:
        owner = method.owner
        if method.name != "__init__" or method.node.decorators or self._is_special(owner):
            return
        own = owner.node.name.value.encode()
        if any(other.endswith(own) for other in self.file.initialised):
            return
        early: tuple[cst.CSTNode, str, str] | None = None
        acts = False
        for node in nodes(method.node.body, skip=(cst.FunctionDef, cst.Lambda)):
            if _may_initialise(node, method, set()):
                if early is not None:
                    self.report(early[0], early[1], _REMEDY, owner.qualname)
                return
            early = early or self._early(node, method)
            acts |= any(method.attribute(target) for target, _ in assigned(node))
            acts |= isinstance(node, cst.Call) and method.attribute(node.func) in owner.methods
        name = f"{owner.qualname}.__init__ never calls super().__init__()"
        if early is not None:
            self.report(method.node, f"{name}{early[2]}", _REMEDY, owner.qualname)
        elif acts and "forward" in owner.methods and self.file.inherits_from_torch(owner.qualname):
            self.report(method.node, name, _REMEDY, owner.qualname)

    def _is_special(self, owner: Class) -> bool:
        return any(
            not _REPLACES.isdisjoint(member.methods)
            or any(item.keyword for item in member.node.keywords)
            or not all(keeps_signature(_decorator(item)) for item in member.node.decorators)
            for member in self.file.family(owner.qualname)
        )

    def _early(self, node: cst.CSTNode, method: Method) -> tuple[cst.CSTNode, str, str] | None:
        """What fails before `Module.__init__`: where, and how to say so with and without it."""
        for target, value in assigned(node):
            name = method.attribute(target)
            made = self.values.made(value, method) if name else None
            if made is not None:
                what = f"self.{name} is assigned {made.name} before super().__init__() is called"
                return target, what, f", and assigns {made.name} to self.{name}"
        if isinstance(node, cst.Call) and method.attribute(node.func) in _NEEDS_INIT:
            name = f"self.{method.attribute(node.func)}()"
            return node, f"{name} is called before super().__init__()", f", and calls {name}"
        return None


def _may_initialise(node: cst.CSTNode, method: Method, seen: set[str]) -> bool:
    """May `Module.__init__` be called by this?"""
    if isinstance(node, cst.Attribute) and node.attr.value in ("__init__", "__dict__"):
        return True
    if not isinstance(node, cst.Call):
        return False
    function = node.func
    called = dotted_name(function)
    if isinstance(function, cst.Attribute) and isinstance(function.value, cst.Call):
        return dotted_name(function.value.func) == "super"
    name = method.attribute(function)
    if not name:
        given = any(_is_self(item.value, method) for item in node.args)
        return called in ("exec", "eval") or (given and called not in (*_HARMLESS, "super"))
    if name in _NEEDS_INIT:
        return False
    helper = method.owner.methods.get(name)
    if helper is None:
        return True  # inherited
    if name in seen:
        return False
    seen.add(name)
    return any(_may_initialise(inner, helper, seen) for inner in nodes(helper.node.body))


def _is_self(node: cst.CSTNode, method: Method) -> bool:
    return isinstance(node, cst.Name) and node.value == method.self_name


def _decorator(node: cst.Decorator) -> str:
    plain = node.decorator
    return dotted_name(plain.func if isinstance(plain, cst.Call) else plain)
