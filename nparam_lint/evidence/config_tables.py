"""Tables of named sizes that hold config objects, or the arguments of a model or of its config."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from nparam_lint.discover.syntax import dotted_name
from nparam_lint.evidence import Evidence
from nparam_lint.evidence.literal_tables import keys_of
from nparam_lint.evidence.statements import calls_in
from nparam_lint.ground.notation import Target
from nparam_lint.ground.orders import Recipe
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from nparam_lint.discover.name_resolution import Symbol
    from nparam_lint.evidence import EvidenceQuery
    from nparam_lint.evidence.config_classes import ConfigClasses
    from nparam_lint.evidence.literal_tables import SizeTable
    from nparam_lint.evidence.named_parameters import FoundFunction

_DICTS = ("dict", "OrderedDict")
# A dictionary of the top level whose first value is made of several.
_TABLE = late_pattern(
    rb"\n[A-Za-z_]\w*(?::[^=\n]+)?\s*=\s*(?:\{|dict\(|OrderedDict\()\s*(?:#[^\n]*\s*)*"
    rb"(?:[\"'][^\"'\n]+[\"']\s*:|\w+\s*=)\s*(?:\{|([A-Za-z_][\w.]*)\(|(\w+)\s*,)"
)


class ConfigTables:
    """The tables of the project, and what is built from an entry of each."""

    def __init__(self, query: EvidenceQuery, configs: ConfigClasses) -> None:
        self.query = query
        self.size_names = query.size_names
        self.configs = configs
        self.models = query.discovery.models

    def __iter__(self) -> Iterator[Evidence]:
        for path in self.query.discovery.parsed:
            matches = _TABLE.finditer(b"\n" + self.query.discovery.tree.source(path))
            if not any(self._may_make(path, (m[1] or m[2] or b"dict").decode()) for m in matches):
                continue
            for name, table in self.size_names.file(path).tables.items():
                is_table = table.by_key and len(table.entries) > 1
                for model, config, how in self._builders(path, name, table) if is_table else ():
                    parts = [(model.location, model.callable), (path, name)]
                    parts += [(config.where, config.name)] if config else []
                    file, names, imports = self.configs.in_one_file(*parts)
                    for entry in table.entries:
                        argument = how.replace("…", f"{names[1]}[{entry.text}]")
                        argument = f"{names[2]}({argument})" if config else argument
                        recipe = Recipe(setup=imports, call=f"{names[0]}({argument})")
                        yield Evidence(model, entry.way(path), file, recipe)

    def _builders(
        self, path: str, name: str, table: SizeTable
    ) -> Iterator[tuple[Target, Symbol | None, str]]:
        """(a model, the config class that an entry has the arguments of, how an entry `…` is
        given)."""
        values = [entry.value for entry in table.entries]
        keys = [keys_of(value) for value in values]
        if all(keys):
            yield from self._by_keys(path, keys)
            return
        calls = [value for value in values if isinstance(value, ast.Call)]
        if len(calls) == len(values):
            configs = {self._config_of(path, dotted_name(call.func)) for call in calls}
            how = "…"
        elif self._may_make(path, dotted_name(values[0]) if values[0] else ""):
            arguments = self._arguments(path, name)
            text = ", ".join(f"{key}={ast.unparse(value)}" for key, value in arguments.items())
            configs = {self._config_of(path, dotted_name(v), arguments) for v in values if v}
            how = f"…({text})"
        else:
            return
        configs.discard(None)  # that function does not say it; the others do
        config = configs.pop() if len(configs) == 1 else None
        yield from ((model, None, how) for model in (self.configs.users(config) if config else ()))

    def _may_make(self, path: str, dotted: str) -> bool:
        """Whether this is a config class, or a function that may return an object of one."""
        symbol = self.size_names.names.resolve(path, dotted) if dotted else None
        is_function = bool(symbol and symbol.kind == "function")
        return is_function or dotted.endswith(_DICTS) or self.configs.is_config(symbol)

    def _arguments(self, path: str, table: str) -> dict[str, ast.expr]:
        """The constants with which a function calls the entries of a table: `table[name](a=1)`;
        or the defaults of its parameters."""
        is_called = f"{table}[".encode() in self.query.discovery.tree.source(path)
        functions = self.size_names.file(path).functions if is_called else {}
        for function in functions.values():
            for call in calls_in(function.node):
                if isinstance(call.func, ast.Subscript) and dotted_name(call.func) == table:
                    values = dict(_keywords(function, call))
                    for name, value in values.items():
                        if isinstance(value, ast.Name):
                            values[name] = function.defaults.get(value.id, value)
                    return {n: v for n, v in values.items() if isinstance(v, ast.Constant)}
        return {}

    def _config_of(self, path: str, dotted: str, arguments: Collection[str] = ()) -> Symbol | None:
        """The config class of which a call, with `arguments` of these names, makes an object: the
        class itself, or what the function returns or says that it returns."""
        names = self.size_names.names
        symbol = names.resolve(path, dotted) if dotted else None
        if symbol and symbol.kind == "function":
            facts = names.functions(symbol.where)[symbol.name]
            if any(item.required and item.name not in arguments for item in facts.parameters):
                return None
            if len(facts.returned) == 1:
                dotted = facts.returned[0]
            else:
                function = self.size_names.file(symbol.where).functions.get(symbol.name)
                annotation = function.node.returns if function else None
                dotted = dotted_name(annotation) if annotation else ""
            symbol = names.resolve(symbol.where, dotted) if dotted else None
        return symbol if self.configs.is_config(symbol) else None

    def _by_keys(
        self, path: str, keys: list[set[str]]
    ) -> Iterator[tuple[Target, Symbol | None, str]]:
        """What takes all these arguments, of what the file has a name for."""
        fitting: list[tuple[Target, Symbol | None, str]] = []
        arguments = set().union(*keys)
        for name in self.size_names.names.names(path):
            symbol = self.size_names.names.lookup(path, name)
            if symbol is None or symbol.kind != "class":
                continue
            parameters = self.models.parameters(symbol) or ()
            required = {item.name for item in parameters if item.required}
            if not (arguments <= {item.name for item in parameters} and len(arguments) > 1):
                continue
            if any(required - entry_keys for entry_keys in keys):
                continue
            target = Target(symbol.where, symbol.name)
            if target in self.query.targets:
                fitting.append((target, None, "**…"))
            else:
                fitting += [(model, symbol, "**…") for model in self.configs.users(symbol)]
        if len(fitting) == 1:
            yield from fitting


def _keywords(function: FoundFunction, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """The keywords of a call in a function, those of `**kwargs` with `kwargs = dict(…)` too."""
    for item in call.keywords:
        if item.arg:
            yield item.arg, item.value
        elif isinstance(item.value, ast.Name):
            for node in function.node.body:
                if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                    name, made_by = dotted_name(node.targets[0]), dotted_name(node.value.func)
                    if (name, made_by) == (item.value.id, "dict"):
                        yield from _keywords(function, node.value)
