"""Named sizes: the keys of a table that a factory looks its arguments up in."""

from __future__ import annotations

import ast
from itertools import chain
from typing import TYPE_CHECKING

from nparam_lint.discover.name_resolution import Symbol
from nparam_lint.discover.source_tree import cached_method
from nparam_lint.discover.syntax import dotted_name, returned_calls
from nparam_lint.evidence import Evidence
from nparam_lint.evidence.call_search import CLASS_TEXT
from nparam_lint.evidence.config_classes import ConfigClasses
from nparam_lint.evidence.config_tables import ConfigTables
from nparam_lint.evidence.named_parameters import KIND_OF_NAME, takes_name
from nparam_lint.evidence.size_slice import downloads, needed_for, only_opens
from nparam_lint.evidence.statements import does_work
from nparam_lint.ground.notation import Target
from nparam_lint.ground.orders import Recipe
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.script_words import WEIGHTS_SWITCH
from nparam_lint.ground.values import Position, Way

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.discover.definitions import Definition
    from nparam_lint.evidence import EvidenceQuery
    from nparam_lint.evidence.file_calls import CalledFiles
    from nparam_lint.evidence.literal_tables import Entry
    from nparam_lint.evidence.named_parameters import FoundFunction, NamedParameter

_DEEP = 4  # functions that are followed to what they return
# Methods are not among the facts of a file.
_BUILDER = late_pattern(rb"@(?:class|static)method\s+def [a-z]")
_METHOD = late_pattern(
    rf"@(?:class|static)method\s+def [a-z]\w*\([^)]*?\b{KIND_OF_NAME}\b".encode()
)


def find_sizes(files: CalledFiles) -> Iterator[Evidence]:
    """The ways of this kind; of each size of a model the first that was found, those that need no
    setup first."""
    ways: dict[tuple[Target, str], Evidence] = {}
    every = _Sizes(files.query).ways()
    for evidence in sorted(every, key=lambda way: way.recipe.setup is not None):
        ways.setdefault((evidence.target, evidence.way.name), evidence)
    yield from ways.values()


class _Sizes:
    def __init__(self, query: EvidenceQuery) -> None:
        self.query = query
        self.discovery = query.discovery
        self.models = query.discovery.models
        self.size_names = query.size_names
        self.configs = ConfigClasses(query)

    def ways(self) -> Iterator[Evidence]:
        makers: list[tuple[FoundFunction, NamedParameter]] = []  # of config objects
        for function in self.functions():
            parameter = self.size_names.of(function.path, function.qualname)
            if parameter is None:
                continue
            targets = self.targets(function, parameter)
            self.configs.by_name.update(targets)
            for target in targets:
                for entry in parameter.entries:
                    if recipe := self.recipe(function, parameter, entry, target):
                        way = entry.way(parameter.path)
                        yield Evidence(target, way, function.path, recipe)
            if not targets and function.kind != "method":
                makers.append((function, parameter))
        yield from self.named_factories()
        yield from self.method_factories()
        yield from self.config_methods()
        yield from self.without_weights()
        for maker in makers:
            yield from self.of_config_factory(*maker)
        # Entries of tables that no factory by name looks up.
        yield from ConfigTables(self.query, self.configs)

    def functions(self) -> Iterator[FoundFunction]:
        """Those that may make something by name."""
        for path in self.discovery.parsed:
            source = self.discovery.tree.source(path)
            names = self.candidates(path, source)
            if names or _METHOD.search(source):
                for name, function in self.size_names.file(path).functions.items():
                    if name in names or function.kind in ("class", "static"):
                        yield function

    def named_factories(self) -> Iterator[Evidence]:
        """Functions that make one class each, with nothing: their names are those of its sizes."""
        makers: dict[Target, list[Definition]] = {}
        for item in self.discovery.definitions:
            factory = Target(item.path, item.qualname)
            if item.kind != "factory" or self.query.needs_arguments(factory):
                continue
            function = self.size_names.file(item.path).functions.get(item.qualname)
            products = self.products(function) if function else []
            for product in products if len(products) == 1 else ():
                target = Target(product.where, product.name)
                if target in self.query.targets and self.query.needs_arguments(target):
                    makers.setdefault(target, []).append(item)
        for target, items in makers.items():
            for item in items if len(items) > 1 else ():
                way = Way("size", item.position, item.qualname)
                yield Evidence(target, way, item.path, Recipe(call=f"{item.qualname}()"))

    def method_factories(self) -> Iterator[Evidence]:
        """Static and class methods that make their class, with nothing: `Codec.small()`."""
        for target in sorted(self.query.targets, key=str):
            if not (target.is_path and self.may_build(target)):
                continue
            for function in self.methods(Symbol("class", target.location, target.callable)):
                name = function.node.name
                switches = [p.arg for p in function.parameters if WEIGHTS_SWITCH.match(p.arg)]
                arguments = "".join(f"{switch}=False" for switch in switches[:1])
                at = Position(target.location, function.node.lineno, function.node.col_offset + 1)
                recipe = Recipe(call=f"{function.qualname}({arguments})")
                yield Evidence(target, Way("size", at, name), target.location, recipe)

    def config_methods(self) -> Iterator[Evidence]:
        """Models of the config objects that static and class methods make with nothing:
        `GPT(GPTConfig.small())`."""
        for config in self.configs.classes():
            for function in self.methods(config):
                at = Position(config.where, function.node.lineno, function.node.col_offset + 1)
                way = Way("size", at, function.node.name)
                for model in self.configs.users(config):
                    file, names, imports = self.configs.in_one_file(
                        (model.location, model.callable), (config.where, function.qualname)
                    )
                    recipe = Recipe(setup=imports, call=f"{names[0]}({names[1]}())")
                    yield Evidence(model, way, file, recipe)

    def methods(self, owner: Symbol) -> Iterator[FoundFunction]:
        """The static and class methods that make their class, with nothing."""
        if not _BUILDER.search(self.discovery.tree.source(owner.where)):
            return
        for function in self.size_names.file(owner.where).functions.values():
            name, is_of_class = function.node.name, function.kind in ("class", "static")
            if function.owner != owner.name or not is_of_class or function.required:
                continue
            products = {(symbol.where, symbol.name) for symbol in self.products(function)}
            if name[0] != "_" and not does_work(name) and products == {(owner.where, owner.name)}:
                yield function

    def may_build(self, target: Target) -> bool:
        """Whether the text of a class has such a method, and calls the class."""
        name = target.callable.encode()
        body = self.class_texts(target.location).get(name, b"").partition(b"\n")[2]
        # Perhaps in another method, which this one calls.
        return bool(_BUILDER.search(body)) and (b"cls(" in body or name + b"(" in body)

    @cached_method
    def class_texts(self, path: str) -> dict[bytes, bytes]:
        """Those of a file that may have such methods, by their names."""
        source = self.discovery.tree.source(path)
        texts = CLASS_TEXT.finditer(source) if _BUILDER.search(source) else ()
        return {match[1]: match[0] for match in texts}

    def without_weights(self) -> Iterator[Evidence]:
        """Models that download their weights unless told not to, which are of no use to a count."""
        for item in self.discovery.definitions:
            target = Target(item.path, item.qualname)
            if target in self.query.targets and not self.query.needs_arguments(target):
                parameters = item.parameters or ()
                switch = next((p for p in parameters if WEIGHTS_SWITCH.match(p.name)), None)
                if switch and switch.default == "True":
                    way = Way("call", item.position)
                    recipe = Recipe(call=f"{item.qualname}({switch.name}=False)")
                    yield Evidence(target, way, item.path, recipe)

    def candidates(self, path: str, source: bytes) -> set[str]:
        """The functions and constructors of a file that may make a model by name."""
        names = self.models.names
        candidates = {
            f"{qualname}.__init__"
            for qualname, facts in names.classes(path).items()
            if facts.init
            and takes_name(facts.init.parameters, source)
            and Target(path, qualname) in self.query.targets
        }
        for name, facts in names.functions(path).items():
            if takes_name(facts.parameters, source):
                in_file = names.names(path)
                if facts.imports or any(n.partition(".")[0] in in_file for n in facts.returned):
                    candidates.add(name)
        return candidates

    def of_config_factory(
        self, function: FoundFunction, parameter: NamedParameter
    ) -> Iterator[Evidence]:
        """The models that are built from a config object that is made by name."""
        products = dict.fromkeys(self.config_products(function))
        used = [(attribute, config) for attribute, config in products if self.configs.users(config)]
        if len(used) != 1:
            return
        attribute, config = used[0]
        for model in self.configs.users(config):
            file, names, imports = self.configs.in_one_file(
                (model.location, model.callable), (function.path, function.qualname)
            )
            for entry in parameter.entries:
                recipe = self.recipe(function, parameter, entry, model, names[1])
                if recipe and recipe.setup is None:
                    call = f"{names[0]}({recipe.call}{attribute})"
                    recipe = Recipe(setup=imports, call=call)
                    yield Evidence(model, entry.way(parameter.path), file, recipe)

    def config_products(self, function: FoundFunction) -> Iterator[tuple[str, Symbol]]:
        """The config classes of which a function returns an object; or a record that holds one, as
        in `return Spec(model=config)`: then with the attribute, `.model`."""
        products = self.products(function)
        yield from (("", product) for product in products if self.configs.is_config(product))
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
                for product in self.products_of(function, dotted) if item.arg else ():
                    if self.configs.is_config(product):
                        yield f".{item.arg}", product

    def recipe(
        self,
        function: FoundFunction,
        parameter: NamedParameter,
        entry: Entry,
        target: Target,
        local_name: str = "",
    ) -> Recipe | None:
        """The call of the factory; where it would load something, what it does before that."""
        name = parameter.parameter
        if downloads(function):
            file = self.size_names.file(function.path)
            recipe = needed_for(function, file, {name: entry.text}, target.callable)
            if recipe or not only_opens(function):
                return recipe
        if set(function.required) - {name}:
            return None
        callee = local_name or function.qualname.removesuffix(".__init__")
        is_first = [item.arg for item in function.positional[:1]] == [name]
        return Recipe(call=f"{callee}({'' if is_first else f'{name}='}{entry.text})")

    # --- what a factory makes -------------------------------------------------------------------

    def targets(self, function: FoundFunction, parameter: NamedParameter) -> list[Target]:
        """The wanted models that a function makes: the class, and the function itself where it
        cannot be called without the name."""
        models = self.query.targets
        if function.kind == "method":
            model = Target(function.path, function.owner)
            return [model] if function.node.name == "__init__" and model in models else []
        if function.node.name.startswith("_"):
            return []
        classes = (Target(product.where, product.name) for product in self.products(function))
        targets = [target for target in classes if target in models]
        targets = targets if len(targets) == 1 else []
        factory = Target(function.path, function.qualname)
        if factory in models and parameter.parameter in function.required:
            targets.append(factory)
        return targets

    def products(self, function: FoundFunction, depth: int = 0) -> list[Symbol]:
        """The classes of which a function returns an instance."""
        tables = self.size_names.file(function.path).dictionaries
        returned, _ = returned_calls(function.node, tables)
        products = (self.products_of(function, dotted, depth) for dotted in returned)
        return [*dict.fromkeys(chain.from_iterable(products))]

    def products_of(self, function: FoundFunction, dotted: str, depth: int = 0) -> Iterator[Symbol]:
        """The classes of which a call inside a function gives an instance."""
        table = self.size_names.file(function.path).tables.get(dotted)  # of `table[…]()`
        callees = [dotted_name(e.value) for e in table.entries if e.value] if table else [dotted]
        for name in callees if depth < _DEEP else ():
            symbol = self.size_names.resolve(function, name) if name else None
            if symbol is None or symbol.kind == "outside":
                continue
            if symbol.kind == "class":
                yield symbol
            elif callee := self.size_names.file(symbol.where).functions.get(symbol.name):
                yield from self.products(callee, depth + 1)
