"""The classes of a file and their methods, as the rules look at them."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import ref

from nparam_lint.discover.syntax import FUNCTIONS, Function, bound_names, flat
from nparam_lint.rules.nodes import arguments, is_constant, nodes, plain_name, unstarred

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# Calls that give an object another element, with the place of that element among the arguments.
_PUTS = {"append": 0, "add": 0, "appendleft": 0, "insert": 1, "setdefault": 1}
_SPREADS = frozenset({"extend", "update"})
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
_HARMLESS_DECORATOR = re.compile(r"regist|final$|export|deprecated|overload")


@dataclass(eq=False)
class Class:
    """A class statement. `is_module`: it is known to be an `nn.Module`."""

    node: ast.ClassDef
    qualname: str
    is_module: bool
    methods: dict[str, Method] = field(default_factory=dict)


@dataclass(eq=False)
class Method:
    """A function of a class body. `self_name` is empty in static and class methods. Its class is
    held weakly: a cycle would keep the whole syntax tree until garbage is collected."""

    node: Function
    _owner: ref[Class]
    name: str
    self_name: str

    def sibling(self, name: str) -> Method | None:
        """The method of that name in the same class."""
        owner = self._owner()
        return owner.methods.get(name) if owner is not None else None

    @property
    def runs_forward(self) -> bool:
        """Whether it is run for each batch, rather than to build the model."""
        return self.name.lstrip("_").startswith("forward") or self.name == "__call__"

    def attribute(self, node: ast.AST) -> str:
        """X of `self.X`; "" of anything else."""
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == self.self_name
        ):
            return node.attr
        return ""

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of its body, in the order of the source."""
        return list(nodes(self.node.body))

    @cached_property
    def flow(self) -> ValueFlow:
        return flow_of(self)

    @cached_property
    def parameters(self) -> frozenset[str]:
        return frozenset(_parameter_names(self.node.args))

    @cached_property
    def bindings(self) -> dict[str, list[ast.expr | None]]:
        """For each local name what it is assigned; None where that is no plain assignment."""
        found: dict[str, list[ast.expr | None]] = defaultdict(list)
        for name in self.parameters:
            found[name].append(None)
        for node in self.nodes:
            for name, value in _bound(node):
                found[name].append(value)
        return dict(found)

    @cached_property
    def puts(self) -> dict[str, list[ast.expr]]:
        """For each local name what is put into it: `name.append(X)`, `name[key] = X`, `name += X`.
        What is spread into it (`name.extend(X)`) stands as `[*X]`."""
        found: dict[str, list[ast.expr]] = defaultdict(list)
        for node in self.nodes:
            for holder, value in put_into(node):
                if isinstance(holder, ast.Name):
                    found[holder.id].append(value)
        return dict(found)


def find_classes(tree: ast.Module, modules: frozenset[str]) -> list[Class]:
    """Every class that is not inside a function, in order."""
    found: list[Class] = []
    _classes(tree.body, "", modules, found)
    return found


def _classes(
    body: Sequence[ast.stmt], outer: str, modules: frozenset[str], found: list[Class]
) -> None:
    for node in flat(body):
        if isinstance(node, ast.ClassDef):
            qualname = f"{outer}{node.name}"
            owner = Class(node, qualname, qualname in modules)
            found.append(owner)
            for statement in flat(node.body):
                if isinstance(statement, FUNCTIONS):
                    method = Method(statement, ref(owner), statement.name, _self_name(statement))
                    owner.methods[statement.name] = method
            _classes(node.body, f"{qualname}.", modules, found)


def keeps_signature(decorator: str) -> bool:
    """Does a decorator of this name leave a class or function as it is called?"""
    return _HARMLESS_DECORATOR.search(decorator) is not None


def assigned(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """(target, value) of each assignment that a statement makes."""
    if isinstance(node, ast.Assign):
        yield from ((target, node.value) for target in node.targets)
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        yield node.target, node.value


def put_into(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """(container, element) of a statement or call that gives an object another element."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name = node.func.attr
        if name in _SPREADS or name in _PUTS:
            given = [value for _, value in arguments(node)]
            if name in _SPREADS and given:
                yield node.func.value, _spread(given[0])
            elif name in _PUTS and len(given) > _PUTS[name]:
                yield node.func.value, given[_PUTS[name]]
    elif isinstance(node, ast.AugAssign):
        yield node.target, _spread(node.value)
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                yield target.value, node.value


def _spread(value: ast.expr) -> ast.List:
    return ast.List([ast.Starred(value)])


def _self_name(node: Function) -> str:
    names = {plain_name(item) for item in node.decorator_list}
    given = [*node.args.posonlyargs, *node.args.args]
    if not given or names & {"staticmethod", "classmethod"}:
        return ""
    return given[0].arg


def _parameter_names(args: ast.arguments) -> Iterator[str]:
    stars = (item for item in (args.vararg, args.kwarg) if item is not None)
    for item in (*args.posonlyargs, *args.args, *args.kwonlyargs, *stars):
        yield item.arg


def _bound(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """The names that one node binds, with the value where it is a plain assignment."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                yield target.id, node.value
            else:
                yield from _unpacked(target)
    elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
        if isinstance(node.target, ast.Name):
            yield node.target.id, node.value
    elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        yield from _unpacked(node.target)
    elif isinstance(node, ast.withitem):
        yield from _unpacked(node.optional_vars) if node.optional_vars else ()
    elif isinstance(node, ast.alias):
        yield node.asname or node.name.partition(".")[0], None
    elif isinstance(node, ast.arguments):
        yield from ((name, None) for name in _parameter_names(node))
    elif isinstance(
        node, (ast.ClassDef, *FUNCTIONS, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)
    ):
        yield node.name or "", None


def _unpacked(target: ast.expr) -> Iterator[tuple[str, None]]:
    """The names that an assignment to `target` binds: not those of `a.b` or `a[i]`."""
    return ((name, None) for name in bound_names(target))


# --- what becomes of a value: whether it is given to something that may keep or register it ----


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
