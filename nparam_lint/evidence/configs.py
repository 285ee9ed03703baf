"""Config files that a library of the project, or a file of it, builds a model from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from nparam_lint.claims import Target
from nparam_lint.evidence import Evidence
from nparam_lint.evidence.config_files import ConfigFiles, ModelNode
from nparam_lint.evidence.config_recipes import ConfigRecipes
from nparam_lint.evidence.config_scripts import ConfigScripts
from nparam_lint.evidence.registry_configs import RegistryConfigs
from nparam_lint.ground.values import Position, Way

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.evidence import EvidenceQuery
    from nparam_lint.ground.orders import Recipe

_CHANGED, _BESIDE = 1, 2  # ranks: a command changes what a file says; no text names the file
_INNER = 5  # added to the rank of a model that is a part of another one in its file
_OF_TESTS = re.compile(r"(?<![a-z])test", re.IGNORECASE)
_USUAL = ((), ("model",))  # where the model of a file stands that holds others too


class ConfigModel(Struct, frozen=True):
    """A model that a config file describes, and how it is built. `rank`: see `Evidence`."""

    node: ModelNode
    recipe: Recipe
    note: str = ""
    rank: int = 0

    @property
    def position(self) -> Position:
        return Position(self.node.path, self.node.line)


class ConfigModels:
    """The models that config files describe, as far as it is known what builds them."""

    def __init__(self, query: EvidenceQuery) -> None:
        self._files = ConfigFiles(query)
        self._recipes = ConfigRecipes(self._files)
        self._scripts = ConfigScripts(self._files)
        self._registry = RegistryConfigs(self._files)

    def __iter__(self) -> Iterator[ConfigModel]:
        """All of them, those of one file from the outside in."""
        marked = {file.path: self._files.nodes(file) for file in self._files}
        wholes = {at: nodes[0] for at, nodes in marked.items() if nodes and not nodes[0].keys}
        for node, recipe in self._recipes.of_wholes(wholes):
            yield ConfigModel(node, recipe)
        networks = set()
        # What a model is trained with stands for what it is tested with, which is the same; what a
        # text names comes before what is beside it.
        named = self._scripts.read_in if self._scripts.scripts else {}
        for path in sorted(
            self._files.paths, key=lambda at: (bool(_OF_TESTS.search(at)), at not in named)
        ):
            nodes = marked.get(path, ())
            for node in nodes:
                if node.kind in ("type", "component"):
                    values = [*self._files.values_below(node)]
                    network = (node.symbol, *values)
                    if network in networks or len(values) == 1:  # its name alone says as much
                        continue
                    networks.add(network)
                if recipe_of_node := self._recipes.recipe(node):
                    yield ConfigModel(node, recipe_of_node)
            file = None if nodes else self._files.file(path)
            for script_node, recipe, note, is_changed in self._scripts.built(file) if file else ():
                rank = _CHANGED if is_changed else 0 if path in named else _BESIDE
                yield ConfigModel(script_node, recipe, note, rank)
        for node, recipe in self._registry:
            yield ConfigModel(node, recipe)

    def whole(self) -> Iterator[tuple[str, list[ConfigModel]]]:
        """The files, each with the one model that it stands for; or with several, if it does not
        say which of them."""
        outer: dict[str, list[ConfigModel]] = {}
        for model in self:
            if not model.node.is_inner:
                outer.setdefault(model.node.path, []).append(model)
        for path, models in outer.items():
            usual = [model for model in models if model.node.keys in _USUAL]
            yield path, usual[:1] or models


def find_configs(source: EvidenceQuery) -> Iterator[Evidence]:
    """The ways of this kind."""
    stuck = {
        Target(item.path, item.qualname)
        for item in source.discovery.definitions
        if any(parameter.required for parameter in item.parameters or ())
    }
    for model in ConfigModels(source):
        node, target = model.node, model.node.target
        if node.kind == "component" and target not in stuck:
            continue  # recipes are many, and each names a factory that builds its model alone
        # What an installed package builds is told of the file, unless it is a part of another.
        if target in source.targets or not (target.callable or node.is_inner):
            way = Way("config", model.position, node.path, model.note)
            rank = _INNER if node.is_inner else model.rank
            yield Evidence(target, way, model.recipe.file or node.path, model.recipe, rank)
