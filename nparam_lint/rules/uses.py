"""What becomes of a value: whether it is given to something that may keep or register it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from nparam_lint.rules.classes import dotted_name
from nparam_lint.rules.walk import nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nparam_lint.rules.classes import Class, Method

    Test = Callable[[cst.CSTNode], bool]

# Their result neither keeps nor registers what they are given; the loops over it are looked at.
_HARMLESS = frozenset(
    "len range enumerate zip reversed sorted print isinstance hasattr any all id str repr".split()
)
# A class with one of these says itself what its parameters are.
_OVERRIDES = frozenset(
    """
    parameters named_parameters children named_children modules named_modules state_dict
    load_state_dict _apply apply to cuda __getattr__ __setattr__ trainable_parameters
    get_parameters param_groups
    """.split()
)


def overrides_registration(owner: Class) -> bool:
    return not _OVERRIDES.isdisjoint(owner.methods)


def is_name(name: str) -> Test:
    return lambda node: isinstance(node, cst.Name) and node.value == name


def handed_over(root: cst.CSTNode, is_it: Test) -> int:
    """How often the value is given away below `root`: to a call, a container, another name or the
    caller. A loop over it counts where the loop's variable is given away."""
    tests, loops, count = [is_it], set[str](), 0
    while tests:
        is_it = tests.pop()
        harmless = {
            id(item.value)
            for node in nodes(root)
            if isinstance(node, cst.Call) and dotted_name(node.func) in _HARMLESS
            for item in node.args
        }
        for node in nodes(root):
            count += sum(is_it(value) and id(value) not in harmless for value in _given(node))
            if isinstance(node, (cst.For, cst.CompFor)) and any(map(is_it, nodes(node.iter))):
                names = {n.value for n in nodes(node.target) if isinstance(n, cst.Name)} - loops
                loops |= names
                tests += map(is_name, names)
    return count


def _given(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The values that a node hands on."""
    if isinstance(
        node,
        (
            cst.Arg,
            cst.Assign,
            cst.AnnAssign,
            cst.DictElement,
            cst.Element,
            cst.NamedExpr,
            cst.Return,
            cst.StarredDictElement,
            cst.StarredElement,
            cst.Yield,
        ),
    ):
        if node.value is not None:
            yield node.value
    elif isinstance(node, (cst.GeneratorExp, cst.ListComp, cst.SetComp)):
        yield node.elt
    elif isinstance(node, cst.DictComp):
        yield node.value
    elif isinstance(node, cst.IfExp):
        yield from (node.body, node.orelse)
    elif isinstance(node, cst.BooleanOperation):
        yield from (node.left, node.right)


def registers_values(owner: Class, is_made: Callable[[cst.CSTNode, Method], bool]) -> bool:
    """Does the class register values that it got from elsewhere, `setattr(self, name, block)`? One
    that is made in the very call (`is_made`) is no such."""
    for method in owner.methods.values():
        for node in nodes(method.node.body):
            if not isinstance(node, cst.Call) or not node.args:
                continue
            last = node.args[-1].value
            none = isinstance(last, cst.Name) and last.value == "None"
            if not none and not is_made(last, method) and _registers(node):
                return True
    return False


def _registers(node: cst.Call) -> bool:
    function = node.func
    if isinstance(function, cst.Name):
        return function.value == "setattr"
    return isinstance(function, cst.Attribute) and function.attr.value in (
        "add_module",
        "register_module",
        "register_parameter",
        "__setattr__",
    )
