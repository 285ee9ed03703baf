"""What functions of the project set in the objects that they are given, where they are not run: as
`build_loader(config)` sets `config.MODEL.NUM_CLASSES`."""

from __future__ import annotations

import ast
import re
from functools import cached_property
from typing import TYPE_CHECKING

from nparam_lint.discover.source_tree import cached_method
from nparam_lint.discover.syntax import FUNCTIONS, Function, dotted_name, tail
from nparam_lint.evidence.arguments import arguments_of
from nparam_lint.evidence.config_libraries import BINDS_IN_TEXT, BOUND
from nparam_lint.evidence.statement_slices import ABSENT, IMPORTED, LOCAL
from nparam_lint.evidence.statements import NoWay, changes, stores, variables_set
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from nparam_lint.discover import Discovery

_DEEP = 3  # calls that are followed
_READS = late_pattern(
    rb"""(?:environ\.get\(|getenv\(|environ\[)\s*["'](\w+)["'](?!\s*\]\s*=[^=])"""
    rb"""|["'](\w+)["']\s+(?:not\s+)?in\s+(?:os\.)?environ\b(?!\.)"""
)

_READS_ANY = late_pattern(rb"(?:environ\.get\(|getenv\(|environ\[)\s*[a-z]")
_VARIABLE = late_pattern(rb"[\"']([A-Z][A-Z0-9_]+)[\"']")


def is_read(attribute: str, text: str) -> bool:
    """Whether a source text reads an attribute, or `$NAME`, a variable of the environment."""
    if attribute.startswith("$"):
        return bool(re.search(rf"[\"']{attribute[1:]}[\"']", text))
    return bool(re.search(rf"\.{tail(attribute)}\b(?!\s*=[^=])", text))


def skipped_settings(unknown: Mapping[tuple[str, str], str], text: str) -> dict[str, str]:
    """Name → place, of what is set by what is not run: all names, and the attributes and imports
    that a source text reads. `unknown`: see `StatementSlice`."""
    return {
        name: at
        for (of, name), at in unknown.items()
        if of in (LOCAL, ABSENT)
        or (re.search(rf"\b{name}\b", text) if of == IMPORTED else is_read(name, text))
    }


def joined_notes(*notes: str) -> str:
    """What a way says, of several parts that may be empty."""
    return "; ".join(filter(None, notes))


def note_on(attributes: Mapping[str, str]) -> str:
    """What to say of attributes that are set by what is not run; of each, where."""
    told = (f"{tail(name)} as it is before {at} sets it" for name, at in attributes.items())
    return "; ".join(told)


class ObjectChanges:
    """Finds these functions in a `discovery`; `syntax` gives the tree of a file."""

    def __init__(self, discovery: Discovery, syntax: Callable[[str], ast.Module]) -> None:
        self.discovery = discovery
        self._syntax = syntax

    @cached_property
    def variables_read(self) -> set[str]:
        """The variables of the environment that files of the project read."""
        sources = [*map(self.discovery.tree.source, self.discovery.tree.files)]
        reading = [source for source in sources if b"environ" in source or b"getenv" in source]
        names = {name for text in reading for pair in _READS.findall(text) for name in pair if name}
        if any(map(_READS_ANY.search, reading)):  # a function that is given the name
            names.update(name for text in sources for name in _VARIABLE.findall(text))
        return {name.decode() for name in names}

    def variables(self, text: str) -> list[ast.Name]:
        """Those that a text may set, as names that a slice may need."""
        bound = [BOUND] if BINDS_IN_TEXT in text else []
        named = sorted(self.variables_read) if "environ" in text or "putenv" in text else ()
        names = (*bound, *(f"${name}" for name in named if name in text))
        return [ast.Name(name, ast.Load()) for name in names]

    @cached_method
    def imports(self, path: str) -> list[ast.Name]:
        """What a file imports from others of the project and changes: `settings.WIDTH = 7`,
        `cfg.merge_from_file(args.cfg)`."""
        syntax, tree = self._syntax(path), self.discovery.tree
        changed = {name for node in syntax.body for name in changes(node)}
        names: set[str] = set()
        for node in ast.walk(syntax) if changed else ():
            if isinstance(node, ast.ImportFrom):
                is_ours = node.level or tree.locate(path, node.module or "")
                names |= stores(node) & changed if is_ours else set()
            elif isinstance(node, ast.Import):
                ours = (alias for alias in node.names if tree.locate(path, alias.name))
                names |= {name for alias in ours for name in stores(alias)} & changed
        return [ast.Name(name, ast.Load()) for name in sorted(names)]

    def of(self, path: str, call: ast.Call, depth: int = 0) -> Iterator[tuple[str, str, str]]:
        """(the name that is handed to a function, the attribute that this sets, where) for a call
        in a file; for a variable of the environment that it sets, ("", `$NAME`, where)."""
        name = dotted_name(call.func)
        symbol = self.discovery.models.names.resolve(path, name) if name and depth < _DEEP else None
        if symbol is None or symbol.kind != "function":
            return
        function = self._functions(symbol.where).get(symbol.name)
        try:
            arguments = arguments_of(function, call, is_method=False) if function else {}
        except NoWay:
            return
        names = {
            parameter: value.id
            for parameter, value in arguments.items()
            if isinstance(value, ast.Name)
        }
        for parameter, attribute, place in self._inside(symbol.where, symbol.name, depth):
            if parameter in names or attribute.startswith("$"):
                yield names.get(parameter, ""), attribute, place

    @cached_method
    def _inside(self, path: str, name: str, depth: int) -> dict[tuple[str, str, str], None]:
        """As `of`, for a function of a file, with its own names."""
        function = self._functions(path).get(name)
        changes: dict[tuple[str, str, str], None] = {}
        for node in ast.walk(function) if function else ():
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                root, _, attribute = dotted_name(node).partition(".")
                changes[root, attribute, f"{path}:{node.lineno}"] = None
            elif isinstance(node, ast.Call):
                changes |= dict.fromkeys(self.of(path, node, depth + 1))
            for variable in sorted(variables_set(node)):
                changes["", variable, f"{path}:{getattr(node, 'lineno', 1)}"] = None
        return changes

    @cached_method
    def _functions(self, path: str) -> dict[str, Function]:
        body = self._syntax(path).body
        return {node.name: node for node in body if isinstance(node, FUNCTIONS)}
