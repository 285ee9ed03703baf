"""Models that are built from the parsed options of a script, which names them only when it runs:
`models[args.model](args)`."""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from nparam_lint.discover.source_tree import cached_method
from nparam_lint.evidence.object_changes import is_read, note_on
from nparam_lint.evidence.options import arguments_of_script, lacks_value, uses, with_defaults
from nparam_lint.evidence.places import Frame
from nparam_lint.evidence.statements import NoWay
from nparam_lint.ground.grouping import grouped
from nparam_lint.ground.notation import Target
from nparam_lint.ground.paths import parent, within
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.script_words import OPTIONS, RUN_SETTING, SCRIPT_FILE, TEST_FILE
from nparam_lint.ground.values import Position

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from nparam_lint.discover.definitions import Definition
    from nparam_lint.evidence import Evidence
    from nparam_lint.evidence.commands import Command
    from nparam_lint.evidence.file_calls import CalledFiles, FileCalls
    from nparam_lint.evidence.places import Place

_RANK = 18
_PARSED = late_pattern(r"\bparse(_known)?_args\(")
_SETS = late_pattern(rb"^[^#\n]*?\b(\w+)\.(\w+)[ \t]*=[^=]", re.MULTILINE)
# Of an object by its name: what sets any attributes of it.
_SETS_ANY = r"\bsetattr\(\s*{0}\s*,\s*\w|(?:\bvars\({0}\)|\b{0}\.__dict__)\.update\("
_IMPORTS_BY_NAME = late_pattern(rb"\bimport_module\b|__import__")


class _Script(Struct, frozen=True, eq=False, dict=True):
    calls: FileCalls
    place: Place
    name: str  # of the parsed options
    attributes: set[str]  # that have values without a command

    def statements(self, command: Command | None) -> list[ast.stmt]:
        """Those that make the options, as that command gives them. Raises NoWay."""
        if self._cut is None:
            raise NoWay("its options are not known")
        options = self.calls.text.options
        if command is None:
            return with_defaults(self._cut, [self.holder], options)
        words = [word for words in command.by_option(options).values() for word in words]
        return [*arguments_of_script(words), *self._given]

    @cached_property
    def _given(self) -> list[ast.stmt]:
        """These statements, for a command that gives what has no default."""
        options = self.calls.text.options
        every = dict.fromkeys(options, ("",))
        statements = with_defaults(self._cut or [], [self.holder], options, command=every)
        return statements[len(arguments_of_script(())) :]

    @cached_property
    def names(self) -> set[str]:
        """Those of the attributes that it may give a value."""
        return self.attributes | self.calls.text.options.keys()

    @cached_property
    def reach(self) -> frozenset[str] | None:
        """The files that it may import; None where one of these imports others by their names."""
        tree = self.calls.search.discovery.tree
        files = tree.may_run_with([self.calls.path])
        is_open = any(_IMPORTS_BY_NAME.search(tree.source(path)) for path in files)
        return None if is_open else frozenset(files)

    @cached_property
    def read(self) -> set[str]:
        """Those that it works out others of: `args.width = args.heads * 64`."""
        return uses(self._cut or (), {self.name})[0]

    @property
    def holder(self) -> ast.expr:
        return ast.Name(self.name, ast.Load())

    @cached_property
    def _cut(self) -> Sequence[ast.stmt] | None:
        """The statements that make the options, and those after it that change them."""
        *above, last = self.place.frames
        for index in (len(last.body), last.index + 1):
            place = replace(self.place, frames=(*above, Frame(last.owner, last.body, index)))
            with suppress(NoWay, RecursionError):
                return self.calls.cuts.of(place, [self.holder], 0).statements
        return None


def find_option_objects(files: CalledFiles, having: Collection[Target]) -> Iterator[Evidence]:
    """A script whose options are all that a model reads of its only argument: for the wanted models
    of which nothing else tells."""
    objects = OptionObjects(files)
    for definition in files.discovery.definitions:
        target = Target(definition.path, definition.qualname)
        if target in files.query.targets and target not in having:
            with suppress(NoWay, RecursionError):
                yield from objects.built(definition, target)


class OptionObjects:
    """The scripts of a project that parse options."""

    def __init__(self, search: CalledFiles) -> None:
        self.search = search

    def built(self, definition: Definition, target: Target) -> Iterator[Evidence]:
        required = [item.name for item in definition.parameters or () if item.required]
        if len(required) != 1 or not OPTIONS.match(required[0]):
            return
        mentioned = self.mentioned(target.location, required[0])
        scripts = [
            script
            for script in self.scripts
            if not mentioned.isdisjoint(script.names)
            and (script.reach is None or target.location in script.reach)
        ]
        attributes = self.read(target, required[0]) if scripts else set()
        folders = grouped(scripts if attributes else (), lambda s: parent(s.calls.path))
        around = (at for at in folders if within([at])(target.location))
        for folder in sorted(around, key=len, reverse=True):
            evidence = [*self.given_by(folders[folder], target, attributes)]
            if evidence:  # a script further out is of another project, whose modules it imports
                yield from evidence
                return

    def given_by(
        self, scripts: Sequence[_Script], target: Target, attributes: set[str]
    ) -> Iterator[Evidence]:
        """What scripts of one directory say of a model that reads these attributes."""
        script = next((script for script in scripts if attributes <= script.attributes), None)
        if script:
            yield self.evidence(target, script)
        for script in scripts:
            sizes: set[object] = set()
            for command in self.commands(target, script):
                words = command.by_option(script.calls.text.options)
                read = (attributes | script.read) & words.keys()
                size = frozenset((name, words[name]) for name in read)
                if attributes <= script.attributes | words.keys() and size not in sizes:
                    sizes.add(size)
                    yield self.evidence(target, script, command)

    def commands(self, target: Target, script: _Script) -> Iterator[Command]:
        """The commands of a script that name the model, or its file."""
        module = target.location.removesuffix(".py").rpartition("/")[2]
        names = {target.callable, module} - {"Model", "model"}
        commands = self.search.query.commands.of(script.calls.path)
        return (command for command in commands if names.intersection(command.words))

    @cached_method
    def mentioned(self, path: str, name: str) -> set[str]:
        """The attributes of an argument that the text of a file names."""
        return set(re.findall(rf"\b{name}\.(\w+)", self.search.query.text(path)))

    def read(self, target: Target, name: str) -> set[str]:
        """The attributes that a constructor reads of an argument, under no condition, and does not
        set itself."""
        node = self.search.file_calls(target.location).text.definitions.get(target.callable)
        body = getattr(node, "body", ())
        init = next((n for n in body if getattr(n, "name", "") == "__init__"), node)
        holders = (name, f"self.{name}")
        loaded, stored = set[str](), set[str]()
        todo = [init] if init else []
        while todo:
            item = todo.pop()
            todo += [item.test] if isinstance(item, ast.If) else ast.iter_child_nodes(item)
            if isinstance(item, ast.Attribute) and ast.unparse(item.value) in holders:
                (stored if isinstance(item.ctx, ast.Store) else loaded).add(item.attr)
        return loaded - stored

    def evidence(self, target: Target, script: _Script, command: Command | None = None) -> Evidence:
        path, place = script.calls.path, script.place
        call = ast.Call(ast.Name(target.callable, ast.Load()), [script.holder], [])
        module = self.search.query.module_for(target.location, path)
        imports = ast.parse(f"from {module} import {target.callable}").body
        statements = [*script.statements(command), *imports]
        at = Position(path, place.call.lineno, place.call.col_offset + 1)
        evidence = self.search.evidence(target, call, statements, at, _RANK, path)
        text = self.search.query.text(target.location)
        is_beside = within([parent(path)])
        later: dict[str, str] = {}
        for name, places in self.set_later.items():
            beside = [p for p in places if is_beside(p) and not p.startswith(f"{target.location}:")]
            if beside and is_read(name, text):
                later[name] = beside[0]
        note = ""
        if later:
            first, *others = later
            names = f"{first} and {len(others)} more" if others else first
            note = note_on({names: later[first]})
        told = command.place if command else ""
        return replace(evidence, way=replace(evidence.way, note=note, command=told))

    @cached_property
    def set_later(self) -> dict[str, list[str]]:
        """The attributes that other files than these scripts set of an object of options, which is
        not done here: of each, where."""
        tree, scripts = self.search.discovery.tree, {script.calls.path for script in self.scripts}
        places: dict[str, list[str]] = {}
        for path in sorted({*tree.files} - scripts):
            source = tree.source(path)
            for match in _SETS.finditer(source):
                name = match[2].decode()
                if OPTIONS.match(match[1].decode()) and not RUN_SETTING.match(name):
                    line = source.count(b"\n", 0, match.start(1)) + 1
                    places.setdefault(name, []).append(f"{path}:{line}")
        return places

    @cached_property
    def scripts(self) -> list[_Script]:
        """The scripts that parse options."""
        tree = self.search.discovery.tree
        paths = sorted(tree.files)
        scripts: list[_Script] = []
        for path in paths:
            if SCRIPT_FILE.search(path) and not TEST_FILE.search(path):
                source = tree.source(path)
                if b"parse_args(" in source and b"add_argument(" in source:
                    scripts += self.in_script(self.search.file_calls(path))
        return scripts

    def in_script(self, calls: FileCalls) -> Iterator[_Script]:
        for place in calls.text.places(_PARSED):
            node = place.statement
            function = place.call.func
            if not isinstance(function, ast.Attribute) or not function.attr.startswith("parse"):
                continue
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                options, name = calls.text.options.items(), node.targets[0].id
                if re.search(_SETS_ANY.format(re.escape(name)), calls.text.text):
                    continue
                stored = re.findall(rf"\b{name}\.(\w+)\s*=[^=]", calls.text.text)
                attributes = {attribute for attribute, option in options if not lacks_value(option)}
                yield _Script(calls, place, name, attributes.union(stored))
