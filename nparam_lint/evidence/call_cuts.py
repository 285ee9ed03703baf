"""The statements that a call needs: cut out of its file, and of the files that call the function
around it."""

from __future__ import annotations

import ast
from contextlib import suppress
from itertools import starmap
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from nparam_lint.discover.name_resolution import Symbol
from nparam_lint.evidence.arguments import arguments_of, under_other_names
from nparam_lint.evidence.slices import NeedsCaller, Slice, key_of
from nparam_lint.evidence.statement_slices import IMPORTED
from nparam_lint.evidence.statements import NotRun, NoWay, assign, loads, stores
from nparam_lint.ground.notation import Target
from nparam_lint.ground.script_words import TEST_FILE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nparam_lint.discover.syntax import Function
    from nparam_lint.evidence.file_calls import FileCalls
    from nparam_lint.evidence.places import Place

_FILES = 3  # other files through which arguments are followed


class Cut(Struct, frozen=True):
    """The statements for a call, in the names of the file `home`. `loops`: other entries of a table
    give other ways; `unknown`: see `Slice`; `read`: what the model reads beside its arguments."""

    home: FileCalls
    statements: Sequence[ast.stmt]
    loops: bool
    unknown: dict[tuple[str, str], str]
    read: Sequence[ast.AST] = ()


class CallCuts:
    """What is cut out for the calls of one file. `chosen`: options with other values than their
    defaults, by which conditions are judged."""

    def __init__(self, calls: FileCalls, chosen: Mapping[str, ast.Call] | None = None) -> None:
        self.calls, self.chosen = calls, chosen or {}

    def with_globals(self, place: Place, target: Target, nodes: list[ast.AST], entry: int) -> Cut:
        """As `of`, with what a class of the same file reads of its globals, where that can be
        had."""
        is_here = target.location == self.calls.path
        read = self.calls.text.globals_of(target.callable.split(".")[0]) if is_here else ()
        if read:
            with suppress(NoWay):
                names = [ast.Name(name, ast.Load()) for name in sorted(read)]
                return replace(self.of(place, [*nodes, *names], entry), read=names)
        return self.of(place, nodes, entry)

    def of(self, place: Place, nodes: Sequence[ast.AST], entry: int, depth: int = 0) -> Cut:
        """The statements that parts of a call need, and what sets the environment and changes
        other files' names before."""
        needs, unknown = [*nodes], {}
        changes = self.calls.search.query.changes
        variables = changes.variables(self.calls.text.text)
        changed = *variables, *changes.imports(self.calls.path)
        with suppress(NoWay):
            return self._of_all(place, [*nodes, *changed], entry, depth)
        for name in changed:
            try:
                self._of_all(place, [*needs, name], entry, depth)
                needs.append(name)
            except NoWay as why:
                if name in variables:
                    unknown["os.environ", name.id] = self.calls.path
                elif isinstance(why, NotRun):
                    unknown[IMPORTED, name.id] = why.place or self.calls.path
        cut = self._of_all(place, needs, entry, depth)
        return replace(cut, unknown=cut.unknown | unknown)

    def _of_all(self, place: Place, nodes: Sequence[ast.AST], entry: int, depth: int) -> Cut:
        """The statements that these need, those of the files that call the function too. What only
        sets attributes by what is not run is left out; where that is not enough, the first call
        that is not run is why there is no way."""
        lost = frozenset[str]()
        with_defaults: set[tuple[str, int]] = set()  # of which no call elsewhere is followed
        first: NotRun | None = None
        while True:
            part = Slice(
                self.calls.text,
                entry=entry,
                lost=lost,
                chosen=self.chosen,
                with_defaults=with_defaults,
            )
            try:
                return Cut(self.calls, part.of(place, *nodes), part.loops, part.unknown)
            except NotRun as why:
                first = first or why
                if not why.name or why.name in lost | loads(*nodes):
                    raise first from None
                lost |= {why.name}
            except NeedsCaller as why:
                function = why.function
                callers = self.calls.search.callers(self.calls.path, self._called(function))
                # A factory has its ways beside: what it gives by itself, and each call of it.
                factory = Target(self.calls.path, function.name)
                is_told = why.has_default and factory in self.calls.search.query.targets
                for calls, caller in callers if depth < _FILES and not is_told else ():
                    if why.has_default and TEST_FILE.search(calls.path):
                        continue
                    try:
                        return self._outside(function, calls, caller, place, nodes, entry, depth)
                    except NotRun as reason:
                        first = first or (None if why.has_default else reason)
                    except NoWay:
                        pass
                if not why.has_default:
                    raise first or why from None
                with_defaults.add(key_of(function))
            except NoWay as why:
                raise first or why from None

    def _called(self, function: Function) -> Symbol:
        """What is called to run a function: a class, for its constructor."""
        is_constructor = function.name == "__init__"
        for name, owner in self.calls.text.definitions.items():
            if isinstance(owner, ast.ClassDef) and (
                function in owner.body or function is self.calls.text.constructor(owner)
            ):
                return Symbol("class", self.calls.path, name if is_constructor else "")
        return Symbol("function", self.calls.path, function.name)

    def _outside(
        self,
        function: Function,
        calls: FileCalls,
        caller: Place,
        place: Place,
        nodes: Sequence[ast.AST],
        entry: int,
        depth: int,
    ) -> Cut:
        """As `of`, with the arguments that another file gives a function of this one."""
        part = Slice(self.calls.text, entry=entry, outside=function, chosen=self.chosen)
        statements = part.of(place, *nodes)
        is_method = self._called(function).kind == "class"
        arguments = arguments_of(function, caller.call, is_method)
        values = {
            n: arguments.get(n) or part.default(function, n) for n in sorted(part.given_outside)
        }
        outer = CallCuts(calls, self.chosen).of(caller, [*values.values()], entry, depth + 1)
        bound = {name for node in outer.statements for name in stores(node)} | set(values)
        globals_read = loads(*nodes, *statements) & self.calls.text.names
        renamed = under_other_names(values)
        if globals_read & bound:
            raise NoWay("two things of one name")
        module = self.calls.search.query.module_for(self.calls.path, outer.home.path)
        lines = (f"from {module} import {name}" for name in sorted(globals_read))
        imports = ast.parse("\n".join(lines)).body
        statements = [*outer.statements, *starmap(assign, renamed.items()), *imports, *statements]
        return Cut(outer.home, statements, part.loops, outer.unknown | part.unknown)
