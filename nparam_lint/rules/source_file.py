"""One parsed source file as the rules see it: its names and its classes."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from nparam_lint.discover.models import Models
from nparam_lint.discover.name_resolution import Names, Symbol, is_module
from nparam_lint.discover.source_tree import SourceTree
from nparam_lint.discover.syntax import character
from nparam_lint.rules.class_methods import Class, find_classes

if TYPE_CHECKING:
    import ast

    from nparam_lint.discover.scan import FunctionFacts, Parsed
    from nparam_lint.records import Definition

# Under this name no import of the file finds the file itself: where it lies makes no difference.
_ALONE = "?.py"
_WORD = re.compile(r"\w*")


class SourceFile:
    """`modules`: the qualified names of the classes in it that are an `nn.Module`; None: those that
    can be seen to be from this file alone."""

    def __init__(self, parsed: Parsed, modules: frozenset[str] | None) -> None:
        self._parsed = parsed
        facts = replace(parsed.facts, path=_ALONE)
        self._models = Models(Names(SourceTree({_ALONE}, lambda _: b"", scan=lambda *_: facts)))
        self._names = self._models.names
        self._symbols: dict[str, Symbol | None] = {}
        self.modules = self._models.modules(_ALONE) if modules is None else modules

    @cached_property
    def declared(self) -> tuple[Definition, ...]:
        """What declares a budget in its docstring."""
        return tuple(self._models.definitions(_ALONE, declared_only=True))

    @cached_property
    def classes(self) -> list[Class]:
        return find_classes(self._parsed.tree, self.modules)

    @cached_property
    def module_classes(self) -> list[Class]:
        return [owner for owner in self.classes if owner.is_module] if self.modules else []

    def place(self, node: ast.stmt | ast.expr) -> tuple[int, int]:
        """The line and column of a node; `ast` counts the bytes of UTF-8."""
        line = self._parsed.lines[node.lineno - 1]
        return node.lineno, character(line, node.col_offset) + 1

    def resolve(self, dotted: str) -> Symbol | None:
        """What a dotted name means at the file's top level."""
        if dotted not in self._symbols:
            self._symbols[dotted] = self._names.resolve(_ALONE, dotted) if dotted else None
        return self._symbols[dotted]

    def outside(self, dotted: str) -> str:
        """The full name, where it is one of an installed package: `torch.nn.Linear`; else ""."""
        symbol = self.resolve(dotted)
        if symbol is None or symbol.kind != "outside":
            return ""
        # `nn` came by a star import that cannot be followed from here.
        return f"torch.{symbol.name}" if symbol.name.startswith("nn.") else symbol.name

    @cached_property
    def imported(self) -> frozenset[str]:
        """The names that its imports bind."""
        return frozenset(item.bound for item in self._parsed.facts.imports)

    def function(self, symbol: Symbol) -> FunctionFacts:
        """A function at the file's top level."""
        return self._names.functions(_ALONE)[symbol.name]

    def family(self, qualname: str) -> list[Class]:
        """The class, and those of its bases that stand in this file."""
        names = {symbol.name for symbol in self._lineage(qualname) if symbol.kind == "class"}
        return [owner for name in sorted(names) for owner in self.classes_named(name)]

    def classes_named(self, qualname: str) -> list[Class]:
        """A name may be given to several classes, under conditions."""
        return self._by_name.get(qualname, [])

    @cached_property
    def _by_name(self) -> dict[str, list[Class]]:
        found: dict[str, list[Class]] = {}
        for owner in self.classes:
            found.setdefault(owner.qualname, []).append(owner)
        return found

    def calls_init_of(self, name: str) -> bool:
        """Does the source call the `__init__` of a class whose name ends so, by that name?"""
        return any(before.endswith(name) for before in self._before_init)

    @cached_property
    def _before_init(self) -> frozenset[str]:
        """X of every `X.__init__` in the source."""
        *parts, _ = "\n".join(self._parsed.lines).split(".__init__")
        return frozenset(_WORD.match(part[::-1])[0][::-1] for part in parts)  # type: ignore[index]

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
        """The class and all its bases, as far as this file tells: those of other files are
        "outside"."""
        pending, found = [Symbol("class", _ALONE, qualname)], dict[Symbol, None]()
        while pending:
            symbol = pending.pop()
            if symbol not in found:
                found[symbol] = None
                if symbol.kind == "class":
                    pending += reversed(list(self._names.bases(symbol)))
        return list(found)
