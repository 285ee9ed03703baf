"""Which models are built from an object of which config class, and the names of both in a file."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING, TypeGuard

from nparam_lint.discover.name_resolution import Symbol
from nparam_lint.discover.source_tree import cached_method
from nparam_lint.discover.syntax import annotation_names, dotted_name
from nparam_lint.evidence.statements import calls_in
from nparam_lint.ground.notation import Target
from nparam_lint.ground.script_words import CONFIG_CLASS, CONFIG_PARAMETER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nparam_lint.discover.definitions import Parameter
    from nparam_lint.evidence import EvidenceQuery


class ConfigClasses:
    """Config classes of the project, and the models that need one object of them, and no more.
    `by_name`: the models with a factory of their own that takes the name of a size."""

    def __init__(self, query: EvidenceQuery) -> None:
        self.query = query
        self.names = query.discovery.models.names
        self.models = query.discovery.models
        self.by_name: set[Target] = set()

    @cached_property
    def _users(self) -> dict[Symbol, list[Target]]:
        users: dict[Symbol, list[Target]] = {}
        for target in self.query.targets:
            symbol = Symbol("class", target.location, target.callable)
            if target.callable not in self.names.classes(target.location):
                continue
            parameters = self.models.parameters(symbol) or ()
            if [item.required for item in parameters][:2] in ([True], [True, False]):
                config = self._config_of(symbol, parameters[0])
                if config:
                    users.setdefault(config, []).append(target)
        return users

    def _config_of(self, model: Symbol, parameter: Parameter) -> Symbol | None:
        """The class of the project that annotates a parameter; or, where nothing does and it is
        called like a config, the `<Model>Config` or the only config class of the file."""
        path = model.where
        names: list[str] = []
        if parameter.annotation:
            annotation = ast.Constant(parameter.annotation)
            names = [name for name in annotation_names(annotation) if name != "None"]
        elif CONFIG_PARAMETER.search(parameter.name):
            names = [name for name in self.names.names(path) if CONFIG_CLASS.match(name)]
            if f"{model.name}Config" in names:
                names = [f"{model.name}Config"]
        symbol = self.names.resolve(path, names[0], model.name) if len(names) == 1 else None
        return symbol if self.is_config(symbol) else None

    def is_config(self, symbol: Symbol | None) -> TypeGuard[Symbol]:
        """Whether it is a class of the project, and no model."""
        return bool(symbol and symbol.kind == "class" and not self.models.is_model(symbol))

    def classes(self) -> Iterable[Symbol]:
        return self._users

    @cached_method
    def users(self, config: Symbol) -> list[Target]:
        """The models that are built from such an object, without those that another one of them
        contains; none where one of them has its sizes by name, since the others are then parts of
        it."""
        users = self._users.get(config, [])
        if not self.by_name.isdisjoint(users):
            return []
        inside = {part for user in users for part in self._parts(user)}
        return [user for user in users if user not in inside]

    def _parts(self, model: Target) -> Iterator[Target]:
        """The models that a class makes in its methods."""
        for node in ast.walk(self.query.size_names.file(model.location).tree):
            if isinstance(node, ast.ClassDef) and node.name == model.callable:
                for call in calls_in(node):
                    name = dotted_name(call.func)
                    symbol = self.names.resolve(model.location, name) if name else None
                    if symbol and symbol.kind == "class" and symbol.name != model.callable:
                        yield Target(symbol.where, symbol.name)

    def in_one_file(self, *names: tuple[str, str]) -> tuple[str, list[str], str | None]:
        """One of the files of (file, name), the names of all that it has, and the imports that it
        lacks."""
        homes = dict.fromkeys(path for path, _ in names)
        for path in homes:
            local_names = [self._local_name(path, *name) for name in names]
            if all(local_names):
                return path, local_names, None
        first, local_names, imports = names[0][0], list[str](), dict[str, None]()
        for home, name in names:
            local_name = self._local_name(first, home, name)
            if not local_name:
                module = self.query.module_for(home, first)
                imports[f"from {module} import {name.partition('.')[0]}"] = None
            local_names.append(local_name or name)
        return first, local_names, "\n".join(imports)

    def _local_name(self, path: str, home: str, name: str) -> str:
        head, dot, attributes = name.partition(".")
        if path == home:
            return name
        for item in self.names.tree.facts(path).imports:
            if item.name == head:
                symbol = self.names.lookup(path, item.bound)
                if symbol and symbol.kind in ("class", "function"):
                    is_same = (symbol.where, symbol.name) == (home, head)
                else:
                    is_same = self.query.size_names.home(path, item.bound)[0] == home
                if is_same:
                    return f"{item.bound}{dot}{attributes}"
        return ""
