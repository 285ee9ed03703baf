"""Tables of named sizes that hold config objects, or the arguments of a model or of its config."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from nparam_lint.claims import Target
from nparam_lint.discover.syntax import dotted_name
from nparam_lint.evidence.literal_tables import keys_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from nparam_lint.discover.name_resolution import Symbol
    from nparam_lint.evidence import EvidenceQuery
    from nparam_lint.evidence.config_classes import ConfigClasses
    from nparam_lint.evidence.literal_tables import SizeTable
    from nparam_lint.evidence.named_parameters import FoundFunction, NamedParameters

_DICTS = ("dict", "OrderedDict")
# A dictionary of the top level whose first value is made of several.
_TABLE = re.compile(
    rb"\n[A-Za-z_]\w*(?::[^=\n]+)?\s*=\s*(?:\{|dict\(|OrderedDict\()\s*(?:#[^\n]*\s*)*"
    rb"(?:[\"'][^\"'\n]+[\"']\s*:|\w+\s*=)\s*(?:\{|([A-Za-z_][\w.]*)\(|(\w+)\s*,)"
)


class ConfigTables:
    """The tables of the project, and what is built from an entry of each. `users`: the models that
    are built from an object of a config class."""

    def __init__(
        self,
        source: EvidenceQuery,
        named: NamedParameters,
        configs: ConfigClasses,
        users: Callable[[Symbol], list[Target]],
    ) -> None:
        self.source = source
        self.named = named
        self.configs = configs
        self.users = users
        self.models = source.found.models

    def __iter__(self) -> Iterator[tuple[str, SizeTable, Target, str, str]]:
        """(the file of a table, the table, a model, the file whose names the call is written in,
        the call, with `{}` for the key)."""
        for path in self.source.found.parsed:
            found = _TABLE.finditer(b"\n" + self.source.found.tree.source(path))
            if any(self._may_make(path, (m[1] or m[2] or b"dict").decode()) for m in found):
                for name, table in self.named.file(path).tables.items():
                    if table.by_key and len(table.entries) > 1:
                        yield from self._uses(path, name, table)

    def _uses(
        self, path: str, name: str, table: SizeTable
    ) -> Iterator[tuple[str, SizeTable, Target, str, str]]:
        for model, config, how in self._builders(path, name, table):
            parts = [(model.location, model.callable), (path, name)]
            parts += [(config.where, config.name)] if config else []
            file, names = self.configs.shared_file(*parts)
            if names:
                value = how.replace("…", f"{names[1]}[{{}}]")
                inner = f"{names[2]}({value})" if config else value
                yield path, table, model, file, f"{names[0]}({inner})"

    def _builders(
        self, path: str, name: str, table: SizeTable
    ) -> Iterator[tuple[Target, Symbol | None, str]]:
        """(a model, the config class that an entry has the arguments of, how an entry `…` is
        given)."""
        values = [entry.value for entry in table.entries]
        keys = [keys_of(value) for value in values]
        if all(keys):
            yield from self._by_keys(path, {key for found in keys for key in found}, keys)
            return
        calls = [value for value in values if isinstance(value, ast.Call)]
        if len(calls) == len(values):
            made = {self._made(path, dotted_name(call.func)) for call in calls}
            how = "…"
        elif self._may_make(path, dotted_name(values[0]) if values[0] else ""):
            given = self._given(path, name)
            written = ", ".join(f"{key}={ast.unparse(value)}" for key, value in given.items())
            made = {self._made(path, dotted_name(value), given) for value in values if value}
            how = f"…({written})"
        else:
            return
        made.discard(None)  # that function does not say it; the others do
        config = made.pop() if len(made) == 1 else None
        yield from ((model, None, how) for model in (self.users(config) if config else ()))

    def _may_make(self, path: str, dotted: str) -> bool:
        """Whether this is a config class, or a function that may return an object of one."""
        symbol = self.named.names.resolve(path, dotted) if dotted else None
        is_function = bool(symbol and symbol.kind == "function")
        return is_function or dotted.endswith(_DICTS) or self.configs.is_config(symbol)

    def _given(self, path: str, table: str) -> dict[str, ast.expr]:
        """The constants with which a function calls the entries of a table: `table[name](a=1)`;
        or the defaults of its parameters."""
        is_called = f"{table}[".encode() in self.source.found.tree.source(path)
        functions = self.named.file(path).functions if is_called else {}
        for function in functions.values():
            for call in ast.walk(function.node):
                if (
                    isinstance(call, ast.Call)
                    and isinstance(call.func, ast.Subscript)
                    and dotted_name(call.func) == table
                ):
                    values = dict(_keywords(function, call))
                    return {
                        name: constant
                        for name, value in values.items()
                        if isinstance(constant := _value(function, value), ast.Constant)
                    }
        return {}

    def _made(self, path: str, dotted: str, given: Collection[str] = ()) -> Symbol | None:
        """The config class of which a call gives an instance."""
        symbol = self.named.names.resolve(path, dotted) if dotted else None
        if symbol and symbol.kind == "function":
            facts = self.named.names.functions(symbol.where)[symbol.name]
            lacks = any(item.required and item.name not in given for item in facts.parameters)
            if lacks:
                return None
            made = facts.returned[0] if len(facts.returned) == 1 else self._annotated(symbol)
            symbol = self.named.names.resolve(symbol.where, made) if made else None
        return symbol if self.configs.is_config(symbol) else None

    def _annotated(self, symbol: Symbol) -> str:
        """What a function says that it returns."""
        function = self.named.file(symbol.where).functions.get(symbol.name)
        return dotted_name(function.node.returns) if function and function.node.returns else ""

    def _by_keys(
        self, path: str, every: set[str], keys: list[set[str]]
    ) -> Iterator[tuple[Target, Symbol | None, str]]:
        """What takes all these arguments, of what the file has a name for."""
        fitting: list[tuple[Target, Symbol | None, str]] = []
        for name in self.named.names.names(path):
            symbol = self.named.names.lookup(path, name)
            if symbol is None or symbol.kind != "class":
                continue
            taken = self.models.parameters(symbol) or ()
            required = {item.name for item in taken if item.required}
            is_model = Target(symbol.where, symbol.name) in self.source.wanted
            if not (every <= {item.name for item in taken} and len(every) > 1):
                continue
            if any(required - found for found in keys):
                continue
            if is_model:
                fitting.append((Target(symbol.where, symbol.name), None, "**…"))
            else:
                fitting += [(model, symbol, "**…") for model in self.users(symbol)]
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
                    is_it = dotted_name(node.targets[0]) == item.value.id
                    is_it = is_it and dotted_name(node.value.func) == "dict"
                    yield from _keywords(function, node.value) if is_it else ()


def _value(function: FoundFunction, node: ast.expr) -> ast.expr | None:
    """What an argument in a function is when that is called with nothing."""
    return function.defaults.get(node.id) if isinstance(node, ast.Name) else node
