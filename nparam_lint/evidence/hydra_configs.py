"""How Hydra composes the config files of a project."""

from __future__ import annotations

import re
from functools import cached_property
from itertools import islice, product
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from nparam_lint.discover.syntax import tail
from nparam_lint.evidence.commands import is_to_fill_in
from nparam_lint.evidence.config_commands import is_of_run
from nparam_lint.evidence.config_libraries import overrides
from nparam_lint.evidence.hydra_scripts import HydraMain, HydraScripts
from nparam_lint.evidence.later_changes import note_on_change
from nparam_lint.ground.paths import ancestors, join, parent
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.script_words import RUN_SETTING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nparam_lint.evidence.commands import Command
    from nparam_lint.evidence.config_files import ConfigFile, ConfigFiles, ModelNode
    from nparam_lint.ground.config_outline import Keys

_PACKAGE = late_pattern(r"#\s*@package\s+(\S+)")
_SWEEP = 16  # of the values that a command sweeps over
_DEEP = 4  # files that name another in their defaults lists
_BESIDE = late_pattern(r"^[ \t]*-[ \t]+([\w/-]+)[ \t]*$", re.MULTILINE)  # in such a list
_LOGGING = late_pattern(r"override +/?(hydra/)?(job|hydra)_logging\s*:")


class Composed(NamedTuple):
    """The lines that compose a config, the keys of the model in it, a note on what it has from
    commands, and the place of the one that says it all."""

    lines: str
    keys: Keys
    note: str = ""
    command: str = ""


class HydraConfigs:
    """The configs that Hydra composes in a project."""

    def __init__(self, files: ConfigFiles) -> None:
        self.files = files
        self.scripts = HydraScripts(files)

    def edited(self, path: str, keys: Keys, is_whole: bool) -> tuple[list[str], str]:
        """What the script of a config changes at these keys: the lines that do it, and a note on
        what they do not do. `is_whole`: the config is there as the script has it, and the keys are
        not just those of the file."""
        main, file = self.scripts.main_of(path), self.files.file(path)
        scripts = self.scripts.mains[main].scripts[:1] if main else ()
        name = _name(path, main.root) if main else ""
        if main and file and main.name != name and not is_whole:
            keys = (*_package(file, name), *keys)
        else:
            is_whole = True
        about = [edit for at in scripts for edit in self.scripts.edits(at) if edit.is_about(keys)]
        lines = [edit.line for edit in about if edit.line and is_whole]
        opened = ["from omegaconf import OmegaConf", "OmegaConf.set_struct(config, False)"]
        places = [edit.at for edit in about if edit.line not in lines]
        places += [at for script in scripts for at in self.scripts.later(script, keys)]
        note = note_on_change(places[0]) if places else ""
        return [*(opened if lines else ()), *lines], note

    def root(self, path: str) -> str:
        """The directory of configs that a file is in."""
        main = self.scripts.main_of(path)
        return main.root if main else parent(path)

    def composed(self, node: ModelNode, file: ConfigFile) -> Composed | None:
        """How the config of a node is composed; None where the file needs nothing but itself."""
        refers = "${" in file.text
        if not refers and not any(entry.keys == ("defaults",) for entry in file.entries):
            return None
        main, root = self.scripts.main_of(file.path), self.root(file.path)
        name = _name(file.path, root)
        keys = (*_package(file, name), *node.keys)
        if main is None or main.name == name or not refers or "/" not in name:
            return self._compose(HydraMain(root, name), keys)
        return self._with_option(main, name, keys)

    def wholes(self, nodes: Mapping[str, ModelNode]) -> Iterator[tuple[ModelNode, Composed]]:
        """The models of the configs that choose another file for them: those that scripts compose
        first, and those that change these as a whole (`experiment=b`). `nodes`: by path, what a
        file as a whole describes."""
        variants: set[str] = set()
        for main, first in self._firsts.items():
            options = _defaults(first)
            yield from self._choices(main, first, options, nodes, self._compose(main, ()))
            for composed, chosen in self._commanded(main):
                yield from self._choices(main, first, {**options, **chosen}, nodes, composed)
            for path in self.files.paths:
                group = parent(_name(path, main.root))
                is_below = path.startswith(f"{main.root}/") and group and path not in variants
                file = self.files.file(path) if is_below else None
                package = _PACKAGE.match(file.text.lstrip()) if file else None
                if file is None or package is None or package[1] != "_global_":
                    continue
                # A group that no script's config has is for all of them.
                having = [m for m, config in self._firsts.items() if group in _defaults(config)]
                if main in having or not having:
                    variants.add(path)
                    composed = self._with_option(main, _name(path, main.root), ())
                    changed = {**options, **_defaults(file)}
                    yield from self._choices(main, file, changed, nodes, composed)

    def _commanded(self, main: HydraMain) -> Iterator[tuple[Composed, dict[str, str]]]:
        """A script's config as each command says it that changes more than the run, and the groups
        of which that chooses an option, itself or by a file that it names."""
        for command, words in self._variants(self.scripts.mains[main].commands):
            keys = [word.lstrip("+~").partition("=")[0] for word in words]
            if all(map(is_of_run, keys)) or any(map(is_to_fill_in, words)):
                continue
            chosen: dict[str, str] = {}
            for key, word in zip(keys, words, strict=True):
                option = word.partition("=")[2]
                if file := self.files.file(join(main.root, f"{key}/{option}.yaml")):
                    chosen |= {key: option, **_defaults(file)}
            composed = self._compose(main, (), *words)
            yield composed._replace(note="", command=command.place), chosen

    def _variants(self, commands: Sequence[Command]) -> Iterator[tuple[Command, list[str]]]:
        """Each command with its overrides; one that sweeps over some, with each of them."""
        for command in commands:
            words = overrides(command.words)
            if {"-m", "--multirun"}.isdisjoint(command.words):
                yield command, words
                continue
            values = [
                [*map(f"{k}={{}}".format, v.split(","))]
                for k, _, v in (w.partition("=") for w in words)
            ]
            yield from ((command, [*each]) for each in islice(product(*values), _SWEEP))

    @cached_property
    def _firsts(self) -> dict[HydraMain, ConfigFile]:
        """The files that are composed first, as far as they are there."""
        files = ((m, self.files.file(join(m.root, f"{m.name}.yaml"))) for m in self.scripts.mains)
        return {main: file for main, file in files if file}

    def _choices(
        self,
        main: HydraMain,
        file: ConfigFile,
        options: Mapping[str, str],
        nodes: Mapping[str, ModelNode],
        composed: Composed,
    ) -> Iterator[tuple[ModelNode, Composed]]:
        """The models of the groups that a file chooses an option of, or changes a key of."""
        for group, option in options.items():
            path = join(main.root, f"{group}/{option.removesuffix('.yaml')}.yaml")
            node, whole = self._inherited(path, nodes), self.files.file(path)
            if node is None or whole is None:
                continue
            keys = _package(whole, _name(path, main.root))
            line = next((e.line for e in file.entries if e.keys == keys), 0)
            line = line or next((e.line for e in file.entries if _group(e.keys) == group), 0)
            if line:
                placed = replace(node, path=file.path, keys=keys, line=line)
                yield placed, composed._replace(keys=keys)

    def _inherited(
        self, path: str, nodes: Mapping[str, ModelNode], depth: int = 0
    ) -> ModelNode | None:
        """What a file describes, or those that its own defaults list names beside it."""
        file = None if path in nodes or depth == _DEEP else self.files.file(path)
        names = _BESIDE.findall(file.text) if file else ()
        paths = (join(parent(path), f"{name}.yaml") for name in names if name != "_self_")
        inherited = (self._inherited(path, nodes, depth + 1) for path in paths)
        return nodes.get(path) or next(filter(None, inherited), None)

    def _with_option(self, main: HydraMain, name: str, keys: Keys) -> Composed:
        """A script's config with an option of a group: of `model` where it has one of that, though
        the option is `grl/small`."""
        first = self._firsts.get(main)
        chosen = _defaults(first) if first else {}
        group = next((above for above in ancestors(parent(name)) if above in chosen), parent(name))
        option = name.removeprefix(f"{group}/")
        plus = "" if group in chosen else "+"
        return self._compose(main, keys, f"{plus}{group}={option}")

    def _compose(self, main: HydraMain, keys: Keys, *changes: str) -> Composed:
        words = dict(self._filled_in(main, changes))
        changes = (*changes, *words)
        if self._has_own_logging:  # by a plugin that a model does not need
            changes = (*changes, "hydra/job_logging=default", "hydra/hydra_logging=default")
        arguments = f", overrides={[*changes]!r}" if changes else ""
        lines = (
            "import os\n"
            "from hydra import compose, initialize_config_dir\n"
            f"with initialize_config_dir(os.path.abspath({main.root!r}), version_base=None):\n"
            f"    config = compose({main.name!r}{arguments})"
        )
        if self.scripts.is_initialised:
            lines = (
                "from hydra.core.global_hydra import GlobalHydra\n"
                "own, GlobalHydra.instance().hydra = GlobalHydra.instance().hydra, None\n"
                f"{lines}\n"
                "GlobalHydra.instance().hydra = own"
            )
        notes = (f"{word} as in {place}" for word, place in words.items() if place)
        return Composed(lines, keys, "; ".join(notes))

    def _filled_in(self, main: HydraMain, changes: Sequence[str]) -> Iterator[tuple[str, str]]:
        """What a config leaves to commands: the word of one, with its place; for a group that none
        chooses an option of, the word that leaves it out."""
        chosen = [word.partition("=")[0] for word in changes]
        first = self._firsts.get(main)
        for keys, _, value in first.entries if first else ():
            group = _group(keys)
            key = group or ".".join(map(str, keys))
            is_of_model = group or not RUN_SETTING.match(tail(key))
            if value == "???" and is_of_model and key not in chosen:
                words = (
                    (word, command.place)
                    for command in self.scripts.mains[main].commands
                    for word in command.words
                    if word.startswith(f"{key}=") and "$" not in word
                )
                if filled := next(words, (f"~{group}", "") if group else None):
                    yield filled

    @cached_property
    def _has_own_logging(self) -> bool:
        files = (self.files.file(path) for path in self.files.paths)
        return any(file is not None and _LOGGING.search(file.text) for file in files)


def _name(path: str, root: str) -> str:
    """The name of a config for Hydra."""
    return path[len(root) + 1 if root else 0 :].rpartition(".")[0]


def _package(file: ConfigFile, name: str) -> Keys:
    """The keys below which Hydra puts what a file says."""
    package = _PACKAGE.match(file.text.lstrip())
    if package and package[1] != "_group_":
        return () if package[1] == "_global_" else tuple(package[1].split("."))
    return tuple(name.split("/")[:-1])


def _defaults(file: ConfigFile) -> dict[str, str]:
    """The groups of a defaults list, each with the option that is chosen."""
    groups = ((_group(entry.keys), entry.value) for entry in file.entries)
    return {group: option for group, option in groups if group and option}


def _group(keys: Keys) -> str:
    """The group that an entry of a defaults list is about; "" for another key."""
    if len(keys) != 3 or keys[0] != "defaults":
        return ""
    group = str(keys[2]).removeprefix("override ").removeprefix("optional ").lstrip("/")
    return group.partition("@")[0]
