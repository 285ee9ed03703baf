"""The config files of a project: which of them hold models, and of which kind."""

from __future__ import annotations

import re
from functools import cached_property
from itertools import chain
from posixpath import normpath
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from nparam_lint.discover.name_resolution import Symbol
from nparam_lint.discover.source_tree import cached_method, reachable
from nparam_lint.evidence import Evidence
from nparam_lint.ground.config_outline import Keys, OutlineEntry, outline
from nparam_lint.ground.grouping import grouped
from nparam_lint.ground.notation import Target
from nparam_lint.ground.paths import CONFIG_SUFFIXES, is_below_one, join, parent
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.script_words import CONFIG_PARAMETER
from nparam_lint.ground.values import Position, Way

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.evidence import CommandRun
    from nparam_lint.evidence.file_calls import CalledFiles
    from nparam_lint.ground.orders import Recipe

Kind = Literal[
    "hydra",
    "lightning",
    "lightning arguments",
    "target",
    "architectures",
    "diffusers",
    "type",
    "component",
    "script",
    "registry",
    "argbind",
    "named",
    "included",
    "section",
]

_KINDS: dict[str, Kind] = {
    "_target_": "hydra",
    "class_path": "lightning",
    "target": "target",
    "architectures": "architectures",
    "type": "type",
    "name": "type",
    "_component_": "component",
    "_class_name": "diffusers",
    "NAME": "named",
    "__include__": "included",
}
_MARKS = late_pattern(
    rb"_target_|class_path|_component_|\"_class_name\"|\bNAME\b|^__include__|\btarget\b|\"architectures\"|^defaults\s*:"
    rb"|\b(?:model|net|network)(?:_?\w)?[\"']?\s*:\s*\{?\s*[\"']?(?:type|name)[\"']?\s*:|^[A-Z]\w*\.\w+:",
    re.MULTILINE,
)
# Neither a pipeline nor a scheduler.
_OF_DIFFUSERS = late_pattern(
    r"(Model|Autoencoder|Transformer|Adapter)\w*$|^(UNet|Autoencoder|VQ|ControlNet)"
)
_NETWORK = late_pattern(r"(?:model|net|network)(?:_?\w)?$")
_OF_CLASS = late_pattern(r"([A-Z]\w*)\.\w+$")  # as argbind has them
_BASE = late_pattern(r"_*base(_config)?_*$", re.IGNORECASE)
_NAME = late_pattern(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$")
_CLASS = late_pattern(rb"^class[ \t]+(\w+)", re.MULTILINE)
_INCLUDES = late_pattern(r"^__include__:(.*?)(?=^\w|\Z)", re.MULTILINE | re.DOTALL)
_YAML = late_pattern(r"[\w./-]+\.ya?ml")
_LARGEST = 1_000_000  # bytes of a file that is looked at
_MOST = 1000  # files of one suffix


class ModelNode(Struct, frozen=True):
    """The node of a config file that describes a model: where it stands, and the `name` of what is
    called to make it, the value of its key `marker`. `symbol`: what the name means. `is_inner`: it
    is part of another model."""

    path: str
    keys: Keys
    line: int
    kind: Kind
    name: str
    symbol: Symbol
    is_inner: bool = False
    marker: str = ""

    @property
    def target(self) -> Target:
        """What is called, if the project defines it; else the config file."""
        is_outside = self.symbol.kind == "outside"
        return Target(self.path, "") if is_outside else Target(self.symbol.where, self.symbol.name)

    @property
    def home(self) -> str:
        """The file, or the package, whose names its recipe uses."""
        return "torch" if self.symbol.kind == "outside" else self.symbol.where

    def evidence(
        self, recipe: Recipe, note: str = "", command: str = "", run: CommandRun | None = None
    ) -> Evidence:
        """That its model is built so; `note`, `command`: see `Way`."""
        way = Way("config", Position(self.path, self.line), self.path, note, command)
        return Evidence(self.target, way, recipe.file or self.path, recipe, run=run)


class ConfigFile(Struct, frozen=True, dict=True):
    """A config file, and the keys in it."""

    path: str
    text: str

    @cached_property
    def entries(self) -> Sequence[OutlineEntry]:
        return outline(self.path, self.text)


def _near(paths: list[str], config: str) -> list[str]:
    """Of several files those in the same directory of the top as a config, if there is one."""
    if len(paths) < 2 or not config:
        return paths
    return [path for path in paths if is_below_one(path, config)]


class ConfigFiles:
    """The files of a query that may hold a model of the project. `calls`: its Python files, with
    the calls in each."""

    def __init__(self, calls: CalledFiles) -> None:
        self.calls = calls
        self.query = query = calls.query
        self.discovery = query.discovery
        paths = (at for at in query.other_files if at.lower().endswith(CONFIG_SUFFIXES))
        every = [at for at in paths if not at.rpartition("/")[2].startswith(".")]  # of tools
        by_suffix = grouped(every, lambda at: at.rpartition(".")[2].lower()).values()
        # Thousands of one kind are results: of these the ones nearest to the root.
        few = {
            at for some in by_suffix for at in sorted(some, key=lambda at: at.count("/"))[:_MOST]
        }
        self.paths = [at for at in every if at in few]

    def __iter__(self) -> Iterator[ConfigFile]:
        """Those that hold a word by which the kinds are known."""
        for path in self.paths:
            if (file := self.file(path)) and _MARKS.search(file.text.encode()):
                yield file

    @cached_method
    def file(self, path: str) -> ConfigFile | None:
        try:
            content = self.query.read(path)[: _LARGEST + 1]
            return None if len(content) > _LARGEST else ConfigFile(path, content.decode())
        except (OSError, ValueError):
            return None

    def nodes(self, file: ConfigFile) -> list[ModelNode]:
        """The nodes of the file that describe models, outer ones first."""
        nodes: dict[Keys, ModelNode] = {}
        for keys, line, value in file.entries:
            kind = _KINDS.get(str(keys[-1]))
            if (argument := _OF_CLASS.match(str(keys[0]))) and self.query.python_with(
                "argbind.bind"
            ):
                kind, value, keys = "argbind", argument[1], (argument[1], "")
                if keys[:1] in nodes:
                    continue
            if kind == "architectures":
                continue
            is_network = len(keys) == 2 and _NETWORK.match(str(keys[0]))
            if kind in ("type", "component", "named") and not is_network:
                continue
            if kind == "included":
                is_part = file.path in self._parts
                value, keys = "" if is_part else self._included_model(file), ("model", "")
            if keys[-2:] == ("architectures", 0):
                kind, keys = "architectures", keys[:-1]
                value = value.replace("LLaMA", "Llama")  # its name before transformers had it
            symbol = self.meaning(value) if kind and _NAME.match(value) else None
            if kind == "diffusers":
                is_of_model = len(keys) == 1 and _OF_DIFFUSERS.search(value)
                theirs = Symbol("outside", "", f"diffusers.{value}") if is_of_model else None
                symbol = self.class_named(value, file.path) or theirs
            if kind in ("type", "named", "included"):
                symbol = self.registered(value, file.path)
            if symbol and kind == "type" and self._takes_config(symbol):
                continue
            if kind == "type":
                # The first network of a file is its model; what follows judges that.
                kind = kind if not any(node.kind == "type" for node in nodes.values()) else None
            if kind and symbol and (kind == "diffusers" or self.makes_model(symbol)):
                nodes[keys[:-1]] = ModelNode(
                    file.path, keys[:-1], line, kind, value, symbol, marker=str(keys[-1])
                )
        placed = [
            replace(node, is_inner=any(keys[:end] in nodes for end in range(len(keys))))
            for keys, node in nodes.items()
        ]
        return sorted(placed, key=lambda node: (node.is_inner, node.line))

    def _takes_config(self, symbol: Symbol) -> bool:
        """Whether a class gets its config as one, and not the keys of that."""
        parameters = self.query.parameters_of(Target(symbol.where, symbol.name))
        required = [parameter.name for parameter in parameters if parameter.required]
        return len(required) == 1 and bool(CONFIG_PARAMETER.match(required[0]))

    @cached_property
    def _parts(self) -> set[str]:
        """The files that others include."""
        return {part.path for file in self for part in self._included(file)}

    def _included(self, file: ConfigFile) -> Iterator[ConfigFile]:
        """The files that a file includes, as the configs of RT-DETR and its kin do it."""
        includes = _INCLUDES.search(file.text)
        for value in _YAML.findall(includes[1]) if includes else ():
            if part := self.file(normpath(join(parent(file.path), value))):
                yield part

    def _included_model(self, file: ConfigFile) -> str:
        """The model that a file names, or one that it includes; empty where none does."""
        names = [entry.value for entry in file.entries if entry.keys == ("model",)]
        inner = (name for part in self._included(file) if (name := self._included_model(part)))
        return next(iter(names), "") or next(inner, "")

    def values_below(self, node: ModelNode) -> Iterator[tuple[Keys, str]]:
        """The values of a node, by their keys in it."""
        file, depth = self.file(node.path), len(node.keys)
        for keys, _, value in file.entries if file else ():
            if keys[:depth] == node.keys:
                yield keys[depth:], value

    def class_in(self, file: ConfigFile) -> tuple[Symbol | None, int]:
        """The class of the project that the file names somewhere, or one that it is based on, and
        the line."""
        line = 0
        for each in reachable([file], self._bases):
            for entry in each.entries:
                name = entry.value
                if not _NAME.match(name):
                    continue
                for symbol in (self.meaning(name), self.registered(name, each.path)):
                    if symbol and symbol.kind != "outside" and self.makes_model(symbol):
                        return symbol, line or entry.line
            line = 1  # what a base says stands nowhere in the file
        return None, 1

    def _bases(self, file: ConfigFile) -> Iterator[ConfigFile]:
        """The files that a file is based on."""
        for keys, _, value in file.entries:
            is_base = _BASE.match(str(keys[0])) and value.endswith(CONFIG_SUFFIXES)
            if is_base and (base := self.file(normpath(join(parent(file.path), value)))):
                yield base

    def makes_model(self, symbol: Symbol) -> bool:
        """Whether calling this gives a model."""
        models = self.discovery.models
        if symbol.kind == "method":
            owner = symbol.name.rpartition(".")[0]
            return models.is_model(Symbol("class", symbol.where, owner))
        return models.makes_model(symbol)

    @cached_method
    def meaning(self, dotted: str) -> Symbol | None:
        """What a dotted name means for an import statement: in the project, or outside."""
        if "." not in dotted:
            return self.class_named(dotted) or Symbol("outside", "", f"transformers.{dotted}")
        for file, name in self._places(dotted):
            symbol = self.discovery.models.names.resolve(file, name)
            if symbol is not None and symbol.kind in ("class", "function", "method"):
                return symbol
        is_in_project = dotted.partition(".")[0] in self.discovery.tree.holders
        return None if is_in_project else Symbol("outside", "", dotted)

    def class_named(self, name: str, config: str = "") -> Symbol | None:
        """The class of a name, if the project has one such class and it is a model; of several the
        one in the same directory of the top as a config."""
        paths = _near(self._classes.get(name, []), config)
        symbol = Symbol("class", paths[0], name) if len(paths) == 1 else None
        return symbol if self.discovery.models.is_model(symbol) else None

    def registered(self, name: str, config: str) -> Symbol | None:
        """The class of a name that the project registers; if it registers none, the one it has. Of
        several the one in the same directory of the top as the config."""
        registered = self.calls.registered
        every = chain.from_iterable(registered.values())
        paths = _near([symbol.where for symbol in every if symbol.name == name], config)
        if len(paths) == 1:
            return Symbol("class", paths[0], name)
        renamed = [symbol for symbol in registered.get(name, ()) if symbol.name != name]
        is_renamed = len(renamed) == 1 and not paths
        return renamed[0] if is_renamed else self.class_named(name, config)

    @cached_property
    def _classes(self) -> dict[str, list[str]]:
        """The files that define the classes of each name."""
        tree, paths = self.discovery.tree, dict[str, list[str]]()
        for path in sorted(tree.files):
            for name in set(_CLASS.findall(tree.source(path))):
                paths.setdefault(name.decode(), []).append(path)
        return paths

    def _places(self, dotted: str) -> Iterator[tuple[str, str]]:
        """The files that a dotted name may lead to, each with what is left of the name there."""
        tree, parts = self.discovery.tree, dotted.split(".")
        for root in tree.holders.get(parts[0], ()):
            for end in range(len(parts) - 1, 0, -1):
                if file := tree.module_file(join(root, "/".join(parts[:end]))):
                    yield file, ".".join(parts[end:])

    def root(self, dotted: str) -> str | None:
        """The directory from which the project imports what a dotted name leads to."""
        head = dotted.partition(".")[0]
        file = next((path for path, _ in self._places(dotted)), None)
        roots = self.discovery.tree.holders[head] if file else ()
        return next((root for root in roots if file and file.startswith(join(root, head))), None)
