"""How the model of a config file is built: by the library that reads such files in the project."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from nparam_lint.evidence.hydra_configs import Composed, HydraConfigs
from nparam_lint.evidence.lightning_configs import LightningConfigs
from nparam_lint.evidence.object_changes import joined_notes
from nparam_lint.ground.orders import Recipe
from nparam_lint.ground.paths import is_below_one
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.script_words import WEIGHTS_KEY, WEIGHTS_VALUE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from nparam_lint.evidence import Evidence
    from nparam_lint.evidence.config_files import ConfigFile, ConfigFiles, ModelNode
    from nparam_lint.ground.config_outline import Keys

_IDENTIFIER = late_pattern(r"[A-Za-z_]\w*$")
_LOAD_YAML = "import yaml\nconfig = yaml.safe_load(open({path!r})){keys}"
_LOAD_JSON = "import json\nconfig = json.load(open({path!r}))"


class _Template(NamedTuple):
    """`{path}`: of the config file; `{keys}`: subscripts that give the node; `{load}`, `{access}`:
    the lines that read it without weights, and what gives the node then; `{name}`: what it calls;
    `{marker}`: the key that says so. `file`: see `Evidence`; that of what is called, if none is
    said."""

    setup: str
    call: str
    file: str = ""

    def recipe(self, node: ModelNode, file: ConfigFile) -> Recipe:
        values = {
            "path": node.path,
            "keys": "".join(f"[{key!r}]" for key in node.keys),
            "load": _load(file),
            "access": _access(node.keys),
            "name": node.symbol.name.removeprefix(f"{self.file}."),
            "marker": node.marker,
        }
        setup, call = self.setup.format_map(values), self.call.format_map(values)
        return Recipe(setup=setup or None, call=call, file=self.file or node.home)


# As BasicSR and torchtune do it: the keys beside the name are the arguments.
_BY_KEYS = _Template(f"{_LOAD_YAML}\ndel config[{{marker!r}}]", "{name}(**config)")
# Where the arguments are all that a library needs.
_TEMPLATES: dict[str, _Template] = {
    "diffusers": _Template(_LOAD_JSON, "{name}.from_config(config)", "diffusers"),
    "architectures": _Template("", "{name}({name}.config_class.from_json_file({path!r}))"),
    # `Net.width: 64`: argbind gives each class its arguments.
    "argbind": _Template(
        "import argbind\nscope = argbind.scope(argbind.load_args({path!r}))\nscope.__enter__()",
        "argbind.bind({name})()",
    ),
    "type": _BY_KEYS,
    "component": _BY_KEYS,
    "section": _Template(_LOAD_YAML, "{name}(**config)"),
    "target": _Template("{load}", "{name}(**config{access}.get('params', {{}}))"),
    # As LightningCLI does it; what its `trainer` and `data` need is not needed here.
    "lightning": _Template(
        "import yaml\n"
        "from jsonargparse import ArgumentParser\n"
        "from torch.nn import Module\n"
        "parser = ArgumentParser(exit_on_error=False)\n"
        "parser.add_subclass_arguments(Module, 'model', fail_untyped=False, required=True)\n"
        "config = yaml.safe_load(open({path!r})){keys}\n"
        "build = getattr(parser, 'instantiate', None) or parser.instantiate_classes",
        "build(parser.parse_object({{'model': config}})).model",
    ),
}
# The same of a class that the script names.
_TEMPLATES["lightning arguments"] = _TEMPLATES["lightning"]._replace(
    setup=f"{_TEMPLATES['lightning'].setup}\n"
    "name = f'{{{name}.__module__}}.{{{name}.__qualname__}}'\n"
    "config = {{'class_path': name, 'init_args': config}}",
)
# What a project defines to build its configs by, and how it is used.
_BUILDERS: dict[str, tuple[str, _Template]] = {
    "target": (
        "def instantiate_from_config(",
        _Template("{load}", "instantiate_from_config(config{access})"),
    ),
    # As PoinTr and its kin do it: `model: {NAME: PointNet, width: 64}}`.
    "named": (
        "def build_model_from_cfg(",
        _Template(
            "import yaml\nfrom easydict import EasyDict\n"
            "config = EasyDict(yaml.safe_load(open({path!r})))",
            "build_model_from_cfg(config{keys})",
        ),
    ),
    # As RT-DETR and its kin do it.
    "included": (
        "class YAMLConfig",
        _Template(
            "config = YAMLConfig({path!r})\n"
            "for part in config.yaml_cfg.values():\n"
            "    if isinstance(part, dict) and part.get('pretrained'):\n"
            "        part['pretrained'] = False",
            "config.model",
        ),
    ),
}
_BY_TRANSFORMERS = _Template(
    "import json\nconfig = AutoConfig.for_model(**json.load(open({path!r})))",
    "{name}(config)",
    "transformers",
)


class ConfigRecipes:
    """Makes the recipe for each node of the config files."""

    def __init__(self, files: ConfigFiles) -> None:
        self.files = files
        self._hydra = HydraConfigs(files)
        self.lightning = LightningConfigs(files)

    def of(self, node: ModelNode) -> list[Evidence]:
        """How to build the model of a node, as its file says it, then with what commands change.
        The `file` of a recipe is the one whose names are used."""
        file = self.files.file(node.path)
        assert file is not None  # it holds the node
        if node.kind == "hydra":
            every = [self._by_hydra(node, file)]
        elif node.kind.startswith("lightning"):
            every = [*self._by_lightning(node, file)]
        else:
            every = [node.evidence(recipe) for recipe in self._plain(node, file)]
        return [self._importable(evidence, node) for evidence in every]

    def _plain(self, node: ModelNode, file: ConfigFile) -> Iterator[Recipe]:
        """The recipe of a node that no command changes, where it is known what builds it."""
        definition, by_project = _BUILDERS.get(node.kind, ("", None))
        builder = self._builder(definition, node.home) if by_project else None
        if by_project and builder:
            yield by_project._replace(file=builder).recipe(node, file)
        elif node.kind == "architectures" and node.symbol.kind == "outside":
            yield _BY_TRANSFORMERS.recipe(node, file)
        elif node.kind in _TEMPLATES:
            template = _TEMPLATES[node.kind]
            is_ours = node.symbol.kind != "outside"
            yield (template._replace(file="") if is_ours else template).recipe(node, file)

    def _by_lightning(self, node: ModelNode, file: ConfigFile) -> Iterator[Evidence]:
        """With what scripts link to the model, and with the options of commands."""
        recipe = _TEMPLATES[node.kind].recipe(node, file)
        linked = self.lightning.linked(node, file)
        if linked is None:
            return
        recipe = replace(recipe, setup=f"{recipe.setup}\n{linked}") if linked else recipe
        for options, note, command in self.lightning.options_for(node):
            yield node.evidence(_with_options(recipe, options), note, command)

    def of_wholes(self, nodes: Mapping[str, ModelNode]) -> Iterator[tuple[ModelNode, Evidence]]:
        """See `HydraConfigs.wholes`; each with how it is built."""
        for node, composed in self._hydra.wholes(nodes):
            evidence = self._instantiated(node, composed, is_whole=True)
            yield node, self._importable(evidence, node)

    def _by_hydra(self, node: ModelNode, file: ConfigFile) -> Evidence:
        composed = self._hydra.composed(node, file)
        if composed is None:
            return self._instantiated(node, Composed(_load(file), node.keys), is_whole=False)
        lines, keys = composed.lines, composed.keys
        if changes := _without_weights(file, keys[: len(keys) - len(node.keys)]):
            lines = "\n".join([lines, "from omegaconf import OmegaConf", *changes])
        return self._instantiated(node, composed._replace(lines=lines), is_whole=True)

    def _instantiated(self, node: ModelNode, composed: Composed, *, is_whole: bool) -> Evidence:
        """As Hydra does it, with what the script of the config changes in it, and in the names of
        the script that registers resolvers, if any does. `is_whole`: see `HydraConfigs.edited`."""
        setup, keys, note, command = composed
        edits, on_edits = self._hydra.edited(node.path, keys, is_whole)
        setup = "\n".join([setup, *edits])
        script = self._hydra.scripts.registering(self._hydra.root(node.path))
        lines = f"from hydra.utils import instantiate\n{self._hydra.scripts.setup(script)}{setup}"
        options = ", _recursive_=False" if self._hydra.scripts.is_flat(node.path, keys) else ""
        call = f"instantiate(config{_access(keys)}{options})"
        recipe = Recipe(setup=lines, call=call, file=script or node.home)
        return node.evidence(recipe, joined_notes(note, on_edits), command)

    def _builder(self, definition: str, model: str) -> str | None:
        """The file that defines what builds a model: of several that in the same directory of the
        top, and the one with the shortest path."""
        paths = self.files.query.python_with(definition)
        return min(paths, key=lambda at: (not is_below_one(at, model), len(at)), default=None)

    def _importable(self, evidence: Evidence, node: ModelNode) -> Evidence:
        """The same, where the names of the config can be imported in any case."""
        root, recipe = self.files.root(node.name), evidence.recipe
        file = recipe.file or ""
        plans = self.files.discovery.plan(file) if file.endswith(".py") else ()
        if root is None or root in (plans[0].roots if plans else ("", "src")):
            return evidence
        line = f"import sys; sys.path.insert(0, {root or '.'!r})"
        recipe = replace(recipe, setup=f"{line}\n{recipe.setup}")
        return structs.replace(evidence, recipe=recipe)


def _with_options(recipe: Recipe, options: Mapping[str, str]) -> Recipe:
    """The recipe of LightningCLI, with options of a command."""
    words = [f"--model.{name}={value}" for name, value in options.items()]
    call = f"build(parser.parse_args([f'--model={{json.dumps(config)}}', *{words}])).model"
    setup = f"import json\n{recipe.setup}"
    return replace(recipe, setup=setup, call=call) if words else recipe


def _load(file: ConfigFile) -> str:
    lines = ["from omegaconf import OmegaConf", f"config = OmegaConf.load({file.path!r})"]
    return "\n".join([*lines, *_without_weights(file, ())])


def _without_weights(file: ConfigFile, package: Keys) -> list[str]:
    """The lines that leave out weights, in a file or to download: they are no part of the
    architecture, and a repository hardly ever holds them."""
    lines = []
    for keys, _, value in file.entries:
        is_stored, is_switch = WEIGHTS_VALUE.match(value), value.lower() == "true"
        if WEIGHTS_KEY.search(str(keys[-1])) and (is_stored or is_switch):
            name = ".".join(map(str, (*package, *keys)))
            lines.append(f"OmegaConf.update(config, {name!r}, {None if is_stored else False})")
    return lines


def _access(keys: Keys) -> str:
    parts = (str(key) for key in keys)
    return "".join(
        f".{part}" if _IDENTIFIER.match(part) else f"[{part if part.isdigit() else repr(part)}]"
        for part in parts
    )
