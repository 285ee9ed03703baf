"""Named sizes: the keys of a table that a factory looks its arguments up in."""

from __future__ import annotations

import ast
import re
from itertools import chain
from typing import TYPE_CHECKING

from nparam_lint.claims import Target
from nparam_lint.discover.definitions import Way
from nparam_lint.discover.syntax import dotted_name, rare_collection, returned_calls
from nparam_lint.evidence import Evidence
from nparam_lint.evidence.config_classes import ConfigClasses
from nparam_lint.evidence.config_tables import ConfigTables
from nparam_lint.evidence.named_parameters import KIND_OF_NAME, NamedParameters, takes_name
from nparam_lint.evidence.size_slice import downloads, needed_for
from nparam_lint.ground.orders import Recipe
from nparam_lint.ground.script_words import WEIGHTS_SWITCH
from nparam_lint.ground.values import Position

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.discover.definitions import Definition
    from nparam_lint.discover.name_resolution import Symbol
    from nparam_lint.evidence import EvidenceQuery
    from nparam_lint.evidence.literal_tables import Entry
    from nparam_lint.evidence.named_parameters import FoundFunction, NamedParameter

# Methods are not among the facts of a file.
_METHOD = re.compile(rf"@(?:class|static)method\s+def [a-z]\w*\([^)]*?\b{KIND_OF_NAME}\b".encode())


def find_sizes(source: EvidenceQuery) -> Iterator[Evidence]:
    """The ways of this kind; of each size of a model the first that was found, those that need no
    setup first."""
    known: set[tuple[Target, str]] = set()
    with rare_collection():
        ways = sorted(_Sizes(source).ways(), key=lambda way: way.recipe.setup is not None)
    for found in ways:
        key = found.target, found.way.name
        if key not in known:
            known.add(key)
            yield found


class _Sizes:
    def __init__(self, source: EvidenceQuery) -> None:
        self.source = source
        self.found = source.found
        self.models = source.found.models
        self.named = NamedParameters(source.found)
        self.configs = ConfigClasses(source, self.named)
        self.by_name: set[Target] = set()  # models with a factory of their own

    def ways(self) -> Iterator[Evidence]:
        makers: list[tuple[FoundFunction, NamedParameter]] = []  # of config objects
        for function in self.functions():
            named = self.named.of(function.path, function.qualname)
            if named is None:
                continue
            targets = self.targets(function, named)
            for target in targets:
                self.by_name.add(target)
                yield from self.of_function(function, named, target)
            if not targets and function.kind != "method":
                makers.append((function, named))
        yield from self.named_factories()
        yield from self.without_weights()
        for maker in makers:
            yield from self.of_config_factory(*maker)
        yield from self.table_entries()

    def functions(self) -> Iterator[FoundFunction]:
        """Those that may make something by name."""
        for path in self.found.parsed:
            source = self.found.tree.source(path)
            names = self.candidates(path, source)
            if names or _METHOD.search(source):
                for name, function in self.named.file(path).functions.items():
                    if name in names or function.kind in ("class", "static"):
                        yield function

    def table_entries(self) -> Iterator[Evidence]:
        """Entries of tables that no factory by name looks up."""
        for path, table, model, file, call in ConfigTables(
            self.source, self.named, self.configs, self.users
        ):
            for entry in table.entries:
                yield self.way(model, path, entry, file, Recipe(call=call.format(entry.text)))

    def named_factories(self) -> Iterator[Evidence]:
        """Functions that make one class each, with nothing: their names are those of its sizes."""
        makers: dict[Target, list[Definition]] = {}
        for item in self.found.definitions:
            takes_nothing = not any(one.required for one in item.parameters or ())
            is_factory = item.kind == "factory" and takes_nothing
            target = self.class_of(item.path, item.qualname) if is_factory else None
            if target:
                makers.setdefault(target, []).append(item)
        for target, items in makers.items():
            for item in items if len(items) > 1 else ():
                way = Way("size", Position(item.path, item.line, item.column), item.qualname)
                yield Evidence(target, way, item.path, Recipe(call=f"{item.qualname}()"))

    def without_weights(self) -> Iterator[Evidence]:
        """Models that download their weights unless told not to, which are of no use to a count."""
        for item in self.found.definitions:
            needs = [one.name for one in item.parameters or () if one.required]
            loads = [one.name for one in item.parameters or () if WEIGHTS_SWITCH.match(one.name)]
            target = Target(item.path, item.qualname)
            given = {one.name: one.default for one in item.parameters or ()}
            if target in self.source.wanted and not needs and loads and given[loads[0]] == "True":
                way = Way("call", Position(item.path, item.line, item.column))
                recipe = Recipe(call=f"{item.qualname}({loads[0]}=False)")
                yield Evidence(target, way, item.path, recipe)

    def class_of(self, path: str, name: str, depth: int = 0) -> Target | None:
        """The class, not to be called alone, that a function returns an instance of."""
        facts = self.models.names.functions(path).get(name)
        if facts is None or depth >= _DEEP:
            return None
        for dotted in facts.returned:
            symbol = self.models.names.resolve(path, dotted, local=facts.imports)
            if symbol and symbol.kind == "function":
                return self.class_of(symbol.where, symbol.name, depth + 1)
            if symbol and symbol.kind == "class":
                target = Target(symbol.where, symbol.name)
                given = self.models.parameters(symbol) or ()
                is_stuck = any(item.required for item in given)
                return target if is_stuck and target in self.source.wanted else None
        return None

    def candidates(self, path: str, source: bytes) -> set[str]:
        """The functions and constructors of a file that may make a model by name."""
        names = self.models.names
        found = {
            f"{qualname}.__init__"
            for qualname, facts in names.classes(path).items()
            if facts.init
            and takes_name(facts.init.parameters, source)
            and Target(path, qualname) in self.source.wanted
        }
        for name, facts in names.functions(path).items():
            if takes_name(facts.parameters, source):
                own = names.names(path)
                if any(item.partition(".")[0] in own for item in facts.returned) or facts.imports:
                    found.add(name)
        return found

    def of_function(
        self, function: FoundFunction, named: NamedParameter, target: Target
    ) -> Iterator[Evidence]:
        """The sizes that a factory, or a constructor, has by name."""
        for entry in named.entries:
            recipe = self.recipe(function, named, entry, target)
            if recipe:
                yield self.way(target, named.path, entry, function.path, recipe)

    def of_config_factory(
        self, function: FoundFunction, named: NamedParameter
    ) -> Iterator[Evidence]:
        """The models that are built from a config object that is made by name."""
        every = dict.fromkeys(self.made_configs(function))
        made = [(held, config) for held, config in every if self.users(config)]
        for held, config in made if len(made) == 1 else ():
            for model in self.users(config):
                own = function.path, function.qualname
                file, names = self.configs.shared_file((model.location, model.callable), own)
                for entry in named.entries if names else ():
                    recipe = self.recipe(function, named, entry, model, names[1])
                    if recipe and recipe.setup is None:
                        recipe = Recipe(call=f"{names[0]}({recipe.call}{held})")
                        yield self.way(model, named.path, entry, file, recipe)

    def made_configs(self, function: FoundFunction) -> Iterator[tuple[str, Symbol]]:
        """The config classes of which a function returns an object; or a record that holds one, as
        in `return Spec(model=config)`: then with the attribute, `.model`."""
        yield from (("", made) for made in self.products(function) if self.configs.is_config(made))
        nodes = list(ast.walk(function.node))
        values = {
            node.targets[0].id: node.value
            for node in reversed(nodes)
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }
        returned = [node.value for node in nodes if isinstance(node, ast.Return)]
        for call in returned:
            for item in call.keywords if isinstance(call, ast.Call) else ():
                name = item.value.id if isinstance(item.value, ast.Name) else ""
                value = values.get(name, item.value)
                dotted = dotted_name(value.func) if isinstance(value, ast.Call) else ""
                for made in self.products_of(function, dotted) if item.arg else ():
                    if self.configs.is_config(made):
                        yield f".{item.arg}", made

    def users(self, config: Symbol) -> list[Target]:
        """The models that are built from such an object; none where one of them has its sizes by
        name, since the others are then parts of it."""
        every = self.configs.all_users(config)
        return [] if self.by_name.intersection(every) else self.configs.users(config)

    def way(self, target: Target, path: str, entry: Entry, file: str, recipe: Recipe) -> Evidence:
        at = Position(path, entry.node.lineno, entry.node.col_offset + 1)
        return Evidence(target, Way("size", at, entry.name), file, recipe)

    def recipe(
        self,
        function: FoundFunction,
        named: NamedParameter,
        entry: Entry,
        target: Target,
        called: str = "",
    ) -> Recipe | None:
        """The call of the factory; where it would load something, what it does before that."""
        name = entry.text
        if downloads(function):
            file = self.named.file(function.path)
            return needed_for(function, file, {named.parameter: name}, target.callable)
        if set(function.required) - {named.parameter}:
            return None
        callee = called or function.qualname.removesuffix(".__init__")
        is_first = [item.arg for item in function.positional[:1]] == [named.parameter]
        return Recipe(
            call=f"{callee}({name})" if is_first else f"{callee}({named.parameter}={name})"
        )

    # --- what a factory makes -------------------------------------------------------------------

    def targets(self, function: FoundFunction, named: NamedParameter) -> list[Target]:
        """The wanted models that a function makes: the class, and the function itself where it
        cannot be called without the name."""
        if function.kind == "method":
            own = Target(function.path, function.owner)
            return [own] if function.node.name == "__init__" and own in self.source.wanted else []
        if function.node.name.startswith("_"):
            return []
        classes = self.products(function)
        targets = [t for t in (Target(s.where, s.name) for s in classes) if t in self.source.wanted]
        targets = targets if len(targets) == 1 else []
        own = Target(function.path, function.qualname)
        if own in self.source.wanted and named.parameter in function.required:
            targets.append(own)
        return targets

    def products(self, function: FoundFunction, depth: int = 0) -> list[Symbol]:
        """The classes of which a function returns an instance."""
        returned, _ = returned_calls(function.node)
        made = (self.products_of(function, dotted, depth) for dotted in returned)
        return [*dict.fromkeys(chain.from_iterable(made))]

    def products_of(self, function: FoundFunction, dotted: str, depth: int = 0) -> Iterator[Symbol]:
        """The classes of which a call inside a function gives an instance."""
        for symbol in self.called(function, dotted) if dotted and depth < _DEEP else ():
            if symbol.kind == "class":
                yield symbol
            elif callee := self.named.file(symbol.where).functions.get(symbol.name):
                yield from self.products(callee, depth + 1)

    def called(self, function: FoundFunction, dotted: str) -> Iterator[Symbol]:
        """What a call inside a function runs; what all of a table hold where it is `table[…]()`."""
        table = self.named.file(function.path).tables.get(dotted)
        values = [dotted_name(e.value) for e in table.entries if e.value] if table else [dotted]
        for value in values:
            symbol = self.named.resolve(function, value) if value else None
            if symbol and symbol.kind != "outside":
                yield symbol


_DEEP = 4
