"""A layer or parameter is created in `forward` and not kept.

Found in the source, without building anything. What `forward` creates is new at
every call: random weights that no optimiser trains and that no count,
`state_dict()` or `.to()` includes.

It is a warning, since the code runs and a random projection may be intended.
Reported only if it is used on the spot, or replaces an attribute at every call.
Not reported:

- layers without parameters: `nn.ReLU()`, `nn.BatchNorm2d(3, affine=False)`;
- what is kept: assigned to an attribute under a condition, put into a
  container, registered, returned;
- layers whose weights are set before their use (`conv.weight = …`);
- layers in a `forward` that runs an optimiser itself, or takes gradients.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

from nparam_lint.discover.syntax import SAME_MODULE
from nparam_lint.gate.rules import run, source
from nparam_lint.gate.rules.nodes import arguments, nodes, plain_name
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.gate.rules import Found
    from nparam_lint.gate.rules.source_file import Class, Method, SourceFile
    from nparam_lint.gate.rules.values import Made, Values

SEVERITY = "warning"
EXAMPLE_BAD = """\
def forward(self, x):
    return nn.Linear(64, 10)(x)"""
EXAMPLE_GOOD = """\
def __init__(self):
    super().__init__()
    self.out = nn.Linear(64, 10)

def forward(self, x):
    return self.out(x)"""
REMEDY = "Create it in `__init__`, or use the function (`F.layer_norm`) if no weights are intended."

_OPTIMISES = late_pattern(r"backward|autograd|optim|grad$")
# Methods of a module or parameter that leave its values as they are.
_MOVES = SAME_MODULE - {"apply", "compile", "eval", "requires_grad_", "to_empty"}


def check(owner: Class, values: Values) -> Iterator[Found]:
    method = owner.methods.get("forward")
    if method is None:
        return
    attributes = (node.attr for node in method.nodes if isinstance(node, ast.Attribute))
    if any(map(_OPTIMISES.search, attributes)):  # it takes gradients or steps by itself
        return
    forward = _Forward(method, values.file)
    for node in method.calls:
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
            continue  # `….to(device)`: what it moves is a call of its own
        creation = values.made(node, method)
        if creation is None or not creation.weighty or creation.frozen:
            continue
        if forward.loses(node, creation):
            what = f"forward creates a new {creation.name} at every call"
            yield node, f"{what}: its weights are never trained", "create it once, in __init__"


class _Forward:
    """What `forward` does with the values that it creates."""

    def __init__(self, method: Method, file: SourceFile) -> None:
        self.method, self.file = method, file

    def loses(self, node: ast.AST, creation: Made) -> bool:
        """Is the value created at `node` used on the spot and then lost?"""
        parent = self.method.parents.get(id(node))
        if isinstance(parent, ast.Call) and parent.func is node:
            return creation.kind == "module"
        if isinstance(parent, (ast.IfExp, ast.BoolOp)):
            return self.loses(parent, creation)
        if isinstance(parent, ast.Attribute) and parent.attr in _MOVES:
            call = self.method.parents.get(id(parent))
            return isinstance(call, ast.Call) and self.loses(call, creation)
        if isinstance(parent, ast.Assign) and len(parent.targets) == 1:
            target = parent.targets[0]
            if self.method.attribute(target):
                return _always_runs(parent, self.method)
            return isinstance(target, ast.Name) and self._is_used_up(target.id, creation)
        if creation.kind == "module":
            return False
        if isinstance(parent, (ast.BinOp, ast.Compare)):
            return True
        call = self.method.parents.get(id(parent)) if isinstance(parent, ast.keyword) else parent
        return isinstance(call, ast.Call) and self._computes(call)

    def _is_used_up(self, name: str, creation: Made) -> bool:
        """Is a local variable only called (a module), or calculated with (a parameter)?"""
        calls, operands, holders = self._uses
        transfers = self.method.flow.handed_over(name)
        if name in holders:
            return False
        is_module = creation.kind == "module"
        return calls[name] > 0 == transfers if is_module else transfers == operands[name]

    @cached_property
    def _uses(self) -> tuple[Counter[str], Counter[str], set[str]]:
        """How often each local variable is called, how often it is given to a function of torch,
        and those of which an attribute is used."""
        calls, operands, holders = Counter[str](), Counter[str](), set[str]()
        for node in self.method.nodes:
            if isinstance(node, ast.Call):
                calls[_name(node.func)] += 1
                if self._computes(node):
                    operands.update(_name(value) for _, value in arguments(node))
            elif isinstance(node, ast.Attribute) and node.attr not in _MOVES:
                holders.add(_name(node.value))
        return calls, operands, holders

    def _computes(self, call: ast.Call) -> bool:
        """Does it call a function of torch, which keeps nothing of what it is given?"""
        full = self.file.outside(plain_name(call.func))
        return re.match(r"torch\.(nn\.functional\.)?[a-z]\w*$", full) is not None


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _always_runs(statement: ast.Assign, method: Method) -> bool:
    """Does it stand under no condition, and behind no return?"""
    body = method.node.body
    if statement not in body:
        return False
    before = nodes(body[: body.index(statement)])
    return not any(isinstance(node, ast.Return) for node in before)


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
_MADE = {
    run("return nn.Linear(2, 2)(x)"): "8:16 forward creates a new nn.Linear",
    run(
        "norm = nn.LayerNorm(x.size()[1:]).to(x.device)\nreturn norm(x)"
    ): "8:16 forward creates a new nn.LayerNorm",
    run(
        "return nn.Sequential(nn.Linear(2, 2), nn.ReLU())(x)"
    ): "8:16 forward creates a new nn.Sequential",
    run(
        "w = nn.Parameter(torch.randn(2, 2))\nreturn x @ w"
    ): "8:13 forward creates a new nn.Parameter",
    run(
        "return torch.matmul(x, nn.Parameter(torch.randn(2, 2)))"
    ): "8:32 forward creates a new nn.Parameter",
    run("return x * nn.Parameter(torch.ones(2))"): "8:20 forward creates a new nn.Parameter",
    run(
        "self.w = nn.Parameter(self.w.softmax(0))\nreturn x * self.w",
        init="self.w = nn.Parameter(torch.zeros(n))",
    ): "8:18 forward creates a new nn.Parameter",
    run(
        "act = self.act or nn.PReLU()\nif x.ndim > 1:\n    x = act(x)\nreturn x",
        init="self.act = None",
    ): "8:27 forward creates a new nn.PReLU",
}
INVALID = {
    case: f"{made} at every call: its weights are never trained" for case, made in _MADE.items()
}
