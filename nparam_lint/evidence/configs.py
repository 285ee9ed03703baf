"""Config files that a library of the project, or a file of it, builds a model from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.evidence.config_files import ConfigFiles
from nparam_lint.evidence.config_recipes import ConfigRecipes
from nparam_lint.evidence.config_scripts import ConfigScripts
from nparam_lint.evidence.config_sections import ConfigSections
from nparam_lint.evidence.layer_lists import layer_lists
from nparam_lint.evidence.registry_configs import RegistryConfigs
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.evidence import Evidence
    from nparam_lint.evidence.config_files import ModelNode
    from nparam_lint.evidence.file_calls import CalledFiles

    # A node that describes a model, and how that is built.
    ConfigModel = tuple[ModelNode, Evidence]

_CHANGED, _BESIDE = 1, 2  # ranks: a command changes what a file says; no text names the file
_INNER = 5  # added to the rank of a model that is a part of another one in its file
_OF_TESTS = late_pattern(r"(?<![a-z])test", re.IGNORECASE)
_USUAL = ((), ("model",))  # where the model of a file stands that holds others too


class ConfigModels:
    """The models that config files describe, as far as it is known what builds them."""

    def __init__(self, calls: CalledFiles) -> None:
        self.files = ConfigFiles(calls)
        self._recipes = ConfigRecipes(self.files)
        self._scripts = ConfigScripts(self.files)
        self._sections = ConfigSections(self.files)
        self._registry = RegistryConfigs(self.files)

    def __iter__(self) -> Iterator[ConfigModel]:
        """All of them, those of one file from the outside in."""
        marked = {file.path: self.files.nodes(file) for file in self.files}
        wholes = {at: nodes[0] for at, nodes in marked.items() if nodes and not nodes[0].keys}
        for node, evidence in self._recipes.of_wholes(wholes):
            yield _ranked(node, evidence, _CHANGED if evidence.way.command else 0)
        networks = set[tuple[object, ...]]()
        # What a model is trained with stands for what it is tested with, which is the same; what a
        # text names comes before what is beside it.
        named = self._scripts.read_in if self._scripts.scripts else {}
        readme = self.files.query.readme

        def order(path: str) -> tuple[bool, ...]:
            return bool(_OF_TESTS.search(path)), path not in named, path.encode() not in readme

        for path in sorted(self.files.paths, key=order):
            nodes = marked.get(path, [])
            whole = self.files.file(path)
            if whole and (lightning := self._recipes.lightning.node(whole)):
                nodes = [lightning, *(replace(node, is_inner=True) for node in nodes)]
            for node in nodes:
                if self._is_known(node, networks):
                    continue
                for number, evidence in enumerate(self._recipes.of(node)):
                    yield _ranked(node, evidence, _CHANGED if number else 0)
            file = None if nodes else whole
            built = [*self._scripts.built(file)] if file else []
            values_read = self._scripts.values_read(file) if file and built else ()
            is_known = bool(values_read) and values_read in networks
            networks.add(values_read)
            for script_node, evidence in built if not is_known else ():
                rank = _CHANGED if evidence.way.command else 0 if path in named else _BESIDE
                yield _ranked(script_node, evidence, rank)
            # A script knows better what else is to be done, if it can be followed: a class that is
            # looked up by its module may not be.
            for node in self._sections.nodes(file) if file else ():
                if not (built and not node.marker) and not self._is_known(node, networks):
                    for number, evidence in enumerate(self._recipes.of(node)):
                        yield _ranked(node, evidence, _CHANGED if number else _BESIDE)
        yield from self._registry

    def _is_known(self, node: ModelNode, networks: set[tuple[object, ...]]) -> bool:
        """Whether another file has the same arguments for a class that a node names, or the node
        has none; those of this one are added."""
        if node.kind not in ("type", "component", "named", "section", "lightning arguments"):
            return False
        values = [*self.files.values_below(node)]
        network = (node.symbol, *values)
        is_known = network in networks or (len(values) == 1 and node.kind != "section")
        networks.add(network)
        return is_known

    def whole(self) -> Iterator[tuple[str, list[ConfigModel]]]:
        """The files, each with the one model that it stands for; or with several, if it does not
        say which of them."""
        outer: dict[str, list[ConfigModel]] = {}
        for node, evidence in self:
            if not node.is_inner and evidence.rank != _CHANGED:
                outer.setdefault(node.path, []).append((node, evidence))
        for path, models in outer.items():
            usual = [(node, evidence) for node, evidence in models if node.keys in _USUAL]
            yield path, usual[:1] or models


def _ranked(node: ModelNode, evidence: Evidence, rank: int) -> ConfigModel:
    return node, replace(evidence, rank=_INNER if node.is_inner else rank)


def find_configs(calls: CalledFiles) -> Iterator[Evidence]:
    """The ways of this kind."""
    models, query = ConfigModels(calls), calls.query
    for node, evidence in models:
        target = evidence.target
        if node.kind == "component" and not query.needs_arguments(target):
            continue  # recipes are many, and each names a factory that builds its model alone
        # What an installed package builds is told of the file, unless it is a part of another.
        if target in query.targets or not (target.callable or node.is_inner):
            yield evidence
    yield from layer_lists(models.files)
