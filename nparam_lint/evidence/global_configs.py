"""Config objects at the top level of a file, which scripts fill from a config file before anything
reads them: `cfg.merge_from_file(args.cfg)`, `cfg_from_file(args.cfg)`."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING

from nparam_lint.discover.source_tree import cached_method, reachable
from nparam_lint.discover.syntax import dotted_name, parameter_names
from nparam_lint.evidence.statements import changes, loads
from nparam_lint.ground.script_words import FILLS_CONFIG

if TYPE_CHECKING:
    from nparam_lint.evidence.file_calls import CalledFiles

_Global = tuple[str, str]  # the file of an object, and its name there
_IN_TEXT = ("merge_from_", "_from_file(", "load_config(", "update_config(", "update_cfg(")


class GlobalConfigs:
    """Those of a project: where scripts fill them, and which definitions read them."""

    def __init__(self, files: CalledFiles) -> None:
        self.files = files

    @cached_property
    def filled(self) -> dict[_Global, str]:
        """Where each is filled by a script."""
        places: dict[_Global, str] = {}
        paths = {path for word in _IN_TEXT for path in self.files.query.python_with(word)}
        for path in sorted(paths):
            calls = self.files.file_calls(path)
            statements = (n for n in calls.nodes if isinstance(n, ast.Expr) and calls.is_script)
            for node in statements:
                name = dotted_name(node.value.func) if isinstance(node.value, ast.Call) else ""
                if not FILLS_CONFIG.search(name):
                    continue
                for item in self._changed(path, name):
                    places.setdefault(item, f"{path}:{node.lineno}")
        return places

    def _changed(self, path: str, called: str) -> set[_Global]:
        """The objects that a call of this name in a file changes: the one whose method it is, or
        those that a function finds at the top level of its own file."""
        owner = called.rpartition(".")[0]
        if owner and (found := self._global(path, owner)):
            return {found}
        symbol = self.files.file_calls(path).called(called)
        function = self.files.function(symbol)
        if symbol is None or function is None:
            return set()
        there = self.files.file_calls(symbol.where).text.module_names
        changed = {name for node in function.body for name in changes(node)} & there
        return {(symbol.where, name) for name in changed.difference(parameter_names(function.args))}

    def _global(self, path: str, name: str) -> _Global | None:
        """The object of another file that a name of a file is."""
        tree = self.files.discovery.tree
        symbol = self.files.names.lookup(path, name)
        module, _, attribute = symbol.name.rpartition(".") if symbol else ("", "", "")
        located = tree.locate(path, module) if module else None
        file = tree.module_file(located[1]) if located else None
        return (file, attribute) if file else None

    @cached_method
    def read_by(self, path: str, definition: str) -> dict[str, str]:
        """Name → where it is filled, of those that a definition of a file reads when it runs, with
        what it uses of that file."""
        text = self.files.file_calls(path).text

        def used(name: str) -> set[str]:
            return loads(text.definitions.get(name))

        names = sorted(reachable(used(definition), used)) if self.filled else ()
        objects = ((name, self._global(path, name) or (path, name)) for name in names)
        return {name: self.filled[item] for name, item in objects if item in self.filled}
