"""Commands that name a config file, and change what it says: `train.py -c a.yaml net.depth=3`."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from nparam_lint.discover.source_tree import cached_method
from nparam_lint.discover.syntax import tail
from nparam_lint.ground.notation import Target
from nparam_lint.ground.paths import CONFIG_SUFFIXES, parent
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.script_words import CONFIG_OPTION, RUN_SETTING, WEIGHTS_KEY

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nparam_lint.evidence.config_files import ConfigFiles, ModelNode

# A group of settings that no model has.
_OF_RUN = late_pattern(
    r"(?i)(train\w*|val\w*|test\w*|eval\w*|solver|optim\w*|scheduler|lr\w*|aug\w*|loader|log\w*|tta)\."
)
_CHANGE = late_pattern(r"([A-Za-z_]\w*(?:\.\w+)+)(?:$|(=).)")
_OPTION = late_pattern(r"--([A-Za-z_]\w*(?:\.\w+)+)[= ](?!-)([^$<>]+)$")


def is_of_run(key: str) -> bool:
    """Whether a key sets something of the run, which no model depends on: `trainer.gpus`."""
    return bool(_OF_RUN.match(key) or RUN_SETTING.match(tail(key)))


class ConfigCommand(NamedTuple):
    """A command that names a `config`, relative to the root; `words`: its others; `place`: where it
    stands."""

    script: str
    config: str
    words: tuple[str, ...]
    place: str

    @property
    def changes(self) -> tuple[str, ...]:
        """The words that set values for the model: `model.depth 164`, `model.depth=164`."""
        changes: list[str] = []
        for word, value in zip(self.words, (*self.words[1:], ""), strict=False):
            match = _CHANGE.match(word)
            if match is None or word.endswith(CONFIG_SUFFIXES):
                continue
            if not is_of_run(match[1]):
                changes += [word] if match[2] else [word, value]
        return tuple(changes)

    def options_below(self, keys: Iterable[object]) -> dict[str, str]:
        """The values that options set for what is at these keys, but for weights:
        `--model.net.depth=164`, or `--model.net.init_args.depth 164`, which is the same."""
        start = _name(keys) + "."
        pairs = zip(self.words, (*self.words[1:], "-"), strict=False)
        texts = (word if "=" in word else f"{word} {value}" for word, value in pairs)
        matches = (match for text in texts if (match := _OPTION.match(text)))
        options = {_name(match[1].split(".")): match[2] for match in matches}
        given = {name: value for name, value in options.items() if not WEIGHTS_KEY.search(name)}
        return {n.removeprefix(start): value for n, value in given.items() if n.startswith(start)}


class GivenOptions(NamedTuple):
    """What options of a command set below a node, with a note; `command`: where that stands, if it
    is about the file itself."""

    options: dict[str, str]
    note: str = ""
    command: str = ""


def _name(keys: Iterable[object]) -> str:
    return ".".join(str(key) for key in keys if key != "init_args")


class ConfigCommands:
    """The commands in texts that name a config file."""

    def __init__(self, files: ConfigFiles) -> None:
        self.files = files

    @cached_method
    def of(self, script: str) -> list[ConfigCommand]:
        """Those of a script that has an option for it."""
        commands: list[ConfigCommand] = []
        for command in self.files.query.commands.of(script):
            words = command.words
            for at, (before, word) in enumerate(zip(("", *words), words, strict=False)):
                flag, _, config = word.rpartition("=")
                start = at - (not flag and before.startswith("-"))
                flag = flag or (before if start < at else "")
                is_other = flag not in ("", "-c") and not CONFIG_OPTION.match(flag)
                if config.endswith(CONFIG_SUFFIXES) and not is_other:  # as `--data coco.yaml` is
                    path = self.files.query.seen_from(script, config.removeprefix("./"))
                    others = words[:start] + words[at + 1 :]
                    commands.append(ConfigCommand(script, path, others, command.place))
        return commands

    @cached_property
    def every(self) -> list[ConfigCommand]:
        """Those of all scripts: any may be one of a library that reads configs."""
        scripts = sorted(self.files.discovery.tree.files)
        return [command for script in scripts for command in self.of(script)]

    def options_for(self, node: ModelNode) -> list[GivenOptions]:
        """None where the file gives all that the model needs, then those of the commands that name
        it. What is needed, and nothing gives, is as a command gives it for a file
        beside this one."""
        called = Target(node.symbol.where, node.symbol.name)
        parameters = self.files.query.parameters_of(called)
        required = {item.name for item in parameters if item.required}
        for keys, _ in self.files.values_below(node):
            required -= {str(next((key for key in keys if key != "init_args"), ""))}
        of_file = [] if required else [GivenOptions({})]
        beside: list[GivenOptions] = []
        for command in self.every:
            options = command.options_below(node.keys)
            needed = {name: value for name, value in options.items() if name in required}
            if len(needed) < len(required):
                continue
            if command.config == node.path:
                is_change = needed or not all(RUN_SETTING.match(tail(name)) for name in options)
                if is_change and options not in [given.options for given in of_file]:
                    of_file.append(GivenOptions(options, "", command.place))
            elif parent(command.config) == parent(node.path):
                note = f"{', '.join(needed)} as in {command.place} for {command.config}"
                beside.append(GivenOptions(needed, note))
        return of_file or beside[:1] or [GivenOptions({})]
