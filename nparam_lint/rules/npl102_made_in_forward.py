"""A layer or parameter that `forward` makes and forgets.

What `forward` creates is new for every batch: random weights that no optimiser has seen, and that
no count, `state_dict` or `.to(device)` includes.

A warning: the code runs, and a random projection may be meant. Only what surely has trainable
parameters counts (`nn.Linear(…)(x)`; not `nn.ReLU()(x)`, not `affine=False`), and only where it is
used on the spot, or replaces an attribute at every call. No finding where it is kept (assigned to
an attribute under a condition, put into a container, registered, returned), where its weights are
set (`conv.weight = …`, `conv.weight.data.fill_(…)`), or in a `forward` that optimises by itself
(`backward`, `autograd.grad`, an optimiser).
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

import libcst as cst

from nparam_lint.rules.classes import dotted_name
from nparam_lint.rules.rule_cases import Invalid, run, source
from nparam_lint.rules.uses import handed_over, is_name
from nparam_lint.rules.values import Made, Values
from nparam_lint.rules.walk import Visitor, nodes

if TYPE_CHECKING:
    from nparam_lint.rules.classes import Class, Method
    from nparam_lint.rules.source import SourceFile

CODE = "NPL102"

VALID = (
    run("return self.fc(x)", init="self.fc = nn.Linear(n, n)"),
    run("return nn.Softmax(dim=-1)(nn.ReLU()(x))"),
    run("return nn.LayerNorm(x.shape[1:], elementwise_affine=False)(x)"),
    run("return nn.BatchNorm2d(3, affine=False)(x)"),
    run("if self.fc is None:\n    self.fc = nn.Linear(2, 2)\nreturn self.fc(x)"),
    run("if x is None:\n    return None\nself.fc = nn.Linear(2, 2)\nreturn self.fc(x)"),
    run("fc = nn.Linear(2, 2)\nself.fc = fc\nreturn fc(x)"),
    run("self.layers.append(nn.Linear(2, 2))\nreturn self.layers[-1](x)"),
    run("self.add_module('fc', nn.Linear(2, 2))\nreturn self.fc(x)"),
    run("blur = nn.Conv2d(1, 1, 3, bias=False)\nblur.weight.data = self.kernel\nreturn blur(x)"),
    run("self.conv.weight = nn.Parameter(self.weight)\nreturn self.conv(x)"),
    run(
        "delta = nn.Parameter(torch.zeros_like(x))\nopt = torch.optim.SGD([delta], lr=1)\n"
        "return x + delta"
    ),
    run("w = nn.Parameter(torch.ones(2))\ny = (x * w).sum()\ny.backward()\nreturn y"),
    run("w = nn.Parameter(torch.ones(2))\nself.keep(w)\nreturn x * w"),
    run("pad = nn.Parameter(torch.zeros(2), requires_grad=False)\nreturn x + pad"),
    run("return nn.Parameter(x)"),
    run("return compute(nn.Parameter(x))"),
    source("def forward(x):\n    return nn.Linear(2, 2)(x)"),
    source("class Net(nn.Module):\n    def make(self, x):\n        return nn.Linear(2, 2)(x)"),
)
INVALID: tuple[Invalid, ...] = (
    (
        run("return nn.Linear(2, 2)(x)"),
        ("8:16 forward makes nn.Linear anew at every call: its weights are never trained",),
    ),
    (
        run("norm = nn.LayerNorm(x.size()[1:]).to(x.device)\nreturn norm(x)"),
        ("8:16 forward makes nn.LayerNorm anew at every call: its weights are never trained",),
    ),
    (
        run("return nn.Sequential(nn.Linear(2, 2), nn.ReLU())(x)"),
        ("8:16 forward makes nn.Sequential anew at every call: its weights are never trained",),
    ),
    (
        run("w = nn.Parameter(torch.randn(2, 2))\nreturn x @ w"),
        ("8:13 forward makes nn.Parameter anew at every call: its weights are never trained",),
    ),
    (
        run("return torch.matmul(x, nn.Parameter(torch.randn(2, 2)))"),
        ("8:32 forward makes nn.Parameter anew at every call: its weights are never trained",),
    ),
    (
        run("return x * nn.Parameter(torch.ones(2))"),
        ("8:20 forward makes nn.Parameter anew at every call: its weights are never trained",),
    ),
    (
        run(
            "self.w = nn.Parameter(self.w.softmax(0))\nreturn x * self.w",
            init="self.w = nn.Parameter(torch.zeros(n))",
        ),
        ("8:18 forward makes nn.Parameter anew at every call: its weights are never trained",),
    ),
    (
        run(
            "act = self.act or nn.PReLU()\nif x.ndim > 1:\n    x = act(x)\nreturn x",
            init="self.act = None",
        ),
        ("8:27 forward makes nn.PReLU anew at every call: its weights are never trained",),
    ),
)

_OPTIMISES = re.compile(r"backward|autograd|optim|grad$")
# Methods of a module or parameter that leave its values as they are.
_MOVES = frozenset("to cuda cpu half float double bfloat16 type train".split())


class Rule(Visitor):
    def __init__(self, file: SourceFile) -> None:
        super().__init__(file)
        self.values = Values(file)

    def enter_class(self) -> None:
        self.made: list[tuple[cst.Call, Made]] = []

    def visit_Call(self, node: cst.Call, method: Method) -> None:
        if method.name != "forward" or _continues(node):
            return
        made = self.values.made(node, method)
        if made is not None and made.weighty and not made.frozen:
            self.made.append((node, made))

    def leave_class(self, owner: Class) -> None:
        method = owner.methods.get("forward")
        if not self.made or method is None or _optimises(method):
            return
        for node, made in self.made:
            if self._is_lost(node, made, method):
                message = (
                    f"forward makes {made.name} anew at every call: its weights are never trained"
                )
                self.report(node, message, "make it once, in __init__", owner.qualname)

    def _is_lost(self, node: cst.CSTNode, made: Made, method: Method) -> bool:
        """Is what is made at `node` used on the spot, and then gone?"""
        parent = method.parents.get(id(node))
        if isinstance(parent, cst.Call) and parent.func is node:
            return made.kind == "module"
        if isinstance(parent, (cst.IfExp, cst.BooleanOperation)):
            return self._is_lost(parent, made, method)
        if isinstance(parent, cst.Attribute) and parent.attr.value in _MOVES:
            call = method.parents.get(id(parent))
            return isinstance(call, cst.Call) and self._is_lost(call, made, method)
        if isinstance(parent, cst.Assign) and len(parent.targets) == 1:
            target = parent.targets[0].target
            if method.attribute(target):
                return _always_runs(parent, method)
            return isinstance(target, cst.Name) and self._is_used_up(target.value, made, method)
        if made.kind == "module":
            return False
        if isinstance(parent, (cst.BinaryOperation, cst.Comparison)):
            return True
        return isinstance(parent, cst.Arg) and self._is_computation(parent, method)

    def _is_used_up(self, name: str, made: Made, method: Method) -> bool:
        """Is a local variable only called (a module), or calculated with (a parameter)?"""
        called = computed = 0
        for node in nodes(method.node.body):
            if isinstance(node, cst.Call) and is_name(name)(node.func):
                called += 1
            elif isinstance(node, cst.Arg) and is_name(name)(node.value):
                computed += self._is_computation(node, method)
            elif (
                isinstance(node, cst.Attribute)
                and is_name(name)(node.value)
                and node.attr.value not in _MOVES
            ):
                return False
        given = handed_over(method.node.body, is_name(name))
        if made.kind == "module":
            return called > 0 and given == 0
        return given == computed

    def _is_computation(self, argument: cst.Arg, method: Method) -> bool:
        """Is it an argument of a function of torch, which keeps nothing?"""
        call = method.parents.get(id(argument))
        full = self.file.outside(dotted_name(call.func)) if isinstance(call, cst.Call) else ""
        return re.match(r"torch\.(nn\.functional\.)?[a-z]\w*$", full) is not None


def _continues(node: cst.Call) -> bool:
    """`….to(device)`: what is made was found before."""
    return isinstance(node.func, cst.Attribute) and isinstance(node.func.value, cst.Call)


def _always_runs(statement: cst.Assign, method: Method) -> bool:
    """Does it stand under no condition, and behind no return?"""
    line = method.parents.get(id(statement))
    before = nodes(method.node.body)
    return line in method.node.body.body and not any(
        isinstance(node, cst.Return)
        for node in itertools.takewhile(lambda n: n is not line, before)
    )


def _optimises(method: Method) -> bool:
    """Does it take gradients or steps by itself?"""
    return any(
        isinstance(node, cst.Attribute) and _OPTIMISES.search(node.attr.value) is not None
        for node in nodes(method.node.body)
    )
