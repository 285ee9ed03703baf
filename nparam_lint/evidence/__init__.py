"""Evidence: how the repository itself builds its models, as its files say.

A class whose constructor has required arguments cannot be called alone. The repository knows how: a
script, a test or the README calls it, a table names its sizes, a config file holds its arguments.
`sources.py` is the table of all kinds. Evidence says how to build a model; no budget is judged by
it.
"""

from __future__ import annotations

import posixpath
import re
import sys
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct, field, structs

from nparam_lint.discover.source_tree import cached_method
from nparam_lint.evidence import (
    commands,
    named_parameters,
    object_changes,
    plain_parsers,
    statements,
)
from nparam_lint.ground import orders, script_words
from nparam_lint.ground.config_outline import outline
from nparam_lint.ground.grouping import grouped
from nparam_lint.ground.paths import CONFIG_SUFFIXES, join, parent
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Collection, Hashable, Sequence

    from nparam_lint.discover import Discovery
    from nparam_lint.discover.definitions import Parameter, Problem
    from nparam_lint.ground.notation import Target
    from nparam_lint.ground.values import Way


_WORD = late_pattern(r"[\w./+-]+")
_LARGE = 100_000  # characters of a config file
_RELEASE = late_pattern(r"v\d[\d.]*|hf")  # in a name, which people leave out


class CommandRun(Struct, frozen=True):
    """That a script is run as a command says; `note`: see `Way`."""

    script: str
    command: commands.Command
    note: str = ""

    def recipe(self, target: Target) -> orders.Recipe:
        """For a model that the script makes."""
        words, folder = [*self.command.words], self.command.folder
        environ = {
            **(script_words.LAUNCHED if self.command.is_launched else {}),
            **dict(self.command.environ),
        }
        values = ", ".join(f"{name}={value!r}" for name, value in environ.items())
        setup = f"import os\nos.environ.update({values})" if values else None
        made = words, folder, target.location, target.callable
        return orders.Recipe(setup=setup, call=f"{script_words.MADE_BY_SCRIPT}{made}")


class Evidence(Struct, frozen=True):
    """How to build `target` (without arguments). `way`: what says so; `recipe`: what is evaluated,
    with the names of `file`, a Python file of the project. `rank`: the lower, the nearer to how the
    repository uses the model: configs and sizes, then scripts, then texts, then tests. `key`: the
    same for what builds the same; None: nothing else does. `run`: what builds it, if that is a
    script. `is_guess`: nothing says that it does, so that a failure tells nothing of the model."""

    target: Target
    way: Way
    file: str
    recipe: orders.Recipe
    rank: int = 0
    key: Hashable = None
    run: CommandRun | None = None
    is_guess: bool = False

    @property
    def as_run(self) -> Evidence | None:
        """The same by running the script; None where none is run, or this does."""
        if self.run is None or self.recipe.is_run or not self.target.callable:
            return None
        way = structs.replace(self.way, note=self.run.note)
        recipe = self.run.recipe(self.target)
        return structs.replace(self, way=way, file=self.run.script, recipe=recipe)


class EvidenceQuery(Struct, frozen=True, dict=True):
    """What evidence is looked for, and where: for `targets`, models without arguments, in a
    `discovery`. `other_files`: those that are not Python, relative to the root; `read` gives the
    content of any, or raises OSError. `problems` gets what cannot be read, which is a warning;
    `gaps` what a target needs and only what must not be run would give, or what a command says of
    it that is not followed; `not_followed` why the call of one that needs arguments is no way."""

    discovery: Discovery
    targets: Collection[Target]
    other_files: Sequence[str]
    read: Callable[[str], bytes]
    problems: list[Problem] = field(default_factory=list)
    gaps: dict[str, str] = field(default_factory=dict)
    not_followed: dict[str, str] = field(default_factory=dict)

    def content(self, path: str) -> bytes:
        """That of a file; empty where it cannot be read."""
        try:
            return self.read(path)
        except OSError:
            return b""

    def seen_from(self, script: str, file: str) -> str:
        """Where a file is that a script opens, or that a command of it names: it may be given from
        beside the script."""
        beside = join(parent(script), file)
        files = self._other_files
        return beside if beside in files and file not in files else file

    @cached_property
    def configs(self) -> dict[str, list[str]]:
        """The config files that are not Python, by their folders."""
        configs = (path for path in self.other_files if path.endswith(CONFIG_SUFFIXES))
        return grouped(configs, parent)

    @cached_property
    def _other_files(self) -> frozenset[str]:
        return frozenset(self.other_files)

    @cached_method
    def keys_beside(self, key: str) -> list[str]:
        """The other keys at the top of the first config file that has this one, in whatever
        case."""
        wanted = key.casefold()
        for path in (path for paths in self.configs.values() for path in paths):
            text = self.content(path).decode("utf-8", "replace")
            if len(text) < _LARGE and wanted in text.casefold():
                keys = dict.fromkeys(str(entry.keys[0]) for entry in outline(path, text))
                if wanted in map(str.casefold, keys):
                    return [other for other in keys if other.casefold() != wanted]
        return []

    def module_for(self, path: str, user: str) -> str:
        """The name by which a file is imported in the process that has imported another: of several
        one that begins like an import there, and means this file."""
        roots = {root for attempt in self.discovery.plan(user)[:1] for root in attempt.roots}
        inside = [root for root in roots if path.startswith(f"{root}/" if root else "")]
        if not inside:
            raise statements.NoWay(f"{path} is not imported from {user}")
        tree = self.discovery.tree

        def is_hidden(root: str, name: str) -> bool:
            """Whether another root has a package of that name: `deep`, and `configs/deep`."""
            top = name.partition("/")[0]
            packages = [other for other in roots if tree.is_package(join(other, top))]
            return bool(packages) and root not in packages

        every = {
            root: path.removeprefix(root).strip("/").removesuffix(".py").removesuffix("/__init__")
            for root in sorted(inside, key=len, reverse=True)
        }
        names = [name for root, name in every.items() if not is_hidden(root, name)]
        names = names or [*every.values()]
        heads = {item.module.partition(".")[0] for item in self.discovery.tree.facts(user).imports}
        names.sort(key=lambda name: name.partition("/")[0] not in heads)
        names = [name.replace("/", ".") for name in names]

        def leads_there(name: str) -> bool:
            place = tree.locate(user, name)
            return place is not None and tree.module_file(place[1]) == path

        return next(filter(leads_there, names), names[0])

    def parameters_of(self, target: Target) -> Sequence[Parameter]:
        """Those of a model; none of what defines none."""
        return self._parameters.get((target.location, target.callable), ())

    def needs_arguments(self, target: Target) -> bool:
        """Whether a model cannot be built by its name alone."""
        return any(parameter.required for parameter in self.parameters_of(target))

    @cached_property
    def _parameters(self) -> dict[tuple[str, str], Sequence[Parameter]]:
        definitions = self.discovery.definitions
        return {(item.path, item.qualname): item.parameters or () for item in definitions}

    @cached_property
    def readme(self) -> bytes:
        """That of the project."""
        at_root = (path for path in self.other_files if path.lower().startswith("readme"))
        return b"\n".join(self.content(path) for path in at_root if "/" not in path)

    def place_in_readme(self, name: str) -> int:
        """Where it has a name first, as `ViT-B/16`, `vit_b_16` or `conf/vit-b16.yaml`: the number
        of the word; behind all words where it has not."""
        return self._readme_words.get(_plain(name), sys.maxsize)

    def is_in_readme(self, name: str) -> bool:
        """Whether it has a name, in any spelling, or its parts in one line: `| Phi 3 | 3.8B |`."""
        parts = {part for part in _parts(name) if not _RELEASE.fullmatch(part)}
        in_line = len(parts) > 1 and any(parts <= line for line in self._readme_lines)
        return in_line or _plain(name) in self._readme_words

    def is_named_command(self, place: str) -> bool:
        """Whether the README shows a command, or names the script that does."""
        path = place.rpartition(":")[0]
        is_readme = "/" not in path and path.lower().startswith("readme")
        folder = parent(path)  # "run the scripts in scripts/long"
        readme = self.readme.replace(b"\\", b"/")
        is_of_folder = "/" in folder and folder.encode() in readme
        return bool(path) and (is_readme or is_of_folder or path.encode() in readme)

    @cached_property
    def _readme_lines(self) -> list[set[str]]:
        return [_parts(line) for line in self.readme.decode("utf-8", "replace").split("\n")]

    @cached_property
    def _readme_words(self) -> dict[str, int]:
        words = _WORD.findall(self.readme.decode("utf-8", "replace"))
        names = (name for word in words for name in (word, posixpath.splitext(word)[0]))
        names = (part for name in names for part in (name, name.rpartition("/")[2]))
        return {name: number for number, name in enumerate(dict.fromkeys(map(_plain, names)))}

    @cached_method
    def text(self, path: str) -> str:
        """That of a Python file, with the line ends that Python knows."""
        text = self.discovery.tree.source(path).decode("utf-8-sig", "replace")
        return text.replace("\r\n", "\n").replace("\f", " ")

    @cached_method
    def syntax(self, path: str) -> ast.Module:
        """The tree of a Python file; an empty one where it cannot be parsed."""
        text = self.text(path)
        tree = statements.parsed(text)
        return (
            plain_parsers.written_plainly(tree) if plain_parsers.IS_UNUSUAL.search(text) else tree
        )

    @cached_method
    def python_with(self, word: str) -> list[str]:
        """The Python files that have a word in them."""
        tree = self.discovery.tree
        return [path for path in sorted(tree.files) if word.encode() in tree.source(path)]

    @cached_property
    def size_names(self) -> named_parameters.NamedParameters:
        """The names of sizes that functions take."""
        return named_parameters.NamedParameters(self)

    @cached_property
    def changes(self) -> object_changes.ObjectChanges:
        """What functions of the project set in what they are given."""
        return object_changes.ObjectChanges(self.discovery, self.syntax)

    @cached_property
    def commands(self) -> commands.Commands:
        """Those that texts and shell scripts show."""
        return commands.Commands(self)


def _parts(text: str) -> set[str]:
    return {part.strip(".") for part in re.split(r"[^\w.]|_", text.lower())} - {""}


def _plain(name: str) -> str:
    """The same for all spellings of a name."""
    return re.sub(r"[^a-z0-9]", "", name.lower())
