"""One parsed source file as the rules see it: its names, its classes and their methods."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING
from weakref import ref

from msgspec import Struct, field
from msgspec.structs import replace

from nparam_lint.discover import Models
from nparam_lint.discover.name_resolution import Names, Symbol, is_module
from nparam_lint.discover.source_tree import SourceTree, cached_method, reachable
from nparam_lint.discover.syntax import FUNCTIONS, Function, character, flat, parameter_names
from nparam_lint.gate.rules.nodes import bindings, given_away, nodes, parents, plain_name, put_into
from nparam_lint.ground.grouping import grouped
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.discover.definitions import Definition
    from nparam_lint.discover.scan import FunctionFacts, Parsed
    from nparam_lint.gate.rules.nodes import Bindings

# No import in the file can refer to this name, so where the file lies makes no difference.
_ALONE = "?.py"
_INIT = late_pattern(r"(\w+)\.__init__")


class SourceFile:
    """`modules`: the qualified names of the classes in it that are an `nn.Module`; None: those that
    can be seen to be from this file alone."""

    def __init__(self, parsed: Parsed, modules: frozenset[str] | None) -> None:
        self.parsed = parsed
        facts = replace(parsed.facts, path=_ALONE)
        self._models = Models(Names(SourceTree({_ALONE}, lambda _: b"", scan=lambda *_: facts)))
        self._names = self._models.names
        self.modules = self._models.modules(_ALONE) if modules is None else modules
        self._classes = grouped(_classes(parsed.tree.body), attrgetter("qualname"))

    @property
    def declared(self) -> Sequence[Definition]:
        """What declares a budget in its docstring."""
        return self._models.definitions(_ALONE, declared_only=True)

    @property
    def module_classes(self) -> list[Class]:
        """The class statements that define an `nn.Module`, outside of functions."""
        return [
            owner
            for name, owners in self._classes.items()
            if name in self.modules
            for owner in owners
        ]

    def place(self, node: ast.stmt | ast.expr) -> tuple[int, int]:
        """The line and column of a node; `ast` counts the bytes of UTF-8."""
        line = self.parsed.lines[node.lineno - 1]
        return node.lineno, character(line, node.col_offset) + 1

    @cached_method
    def resolve(self, dotted: str) -> Symbol | None:
        """What a dotted name means at the file's top level."""
        return self._names.resolve(_ALONE, dotted) if dotted else None

    def outside(self, dotted: str) -> str:
        """The full name, where it is one of an installed package: `torch.nn.Linear`; else ""."""
        symbol = self.resolve(dotted)
        if symbol is None or symbol.kind != "outside":
            return ""
        # `nn` came by a star import that cannot be followed from here.
        return f"torch.{symbol.name}" if symbol.name.startswith("nn.") else symbol.name

    def function(self, symbol: Symbol) -> FunctionFacts:
        """A function at the file's top level."""
        return self._names.functions(_ALONE)[symbol.name]

    def family(self, qualname: str) -> list[Class]:
        """The class, and those of its bases that stand in this file."""
        names = {symbol.name for symbol in self._lineage(qualname) if symbol.kind == "class"}
        # A name may be given to several classes, under conditions.
        return [owner for name in sorted(names) for owner in self._classes.get(name, ())]

    @cached_property
    def called_inits(self) -> set[str]:
        """The classes whose `__init__` the source calls by their name, as it is written."""
        return {name for line in self.parsed.lines for name in _INIT.findall(line)}

    def inherits_from_torch(self, qualname: str) -> bool:
        """Do all bases end at `torch.nn`, so that nothing of another package can interfere?"""
        lineage = self._lineage(qualname)
        outside = [symbol for symbol in lineage if symbol.kind == "outside"]
        bases = sum(len(owner.node.bases) for owner in self.family(qualname))
        return bases == len(lineage) - 1 and all(
            symbol.name.startswith(("torch.nn.", "nn.")) and is_module(symbol.name)
            for symbol in outside
        )

    def _lineage(self, qualname: str) -> list[Symbol]:
        """The class and all its bases, according to this file: those of other files are
        "outside"."""
        start = Symbol("class", _ALONE, qualname)
        return reachable([start], lambda s: self._names.bases(s) if s.kind == "class" else ())


class Class(Struct, eq=False, weakref=True):
    """A class statement outside of functions."""

    node: ast.ClassDef
    qualname: str
    methods: dict[str, Method] = field(default_factory=dict)


def _classes(body: Sequence[ast.stmt], outer: str = "") -> Iterator[Class]:
    for node in flat(body):
        if isinstance(node, ast.ClassDef):
            owner = Class(node, f"{outer}{node.name}")
            for statement in flat(node.body):
                if isinstance(statement, FUNCTIONS):
                    owner.methods[statement.name] = Method(statement, ref(owner))
            yield owner
            yield from _classes(node.body, f"{owner.qualname}.")


class Method(Struct, eq=False, dict=True):
    """A function of a class body. Its class is held weakly: a cycle would keep the whole syntax
    tree until garbage is collected."""

    node: Function
    _owner: ref[Class]

    @cached_property
    def self_name(self) -> str:
        """What it calls its object; empty in static and class methods."""
        decorators = {plain_name(item) for item in self.node.decorator_list}
        parameters = [*self.node.args.posonlyargs, *self.node.args.args]
        if not parameters or decorators & {"staticmethod", "classmethod"}:
            return ""
        return parameters[0].arg

    def sibling(self, name: str) -> Method | None:
        """The method of that name in the same class."""
        owner = self._owner()
        return owner.methods.get(name) if owner is not None else None

    @property
    def runs_forward(self) -> bool:
        """Whether it is run for each batch, rather than to build the model."""
        return self.node.name.lstrip("_").startswith("forward") or self.node.name == "__call__"

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
    def calls(self) -> list[ast.Call]:
        return [node for node in self.nodes if node.__class__ is ast.Call]

    @cached_property
    def parameters(self) -> list[str]:
        return parameter_names(self.node.args)

    @cached_property
    def bindings(self) -> Bindings:
        return bindings(self.parameters, self.nodes)

    @cached_property
    def parents(self) -> dict[int, ast.AST]:
        return parents(self.nodes)

    @cached_property
    def puts(self) -> dict[str, list[ast.expr]]:
        """For each local name what is put into it: `name.append(X)`, `name[key] = X`, `name += X`.
        What is spread into it (`name.extend(X)`) stands as `[*X]`."""
        puts: dict[str, list[ast.expr]] = defaultdict(list)
        for node in self.nodes:
            for holder, value in put_into(node):
                if isinstance(holder, ast.Name):
                    puts[holder.id].append(value)
        return dict(puts)

    @cached_property
    def flow(self) -> ValueFlow:
        return ValueFlow(self)


class ValueFlow:
    """What one method does with its local variables (`layers`) and with the attributes of its
    object (`self.layers`), by name. `uses`: how often it stands there; `firsts`: how often as
    `self.layers[0]`."""

    def __init__(self, method: Method) -> None:
        self.uses: Counter[str] = Counter()
        self.firsts: Counter[str] = Counter()
        # How often it is given away: to a call, a container, another name or the caller.
        self._transfers: Counter[str] = Counter()
        self._loops: dict[str, set[str]] = defaultdict(set)  # the variables of the loops over it
        for node in method.nodes:
            if name := _name_in(node, method):
                self.uses[name] += 1
            elif isinstance(node, ast.Subscript):
                if isinstance(node.slice, ast.Constant) and node.slice.value == 0:
                    self.firsts[_name_in(node.value, method)] += 1
            elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
                targets = {item.id for item in nodes([node.target]) if isinstance(item, ast.Name)}
                for item in nodes([node.iter]):
                    if name := _name_in(item, method):
                        self._loops[name] |= targets
            for value in given_away(node):
                self._transfers[_name_in(value, method)] += 1

    def handed_over(self, name: str) -> int:
        """How often the value is passed on; a loop over it counts as often as the loop's variable
        is passed on."""
        names = reachable([name], lambda variable: self._loops.get(variable, ()))
        return sum(self._transfers[variable] for variable in names)


def _name_in(node: ast.AST, method: Method) -> str:
    """`layers`, `self.layers`; "" of anything else."""
    if isinstance(node, ast.Name):
        return node.id
    attribute = method.attribute(node)
    return f"self.{attribute}" if attribute else ""
