"""What LightningCLI makes of a config file besides what that says: the class that a script gives
it, and the arguments that the script links to others."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING

from nparam_lint.discover.syntax import dotted_name, tail, text_of
from nparam_lint.evidence.config_files import ModelNode
from nparam_lint.evidence.options import keyword
from nparam_lint.evidence.statements import calls_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nparam_lint.discover.definitions import Parameter
    from nparam_lint.discover.name_resolution import Symbol
    from nparam_lint.evidence.config_files import ConfigFile, ConfigFiles
    from nparam_lint.ground.config_outline import Keys

_CLI = "LightningCLI"
_MODEL, _INIT = "model", "init_args"


class LightningConfigs:
    """The models of a project that LightningCLI builds."""

    def __init__(self, files: ConfigFiles) -> None:
        self.files = files

    @cached_property
    def _classes(self) -> dict[Symbol, Symbol | None]:
        """The models that scripts give LightningCLI, each with the data module beside it."""
        classes: dict[Symbol, Symbol | None] = {}
        resolve = self.files.discovery.models.names.resolve
        for path in self.files.python_with(_CLI):
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
        for path in self.files.python_with("link_arguments("):
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
