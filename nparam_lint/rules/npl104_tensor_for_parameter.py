"""A tensor with `requires_grad=True` where an `nn.Parameter` is meant.

Only an `nn.Parameter` is registered when it is assigned to a module. A plain tensor gets gradients
and is never updated: it is missing from `parameters()`, from `state_dict()`, from every count, and
`.to(device)` leaves it where it is.

A warning: the code runs. Only tensors that are made while the model is built count (in `__init__`
and the methods that it calls). No finding where the attribute is later wrapped or registered, or
given to an optimiser, or where the class says itself what its parameters are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import libcst as cst

from nparam_lint.rules.classes import assigned, dotted_name
from nparam_lint.rules.rule_cases import Invalid, built, run, source
from nparam_lint.rules.uses import overrides_registration
from nparam_lint.rules.values import Values, is_true
from nparam_lint.rules.walk import Visitor, nodes

if TYPE_CHECKING:
    from nparam_lint.rules.classes import Class, Method
    from nparam_lint.rules.source import SourceFile

CODE = "NPL104"

VALID = (
    built("self.w = nn.Parameter(torch.zeros(n))"),
    built("self.w = nn.Parameter(torch.zeros(n, requires_grad=True))"),
    built("self.w = torch.zeros(n)"),
    built("self.w = torch.zeros(n, requires_grad=False)"),
    built("self.w = torch.zeros(n, requires_grad=n > 2)"),
    built("self.w = torch.zeros(n, requires_grad=True)\nself.w = nn.Parameter(self.w)"),
    built("self.w = torch.zeros(n, requires_grad=True)\nself.register_parameter('v', self.w)"),
    built(
        "self.w = torch.zeros(n, requires_grad=True)",
        "def configure(self):\n    return torch.optim.Adam([self.w])",
    ),
    built(
        "self.w = torch.zeros(n, requires_grad=True)",
        "def parameters(self):\n    return [self.w]",
    ),
    built("w = torch.zeros(n, requires_grad=True)\nself.n = w.numel()"),
    built("self.w = nn.Linear(2, 2).requires_grad_()"),
    run("self.x = torch.zeros(2, requires_grad=True)\nreturn self.x"),
    run("self.x = x.requires_grad_()\nreturn self.x"),
    source(
        "class Plain:\n    def __init__(self):\n        self.w = torch.zeros(2, requires_grad=True)"
    ),
)
INVALID: tuple[Invalid, ...] = (
    (
        built("self.w = torch.randn(n, n, requires_grad=True)"),
        ("6:9 self.w is a tensor with requires_grad=True, which parameters() does not find",),
    ),
    (
        built("self.w = 0.02 * torch.randn(n, requires_grad=True).double()"),
        ("6:9 self.w is a tensor with requires_grad=True, which parameters() does not find",),
    ),
    (
        built("self.w = torch.FloatTensor(n).uniform_().requires_grad_()"),
        ("6:9 self.w is a tensor with requires_grad=True, which parameters() does not find",),
    ),
    (
        source(
            "from torch.autograd import Variable\nclass Net(nn.Module):\n    def __init__(self):\n"
            "        super().__init__()\n"
            "        self.w = Variable(torch.zeros(2), requires_grad=True)"
        ),
        ("7:9 self.w is a tensor with requires_grad=True, which parameters() does not find",),
    ),
    (
        built("self.w = torch.zeros(n)\nself.w.requires_grad = True\nnn.init.ones_(self.w)"),
        ("7:9 self.w is a tensor with requires_grad=True, which parameters() does not find",),
    ),
    (
        built(
            "self.build(n)",
            "def build(self, n):\n    self.w = torch.zeros(n)\n    self.w.requires_grad_(True)",
        ),
        ("9:9 self.w is a tensor with requires_grad=True, which parameters() does not find",),
    ),
)

_MAKES_TENSOR = re.compile(
    r"torch\.(?:(?:cuda\.)?(?:\w+)?Tensor|tensor|as_tensor|from_numpy|autograd\.Variable|normal"
    r"|(?:zeros|ones|empty|full|rand|randn|randint)(?:_like)?|eye|arange|linspace|logspace)$"
)
_REGISTERS = re.compile(r"optim|Adam|SGD|LBFGS|RMSprop|Adagrad|Parameter|register|setattr")


class Rule(Visitor):
    def __init__(self, file: SourceFile) -> None:
        super().__init__(file)
        self.values = Values(file)

    def enter_class(self) -> None:
        self.tensors: set[str] = set()
        self.trained: dict[str, cst.CSTNode] = {}

    def visit_Assign(self, node: cst.Assign | cst.AnnAssign, method: Method) -> None:
        for target, value in assigned(node):
            self._assigned(target, value, method)

    visit_AnnAssign = visit_Assign

    def visit_Call(self, node: cst.Call, method: Method) -> None:
        function = node.func  # self.w.requires_grad_()
        if isinstance(function, cst.Attribute) and _turns_on(node):
            self._turned_on(function.value, method)

    def _assigned(self, target: cst.CSTNode, value: cst.BaseExpression, method: Method) -> None:
        name = method.attribute(target)
        if name and method.builds:
            made, trained = self._tensor(value)
            if made:
                self.tensors.add(name)
            if trained:
                self.trained.setdefault(name, target)
        elif (
            isinstance(target, cst.Attribute)
            and target.attr.value == "requires_grad"
            and is_true(value)
        ):
            self._turned_on(target.value, method)

    def _turned_on(self, tensor: cst.CSTNode, method: Method) -> None:
        name = method.attribute(tensor)
        if name in self.tensors and method.builds:
            self.trained.setdefault(name, tensor)

    def _tensor(self, node: cst.CSTNode) -> tuple[bool, bool]:
        """Is this a new tensor, and does it require gradients?"""
        if isinstance(node, cst.BinaryOperation):
            (left, left_on), (right, right_on) = self._tensor(node.left), self._tensor(node.right)
            return left or right, left_on or right_on
        if not isinstance(node, cst.Call):
            return False, False
        if _MAKES_TENSOR.match(self.file.outside(dotted_name(node.func))):
            return True, any(
                item.keyword is not None
                and item.keyword.value == "requires_grad"
                and is_true(item.value)
                for item in node.args
            )
        if isinstance(node.func, cst.Attribute):
            made, on = self._tensor(node.func.value)
            return made, made and (on or _turns_on(node))
        return False, False

    def leave_class(self, owner: Class) -> None:
        if not self.trained or overrides_registration(owner):
            return
        for name, target in self.trained.items():
            if not self._is_registered(name, owner):
                message = (
                    f"self.{name} is a tensor with requires_grad=True, which parameters() does "
                    "not find"
                )
                self.report(target, message, "make it nn.Parameter(…)", owner.qualname)

    def _is_registered(self, name: str, owner: Class) -> bool:
        """Is the attribute made a parameter elsewhere, or given to what registers or trains it?"""
        for method in owner.methods.values():
            for node in nodes(method.node.body):
                for target, value in assigned(node):
                    if method.attribute(target) == name and self.values.made(value, method):
                        return True
                if isinstance(node, cst.Call) and _REGISTERS.search(_called(node)):
                    for inner in nodes(node):
                        if method.attribute(inner) == name:
                            return True
        return False


def _turns_on(node: cst.Call) -> bool:
    """`….requires_grad_()`"""
    return (
        isinstance(node.func, cst.Attribute)
        and node.func.attr.value == "requires_grad_"
        and (not node.args or is_true(node.args[0].value))
    )


def _called(node: cst.Call) -> str:
    return node.func.attr.value if isinstance(node.func, cst.Attribute) else dotted_name(node.func)
