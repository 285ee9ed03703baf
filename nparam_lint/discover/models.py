"""Which classes and functions of the repository are models."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from nparam_lint.discover import installed_names
from nparam_lint.discover.name_resolution import Names, Symbol
from nparam_lint.records import Definition, Parameter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nparam_lint.discover.facts import ClassFacts, FunctionFacts

_REGISTERS_MODEL = re.compile(
    r"regist\w*\.?\w*(model|net|backbone|arch|encoder|module)|(model|backbone|net)\w*\.regist", re.I
)
_BUILDS = re.compile(r"(from|build|create|make|load|get)_")


class Models:
    """Decides by bases, annotations and returned values. Cycles end as "no model"."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self._models: dict[Symbol, bool] = {}

    def is_model(self, symbol: Symbol | None) -> bool:
        """Is this class an `nn.Module`?"""
        if symbol is None or symbol.kind not in ("class", "outside"):
            return False
        if symbol.kind == "outside":
            return installed_names.is_module(symbol.name)
        if symbol not in self._models:
            self._models[symbol] = False  # until the bases say otherwise: they may form a cycle
            self._models[symbol] = any(self.is_model(base) for base in self.names.bases(symbol))
        return self._models[symbol]

    def makes_model(self, symbol: Symbol | None) -> bool:
        """Does calling this give a model?"""
        if symbol is None:
            return False
        if symbol.kind == "outside":
            return installed_names.is_whole_model(symbol.name) or installed_names.is_factory(
                symbol.name
            )
        if symbol.kind == "method":
            owner, _, name = symbol.name.rpartition(".")
            return bool(_BUILDS.match(name)) and self.is_model(Symbol("class", symbol.where, owner))
        if symbol.kind == "function":
            if symbol not in self._models:
                self._models[symbol] = False
                facts = self.names.functions(symbol.where)[symbol.name]
                self._models[symbol] = self._is_factory(symbol.where, facts)
            return self._models[symbol]
        return self.is_model(symbol)

    def _is_factory(self, path: str, facts: FunctionFacts) -> bool:
        if facts.declares:
            return True
        if facts.hands_back or self._may_be_model(path, facts.takes):
            return False  # it changes or wraps a model that it is given
        if any(
            self.makes_model(self.names.resolve(path, callee, "", facts.imports))
            for callee in facts.returned
        ):
            return True
        if self._may_be_model(path, facts.gives, whole=True):
            return True
        registered = any(_REGISTERS_MODEL.search(name) for name in facts.decorators)
        return registered and bool(facts.returned)

    def _may_be_model(self, path: str, names: Iterable[str], whole: bool = False) -> bool:
        for name in names:
            symbol = self.names.resolve(path, name)
            if symbol is not None and symbol.kind == "outside" and whole:
                if installed_names.is_whole_model(symbol.name):
                    return True
            elif self.is_model(symbol):
                return True
        return False

    def modules(self, path: str) -> frozenset[str]:
        """The qualified names of the `nn.Module` classes of one file."""
        names = self.names.classes(path)
        return frozenset(n for n in names if self.is_model(Symbol("class", path, n)))

    def model_names(self, path: str) -> set[str]:
        """The names under which this file offers models or factories to other files."""
        found = {
            name
            for name in (*self.names.classes(path), *self.names.functions(path))
            if self.makes_model(self.names.resolve(path, name))
        }
        facts = self.names.tree.facts(path)
        renamed = [item.bound for item in facts.imports if item.bound != (item.name or "")]
        for name in (*renamed, *(alias for alias, _ in facts.aliases)):
            if name not in found and self.makes_model(self.names.lookup(path, name)):
                found.add(name)
        return {name.rpartition(".")[2] for name in found}

    def definitions(self, path: str, *, declared_only: bool = False) -> Iterator[Definition]:
        """The models and factories of one file, in its order."""
        found: list[Definition] = []
        for item in self.names.classes(path).values():
            symbol = Symbol("class", path, item.qualname)
            hidden = declared_only or item.abstract or self._is_protocol(item)
            if item.declares or (not hidden and self.is_model(symbol)):
                found.append(self._class_definition(symbol, item))
        for function in self.names.functions(path).values():
            symbol = Symbol("function", path, function.name)
            hidden = declared_only or function.name.startswith(("_", "test_"))
            if function.declares or (not hidden and self.makes_model(symbol)):
                found.append(_factory_definition(path, function))
        yield from sorted(found, key=lambda definition: (definition.line, definition.column))

    def _class_definition(self, symbol: Symbol, facts: ClassFacts) -> Definition:
        inner = facts.init.docstring if facts.init else ()
        return Definition(
            symbol.where,
            symbol.name,
            "class",
            facts.line,
            facts.column,
            tuple(lines for lines in (facts.docstring, inner) if lines),
            self.parameters(symbol),
        )

    @staticmethod
    def _is_protocol(facts: ClassFacts) -> bool:
        return any(base.rpartition(".")[2] == "Protocol" for base in facts.bases)

    def parameters(self, symbol: Symbol) -> tuple[Parameter, ...] | None:
        """What the constructor takes; None where it is inherited from an installed package."""
        found = self._constructor(symbol, set())
        return () if found == "nothing" else found

    def _constructor(
        self, symbol: Symbol, seen: set[Symbol]
    ) -> tuple[Parameter, ...] | Literal["nothing"] | None:
        """ "nothing": neither the class nor its bases bring a constructor of their own."""
        if symbol.kind == "outside":
            tail = symbol.name.rpartition(".")[2]
            plain = tail in ("object", "ABC", "Generic", "Protocol") or tail.endswith("Mixin")
            return "nothing" if plain or installed_names.takes_nothing(symbol.name) else None
        if symbol.kind != "class" or symbol in seen:
            return "nothing"
        seen.add(symbol)
        facts = self.names.classes(symbol.where)[symbol.name]
        if facts.init is not None:
            return facts.init.parameters
        inherited: tuple[Parameter, ...] | Literal["nothing"] | None = "nothing"
        for base in self.names.bases(symbol):
            inherited = self._constructor(base, seen)
            if inherited != "nothing":
                break
        if facts.fields is None:
            return inherited
        before = inherited if isinstance(inherited, tuple) else ()
        own = {item.name for item in facts.fields}
        return (*(item for item in before if item.name not in own), *facts.fields)


def _factory_definition(path: str, facts: FunctionFacts) -> Definition:
    return Definition(
        path,
        facts.name,
        "factory",
        facts.line,
        facts.column,
        (facts.docstring,) if facts.docstring else (),
        facts.parameters,
    )
