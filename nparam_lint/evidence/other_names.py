"""Calls that give a model by its name, with the names that the project has beside that one: the
other keys of the table that a factory looks it up in, and the other config files of a directory."""

from __future__ import annotations

import ast
import dataclasses
import posixpath
import re
from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.discover.source_tree import cached_method
from nparam_lint.discover.syntax import dotted_name, tail
from nparam_lint.ground.paths import CONFIG_SUFFIXES, parent
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.script_words import WEIGHTS_KEY
from nparam_lint.ground.values import Position, Way

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nparam_lint.discover.definitions import Parameter
    from nparam_lint.evidence import Evidence, EvidenceQuery
    from nparam_lint.ground.notation import Target

_SEVERAL = 3  # files in a directory of names
_MOST = 18  # of these that are tried, those that the README names before what scripts build
_LAST = 50  # rank
_READS = late_pattern(rb"\b(json|yaml|toml|tomllib|OmegaConf)\.\w*load")

Name = tuple[str | int, Way, int]  # with its rank


class OtherNames:
    """The evidence that calls with other names are. `sized`: the models whose sizes are known
    without a call."""

    def __init__(self, query: EvidenceQuery, sized: set[Target]) -> None:
        self.query = query
        self.sized = sized
        self.used: set[str] = set()  # directories: one call gets all names of each

    def of(self, every: Iterable[Evidence]) -> Iterator[Evidence]:
        """That for the calls among some evidence."""
        for evidence in every:
            target = evidence.target
            tree = ast.parse(evidence.recipe.call or "None", mode="eval")
            call = tree.body.value if isinstance(tree.body, ast.Subscript) else tree.body
            if evidence.way.kind != "call" or not isinstance(call, ast.Call):
                continue
            if tail(dotted_name(call.func)) != tail(target.callable):
                continue
            for name, node in _arguments(call, self.query.parameters_of(target)):
                if not isinstance(node, ast.Constant) or WEIGHTS_KEY.search(name):
                    continue
                first = node.value
                for value, way, rank in self.names(evidence, name, first):
                    if value == first:
                        yield replace(evidence, rank=min(rank, evidence.rank))
                        continue
                    node.value = value
                    recipe = dataclasses.replace(evidence.recipe, call=ast.unparse(tree))
                    way = replace(way, note=evidence.way.note, command=evidence.way.command)
                    yield replace(evidence, way=way, recipe=recipe, rank=rank, key=None)
                node.value = first

    def names(self, evidence: Evidence, parameter: str, first: object) -> Iterator[Name]:
        """The names that an argument may have, the first among them."""
        location = evidence.target.location
        table = self.query.size_names.of(location, evidence.target.callable)
        if table and table.parameter == parameter and evidence.target not in self.sized:
            entries = [entry for entry in table.entries if entry.value]
            if first in [entry.key for entry in entries]:
                for entry in entries:
                    yield entry.key, entry.way(table.path), evidence.rank
        for directory, names in self.directories.items():
            if first in names and directory not in self.used and self.is_read(location, directory):
                self.used.add(directory)
                others = sorted(
                    names, key=lambda name: (name != first, self.query.place_in_readme(name))
                )
                for name in others[:_MOST]:
                    rank = 0 if self.query.is_in_readme(name) else _LAST
                    yield name, Way("config", Position(names[name]), names[name]), rank

    @cached_property
    def directories(self) -> dict[str, dict[str, str]]:
        """Directory with several config files → name of one → its path."""
        directories: dict[str, dict[str, str]] = defaultdict(dict)
        for path in self.query.other_files:
            stem, suffix = posixpath.splitext(posixpath.basename(path))
            if suffix.lower() in CONFIG_SUFFIXES and parent(path):
                directories[parent(path)][stem] = path
        return {folder: names for folder, names in directories.items() if len(names) >= _SEVERAL}

    @cached_method
    def is_read(self, location: str, directory: str) -> bool:
        """Whether a file reads those of a directory, which it names, or a file that it imports."""
        tree = self.query.discovery.tree
        names = re.compile(rb"[\"'/]%s[\"'/]" % re.escape(posixpath.basename(directory).encode()))
        sources = map(tree.source, tree.run_with([location]))
        return any(names.search(source) and _READS.search(source) for source in sources)


def _arguments(call: ast.Call, parameters: Sequence[Parameter]) -> Iterable[tuple[str, ast.expr]]:
    """The arguments of a call by their names; none where the function has not all of them."""
    positional = [item.name for item in parameters if item.kind == "positional"]
    arguments = dict(zip(positional, call.args, strict=False))
    arguments |= {item.arg: item.value for item in call.keywords if item.arg}
    takes_any = any(item.kind == "varkwargs" for item in parameters)
    names = {item.name for item in parameters}
    return arguments.items() if takes_any or arguments.keys() <= names else ()
