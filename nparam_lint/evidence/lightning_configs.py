"""What LightningCLI makes of a config file besides what that says: the class that a script gives
it, the arguments that the script links to others, and the options of commands."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from nparam_lint.discover.syntax import dotted_name, tail, text_of
from nparam_lint.evidence.config_commands import config_commands
from nparam_lint.evidence.config_files import ModelNode
from nparam_lint.evidence.options import keyword
from nparam_lint.evidence.statements import calls_in
from nparam_lint.ground.notation import Target
from nparam_lint.ground.paths import parent
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.script_words import RUN_SETTING, WEIGHTS_KEY

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nparam_lint.discover.definitions import Parameter
    from nparam_lint.discover.name_resolution import Symbol
    from nparam_lint.evidence.config_commands import ConfigCommand
    from nparam_lint.evidence.config_files import ConfigFile, ConfigFiles
    from nparam_lint.ground.config_outline import Keys

_CLI = "LightningCLI"
_MODEL, _INIT = "model", "init_args"
_OPTION = late_pattern(r"--([A-Za-z_]\w*(?:\.\w+)+)[= ](?!-)([^$<>]+)$")


class GivenOptions(NamedTuple):
    """What options of a command set below a node, with a note; `command`: where that stands, if it
    is about the file itself."""

    options: dict[str, str]
    note: str = ""
    command: str = ""


class LightningConfigs:
    """The models of a project that LightningCLI builds."""

    def __init__(self, files: ConfigFiles) -> None:
        self.files = files

    @cached_property
    def _classes(self) -> dict[Symbol, Symbol | None]:
        """The models that scripts give LightningCLI, each with the data module beside it."""
        classes: dict[Symbol, Symbol | None] = {}
        resolve = self.files.discovery.models.names.resolve
        for path in self.files.query.python_with(_CLI):
            syntax = self.files.query.syntax(path)
            subclasses = {
                node.name
                for node in syntax.body
                if isinstance(node, ast.ClassDef)
                if any(tail(dotted_name(base)) == _CLI for base in node.bases)
            }
            for call in calls_in(syntax):
                if tail(dotted_name(call.func)) in (_CLI, *subclasses):
                    model, data = (
                        resolve(path, dotted_name(value)) if value else None
                        for value in (_argument(call, 0, "model"), _argument(call, 1, "datamodule"))
                    )
                    if model and model.kind == "class" and self.files.makes_model(model):
                        classes[model] = data
        return classes

    @cached_property
    def _links(self) -> list[tuple[Keys, Keys]]:
        """(source, target) of what scripts link as it is when it is parsed."""
        links: list[tuple[Keys, Keys]] = []
        for path in self.files.query.python_with("link_arguments("):
            for call in calls_in(self.files.query.syntax(path)):
                names = [text_of(value) for value in call.args]
                is_late = text_of(keyword(call, "apply_on")) == "instantiate"
                is_plain = len(names) == 2 and not (is_late or keyword(call, "compute_fn"))
                if tail(dotted_name(call.func)) == "link_arguments" and is_plain and all(names):
                    source, target = (tuple((name or "").split(".")) for name in names)
                    links.append((source, target))
        return links

    def node(self, file: ConfigFile) -> ModelNode | None:
        """That of the class that a script gives LightningCLI, if the file has its arguments."""
        if not self._classes:
            return None
        names = {str(keys[1]) for keys, *_ in file.entries if keys[0] == _MODEL and len(keys) > 1}
        linked = {target[1] for _, target in self._links if target[:1] == (_MODEL,)}
        fitting: list[Symbol] = []
        for symbol in self._classes if names - {"class_path"} else ():
            parameters = self._parameters(symbol)
            needed = {parameter.name for parameter in parameters if parameter.required}
            is_open = any(parameter.kind == "varkwargs" for parameter in parameters)
            known = {parameter.name for parameter in parameters}
            if needed <= names | linked and (is_open or names <= known):
                fitting.append(symbol)
        if len(fitting) != 1:
            return None
        line = next(line for keys, line, _ in file.entries if keys[0] == _MODEL)
        name = fitting[0].name
        return ModelNode(file.path, (_MODEL,), line, "lightning arguments", name, fitting[0])

    def linked(self, node: ModelNode, file: ConfigFile) -> str | None:
        """The statements that put into `config`, that of a node, what is linked to it; None where
        that is not known."""
        values = {keys: value for keys, _, value in file.entries}
        lines: list[str] = []
        for source, target in self._links:
            inner = target[len(node.keys) :]
            if target[: len(node.keys)] != node.keys or target in values:
                continue
            named = values.get((*target[:-2], "class_path"), "")
            symbol = self.files.meaning(named) if named else node.symbol
            is_there = len(inner) < 3 or (*node.keys, *inner[:-2]) in values
            if not is_there or not self._takes(symbol, target[-1]):
                continue
            value = self._value(source, file)
            if value is None:
                return None
            *above, name = (_INIT, *inner) if node.kind == "lightning arguments" else inner
            holder = "config" + "".join(f"[{key!r}]" for key in above[:-1])
            holder += f".setdefault({above[-1]!r}, {{}})" if above else ""
            lines.append(f"{holder}[{name!r}] = {value}")
        return "\n".join(lines)

    @cached_property
    def _commands(self) -> list[ConfigCommand]:
        """The commands of all scripts: any may be one of LightningCLI."""
        scripts = sorted(self.files.discovery.tree.files)
        return [item for at in scripts for item in config_commands(self.files.query, at)]

    def options_for(self, node: ModelNode) -> list[GivenOptions]:
        """None where the file gives all that the model needs, then those of the commands that name
        it. What is needed, and nothing gives, is as a command gives it for a file beside this
        one."""
        called = Target(node.symbol.where, node.symbol.name)
        parameters = self.files.query.parameters_of(called)
        required = {item.name for item in parameters if item.required}
        for keys, _ in self.files.values_below(node):
            required -= {str(next((key for key in keys if key != _INIT), ""))}
        of_file = [] if required else [GivenOptions({})]
        beside: list[GivenOptions] = []
        for command in self._commands:
            options = _options_below(node.keys, command.words)
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

    def _parameters(self, symbol: Symbol | None) -> Sequence[Parameter]:
        return (self.files.discovery.models.parameters(symbol) if symbol else None) or ()

    def _takes(self, symbol: Symbol | None, name: object) -> bool:
        """Whether a class has such an argument: what it has not is not linked."""
        return any(p.name == name or p.kind == "varkwargs" for p in self._parameters(symbol))

    def _value(self, source: Keys, file: ConfigFile) -> str | None:
        """What a file says there, as an expression; else the default of the class that the file
        names, or the script."""
        for keys, _, value in file.entries:
            if keys == source and value:
                return f"yaml.safe_load({value!r})"
            if keys[: len(source)] == source:
                access = "".join(f"[{key!r}]" for key in source)
                return f"yaml.safe_load(open({file.path!r})){access}"
        names = [e.value for e in file.entries if e.keys == (source[0], "class_path")]
        symbol = self.files.meaning(names[0]) if names else None
        if symbol is None and source[0] == "data":
            symbol = next(iter(self._classes.values()), None)
        for parameter in self._parameters(symbol):
            if parameter.name == source[-1] and parameter.default:
                try:
                    default = ast.literal_eval(parameter.default)
                except (ValueError, SyntaxError):
                    return None
                return repr([*default] if isinstance(default, tuple) else default)
        return None


def _argument(call: ast.Call, number: int, name: str) -> ast.expr | None:
    value = keyword(call, f"{name}_class")
    return value or (call.args[number] if len(call.args) > number else None)


def _options_below(keys: Keys, words: Sequence[str]) -> dict[str, str]:
    """The values that options of a command set for what is at these keys, but for weights:
    `--model.net.depth=164`, or `--model.net.init_args.depth 164`, which is the same."""
    start = _name(keys) + "."
    pairs = zip(words, (*words[1:], "-"), strict=False)
    texts = (word if "=" in word else f"{word} {value}" for word, value in pairs)
    matches = (match for text in texts if (match := _OPTION.match(text)))
    options = {_name(match[1].split(".")): match[2] for match in matches}
    given = {name: value for name, value in options.items() if not WEIGHTS_KEY.search(name)}
    return {n.removeprefix(start): value for n, value in given.items() if n.startswith(start)}


def _name(keys: Iterable[object]) -> str:
    return ".".join(str(key) for key in keys if key != _INIT)
