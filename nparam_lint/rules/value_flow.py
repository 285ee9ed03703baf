"""What becomes of a value: whether it is given to something that may keep or register it."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nparam_lint.rules.nodes import arguments, is_constant, nodes, plain_name, unstarred

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nparam_lint.rules.class_methods import Class, Method

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


@dataclass(frozen=True, slots=True)
class ValueFlow:
    """What one method does with its local variables (`layers`) and with the attributes of its
    object (`self.layers`), by name. `uses`: how often it stands there; `firsts`: how often as
    `self.layers[0]`; `given`: how often it is given away, to a call, a container, another name or
    the caller; `loops`: the variables of the loops over it."""

    uses: Counter[str] = field(default_factory=Counter)
    firsts: Counter[str] = field(default_factory=Counter)
    given: Counter[str] = field(default_factory=Counter)
    loops: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def handed_over(self, name: str) -> int:
        """How often the value is given away; a loop over it counts where the loop's variable is."""
        pending, seen, count = [name], {name}, 0
        while pending:
            name = pending.pop()
            count += self.given[name]
            fresh = self.loops.get(name, set()) - seen
            seen |= fresh
            pending += fresh
        return count


def flow_of(method: Method) -> ValueFlow:
    """One look at all that a method does with its names."""
    flow = ValueFlow()

    def name_of(node: ast.AST) -> str:
        if isinstance(node, ast.Name):
            return node.id
        attribute = method.attribute(node)
        return f"self.{attribute}" if attribute else ""

    for node in method.nodes:
        if name := name_of(node):
            flow.uses[name] += 1
        elif isinstance(node, ast.Subscript):
            if isinstance(node.slice, ast.Constant) and node.slice.value == 0:
                flow.firsts[name_of(node.value)] += 1
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            targets = {item.id for item in nodes([node.target]) if isinstance(item, ast.Name)}
            for item in nodes([node.iter]):
                if name := name_of(item):
                    flow.loops[name] |= targets
        for value in _given(node):
            flow.given[name_of(value)] += 1
    del flow.given[""], flow.firsts[""]
    return flow


def _given(node: ast.AST) -> Iterator[ast.AST]:
    """The values that a node hands on."""
    if isinstance(node, ast.Call):
        if plain_name(node.func) not in _HARMLESS:
            yield from (value for _, value in arguments(node))
    elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.Return, ast.Yield)):
        if node.value is not None:
            yield node.value
    elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        yield from map(unstarred, node.elts)
    elif isinstance(node, (ast.Dict, ast.BoolOp)):
        yield from node.values
    elif isinstance(node, (ast.GeneratorExp, ast.ListComp, ast.SetComp)):
        yield node.elt
    elif isinstance(node, ast.DictComp):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from (node.body, node.orelse)


def registers_values(owner: Class, is_made: Callable[[ast.AST, Method], bool]) -> bool:
    """Does the class register values that it got from elsewhere, `setattr(self, name, block)`? One
    that is made in the very call (`is_made`) is no such."""
    for method in owner.methods.values():
        for node in method.nodes:
            if isinstance(node, ast.Call) and _registers(node):
                given = arguments(node)
                last = given[-1][1] if given else None
                if last and not is_constant(last, None) and not is_made(last, method):
                    return True
    return False


def _registers(node: ast.Call) -> bool:
    function = node.func
    if isinstance(function, ast.Name):
        return function.id == "setattr"
    return isinstance(function, ast.Attribute) and function.attr in (
        "add_module",
        "register_module",
        "register_parameter",
        "__setattr__",
    )
