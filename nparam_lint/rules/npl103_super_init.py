"""`super().__init__()` is missing, or comes too late.

Found in the source, without building anything. `nn.Module.__init__` makes the
tables in which modules and parameters are registered. Assigning one before it
raises AttributeError; without it the first call of the model does.

An error: such code cannot run. Plain values may be assigned before. A class
that assigns nothing else is reported only if it defines `forward`, since only
its call is sure to fail. Not reported if

- something that is called may initialise the module: an inherited method, a
  helper, a function that gets `self`, any `__init__` of a base;
- `self.__dict__` is replaced;
- the class has `__new__`, `__setattr__`, a metaclass or an unknown decorator;
- its `__init__` is called by name in the file, after that of another base.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from nparam_lint.discover.syntax import FUNCTIONS
from nparam_lint.rules.class_methods import assigned, keeps_signature
from nparam_lint.rules.nodes import arguments, nodes, plain_name
from nparam_lint.rules.rule import Invalid, Rule, Visitor, built, source
from nparam_lint.rules.values import Values

if TYPE_CHECKING:
    from nparam_lint.rules.class_methods import Class, Method
    from nparam_lint.rules.source_file import SourceFile

_REMEDY = "call super().__init__() first"
# Methods of nn.Module that need what its __init__ makes.
_NEEDS_INIT = frozenset("register_buffer register_parameter register_module add_module".split())
_HARMLESS = frozenset(
    "isinstance hasattr getattr setattr delattr type id len vars str repr print callable".split()
)
_REPLACES = frozenset("__new__ __setattr__ __getattr__ __init_subclass__".split())


class SuperInit(Visitor):
    def __init__(self, file: SourceFile) -> None:
        super().__init__(file)
        self.values = Values(file)
        self._initialising: dict[Method, bool] = {}

    def visit_class(self, owner: Class) -> None:
        method = owner.methods.get("__init__")
        if method is None or method.node.decorator_list:
            return
        early: tuple[ast.expr, str, str] | None = None
        acts = False
        for node in nodes(method.node.body, skip=(*FUNCTIONS, ast.Lambda)):
            if self._may_initialise(node, method):
                if early is not None and not self._is_special(owner):
                    self.report(early[0], early[1], _REMEDY, owner.qualname)
                return
            early = early or self._early(node, method)
            acts |= any(method.attribute(target) for target, _ in assigned(node))
            acts |= isinstance(node, ast.Call) and method.attribute(node.func) in owner.methods
        fails = "forward" in owner.methods and self.file.inherits_from_torch(owner.qualname)
        if (early or (acts and fails)) and not self._is_special(owner):
            message = f"{owner.qualname}.__init__ never calls super().__init__()"
            message += early[2] if early else ""
            self.report(method.node, message, _REMEDY, owner.qualname)

    def _is_special(self, owner: Class) -> bool:
        """May the module be initialised in a way that `__init__` does not show?"""
        return self.file.calls_init_of(owner.node.name) or any(
            not _REPLACES.isdisjoint(member.methods)
            or member.node.keywords
            or not all(keeps_signature(_decorator(item)) for item in member.node.decorator_list)
            for member in self.file.family(owner.qualname)
        )

    def _early(self, node: ast.AST, method: Method) -> tuple[ast.expr, str, str] | None:
        """What fails before `Module.__init__`: where, and how to say so with and without it."""
        for target, value in assigned(node):
            name = method.attribute(target)
            made = self.values.made(value, method) if name else None
            if made is not None:
                what = f"self.{name} is assigned {made.name} before super().__init__() is called"
                return target, what, f", and assigns {made.name} to self.{name}"
        if isinstance(node, ast.Call) and method.attribute(node.func) in _NEEDS_INIT:
            name = f"self.{method.attribute(node.func)}()"
            return node, f"{name} is called before super().__init__()", f", and calls {name}"
        return None

    def _may_initialise(self, node: ast.AST, method: Method) -> bool:
        """May `Module.__init__` be called by this?"""
        if isinstance(node, ast.Attribute) and node.attr in ("__init__", "__dict__"):
            return True
        if not isinstance(node, ast.Call):
            return False
        function = node.func
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Call):
            return plain_name(function.value.func) == "super"
        name = method.attribute(function)
        if not name:
            called = plain_name(function)
            given = any(_is_self(value, method) for _, value in arguments(node))
            return called in ("exec", "eval") or (given and called not in (*_HARMLESS, "super"))
        helper = method.sibling(name)
        if name in _NEEDS_INIT or helper is None:  # None: it is inherited
            return name not in _NEEDS_INIT
        if helper not in self._initialising:
            self._initialising[helper] = False  # until its body says otherwise: it may call itself
            self._initialising[helper] = any(
                self._may_initialise(inner, helper) for inner in helper.nodes
            )
        return self._initialising[helper]


def _is_self(node: ast.expr, method: Method) -> bool:
    return isinstance(node, ast.Name) and node.id == method.self_name


def _decorator(node: ast.expr) -> str:
    return plain_name(node.func if isinstance(node, ast.Call) else node)


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

RULE = Rule(
    __name__,
    __doc__,
    severity="error",
    example_bad="""\
class Net(nn.Module):
    def __init__(self):
        self.fc = nn.Linear(784, 10)
        super().__init__()""",
    example_good="""\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(784, 10)""",
    remedy="Call `super().__init__()` first.",
    visitor=SuperInit,
    valid=VALID,
    invalid=INVALID,
)
