"""One source file as the rules see it: its names, classes and budgets. Parsed late."""

from __future__ import annotations

import contextlib
import re
import symtable
import sys
import warnings
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from nparam_lint.discover.installed_names import is_module
from nparam_lint.discover.models import Models
from nparam_lint.discover.name_resolution import Names, Symbol
from nparam_lint.discover.source_tree import Tree
from nparam_lint.records import Position
from nparam_lint.rules.classes import Class, find_classes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from libcst.metadata import CodeRange

    from nparam_lint.records import Definition


class SourceFile:
    """`modules`: the qualified names of the classes in it that are an `nn.Module`; None: those that
    can be seen to be from this file alone. `tree`: of this file alone, where there is one already.
    Raises nothing for any content: `is_readable` tells."""

    def __init__(
        self,
        path: str,
        source: bytes,
        modules: frozenset[str] | None = None,
        tree: Tree | None = None,
    ) -> None:
        self.path = path
        self.source = source
        self.names = Names(tree or Tree({path}, lambda _: source))
        self.models = Models(self.names)
        self._symbols: dict[str, Symbol | None] = {}
        self._modules = modules

    @property
    def is_readable(self) -> bool:
        return self.names.tree.facts(self.path).problem is None

    @cached_property
    def modules(self) -> frozenset[str]:
        """The qualified names of the classes that are an `nn.Module`."""
        if self._modules is not None:
            return self._modules
        return frozenset(
            name
            for name in self.names.classes(self.path)
            if self.models.is_model(Symbol("class", self.path, name))
        )

    @cached_property
    def declared(self) -> tuple[Definition, ...]:
        """What declares a budget in its docstring."""
        return tuple(self.models.definitions(self.path, declared_only=True))

    @cached_property
    def tree(self) -> cst.Module:
        """Raises libcst.ParserSyntaxError where libcst refuses what Python takes, RecursionError
        where expressions are nested too deeply."""
        _check_depth(self.source)
        return cst.parse_module(self.source)

    @cached_property
    def _positions(self) -> Mapping[cst.CSTNode, CodeRange]:
        # It writes the whole file anew: only where there is something to report.
        return MetadataWrapper(self.tree, unsafe_skip_copy=True).resolve(PositionProvider)

    def position(self, node: cst.CSTNode) -> Position:
        start = self._positions[node].start
        return Position(self.path, start.line, start.column + 1)

    @cached_property
    def classes(self) -> list[Class]:
        return find_classes(self.tree, self.modules)

    def resolve(self, dotted: str) -> Symbol | None:
        """What a dotted name means at the file's top level."""
        if dotted not in self._symbols:
            self._symbols[dotted] = self.names.resolve(self.path, dotted) if dotted else None
        return self._symbols[dotted]

    def outside(self, dotted: str) -> str:
        """The full name, where it is one of an installed package: `torch.nn.Linear`; else ""."""
        symbol = self.resolve(dotted)
        if symbol is None or symbol.kind != "outside":
            return ""
        # `nn` came by a star import that cannot be followed from here.
        return f"torch.{symbol.name}" if symbol.name.startswith("nn.") else symbol.name

    def is_torch_module(self, dotted: str) -> bool:
        """Is this a class of `torch.nn`? Assigning one before `Module.__init__()` surely fails."""
        full = self.outside(dotted)
        return full.startswith("torch.nn.") and is_module(full)

    def lineage(self, qualname: str) -> list[Symbol]:
        """The class and all its bases, as far as this file tells: those of other files are
        "outside"."""
        pending, found = [Symbol("class", self.path, qualname)], dict[Symbol, None]()
        while pending:
            symbol = pending.pop()
            if symbol not in found:
                found[symbol] = None
                if symbol.kind == "class":
                    pending += reversed(list(self.names.bases(symbol)))
        return list(found)

    def family(self, qualname: str) -> list[Class]:
        """The class, and those of its bases that stand in this file."""
        names = {symbol.name for symbol in self.lineage(qualname) if symbol.kind == "class"}
        places = sorted(place for name in names for place in self._places.get(name, ()))
        return [self.classes[place] for place in places]

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        """Qualified name → where the classes of that name are in `classes`."""
        found: dict[str, list[int]] = {}
        for place, owner in enumerate(self.classes):
            found.setdefault(owner.qualname, []).append(place)
        return found

    @cached_property
    def initialised(self) -> frozenset[bytes]:
        """X of every `X.__init__` in the source."""
        return frozenset(re.findall(rb"([\w\x80-\xff]+)\.__init__", self.source))

    def inherits_from_torch(self, qualname: str) -> bool:
        """Do all bases end at `torch.nn`, so that nothing of another package can interfere?"""
        lineage = self.lineage(qualname)
        outside = [symbol for symbol in lineage if symbol.kind == "outside"]
        bases = sum(len(owner.node.bases) for owner in self.family(qualname))
        return bases == len(lineage) - 1 and all(
            symbol.name.startswith(("torch.nn.", "nn.")) and is_module(symbol.name)
            for symbol in outside
        )


def _check_depth(source: bytes) -> None:
    """Raise RecursionError for what libcst's parser would overflow the stack on. From 3.11 on,
    Python's own parser has refused such a file before."""
    if sys.version_info < (3, 11):
        with warnings.catch_warnings(), contextlib.suppress(SyntaxError):
            warnings.simplefilter("ignore")
            symtable.symtable(source, "", "exec")  # type: ignore[arg-type]  # it takes bytes, too
