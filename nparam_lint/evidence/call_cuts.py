"""The statements that a call needs: cut out of its file, and of the files that call the function
around it."""

from __future__ import annotations

import ast
from contextlib import suppress
from itertools import chain, starmap
from operator import attrgetter
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from nparam_lint.discover.name_resolution import Symbol
from nparam_lint.evidence.arguments import arguments_of, gives_value, under_other_names
from nparam_lint.evidence.inheritance import has_first, is_bound_to_class
from nparam_lint.evidence.slices import NeedsCaller, Slice, key_of
from nparam_lint.evidence.statement_slices import IMPORTED
from nparam_lint.evidence.statements import NotRun, NoWay, assign, loads, stores
from nparam_lint.ground.notation import Target
from nparam_lint.ground.script_words import TEST_FILE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nparam_lint.discover.syntax import Function
    from nparam_lint.evidence.file_names import FileNames
    from nparam_lint.evidence.places import Place

_FILES = 3  # other files through which arguments are followed
_SLICES = 64  # tried for one call, of the callers of its callers


_Caller: TypeAlias = "tuple[Function, FileNames, Place]"  # of a function, in a file


class Cut(Struct, frozen=True):
    """The statements for a call, in the names of the file `home`. `loops`: other entries of a table
    give other ways; `unknown`: see `Slice`; `read`: what the model reads beside its arguments;
    `of_caller`: what calls the function around it gives some of them."""

    home: FileNames
    statements: Sequence[ast.stmt]
    loops: bool
    unknown: dict[tuple[str, str], str]
    read: Sequence[ast.AST] = ()
    of_caller: bool = False


class CallCuts:
    """What is cut out for the calls of one file. `chosen`: options with other values than their
    defaults, by which conditions are judged."""

    def __init__(self, calls: FileNames, chosen: Mapping[str, ast.Call] | None = None) -> None:
        self.calls, self.chosen = calls, chosen or {}

    def with_globals(self, place: Place, target: Target, nodes: list[ast.AST], entry: int) -> Cut:
        """As `of`, with what a class of the same file reads of its globals, where that can be
        had."""
        self.calls.search.slices = 0
        is_here = target.location == self.calls.path
        read = self.calls.text.globals_of(target.callable.split(".")[0]) if is_here else ()
        if read:
            with suppress(NoWay):
                names = [ast.Name(name, ast.Load()) for name in sorted(read)]
                cut = self.of(place, [*nodes, *names], entry)
                return replace(cut, read=[*cut.read, *names])
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
        """The statements that these need, and the conditions on the way to the call. Where what
        those ask for cannot be had, without them, unless a caller gives arguments: it may be one
        that takes another branch."""
        try:
            return self._followed(place, nodes, entry, depth, guards=True)
        except NoWay as why:
            if not why.guarded:
                raise
            cut = self._followed(place, nodes, entry, depth, guards=False)
            if cut.of_caller:
                raise
            return cut

    def _followed(
        self, place: Place, nodes: Sequence[ast.AST], entry: int, depth: int, *, guards: bool
    ) -> Cut:
        """The statements that these need, those of the files that call the function too. What only
        sets attributes by what is not run is left out; where that is not enough, the first call
        that is not run is why there is no way."""
        lost = frozenset[str]()
        with_defaults: set[tuple[str, int]] = set()  # of which no call elsewhere is followed
        first: NotRun | None = None
        loops = False
        while True:
            self.calls.search.slices += 1
            if self.calls.search.slices > _SLICES:
                raise first or NoWay("too many calls lead to it")
            part = Slice(
                self.calls.text,
                entry=entry,
                lost=lost,
                chosen=self.chosen,
                with_defaults=with_defaults,
                guards=guards,
            )
            try:
                statements = part.of(place, *nodes)
                read = [ast.Name(name, ast.Load()) for name in sorted(part.read)]
                of_caller = bool(part.local)
                loops = loops or part.loops
                return Cut(self.calls, statements, loops, part.unknown, read, of_caller)
            except NotRun as why:
                first = first or why
                first.guarded |= part.guarded
                if not why.name or why.name in lost | loads(*nodes):
                    raise first from None
                lost |= {why.name}
            except NeedsCaller as why:
                why.guarded = part.guarded
                calling = self._calling(why, depth)
                loops |= bool(why.is_called and calling)  # by the file itself, and by others
                if not (why.is_called and part.entry == 0):
                    cut, reason = self._by_callers(why, calling, part, place, nodes, depth)
                    first = first or reason
                    if cut:
                        return cut
                    if not why.has_default or (why.is_called and calling):
                        raise first or why from None
                with_defaults.update(map(key_of, why.functions))
            except NoWay as why:
                why.guarded |= part.guarded
                raise first or why from None

    def _calling(self, why: NeedsCaller, depth: int) -> list[_Caller]:
        """The calls in other files of the functions that need one; where these have defaults, not
        those of tests, and where the file calls them itself, those that give something else."""
        search = self.calls.search
        # A factory has its ways beside: what it gives by itself, and each call of it.
        factories = {Target(self.calls.path, function.name) for function in why.functions}
        if depth >= _FILES or (why.has_default and not factories.isdisjoint(search.query.targets)):
            return []
        calling: list[_Caller] = [
            (function, calls, caller)
            for function in sorted(why.functions, key=attrgetter("lineno"))
            for calls, caller in chain(
                search.callers(self.calls.path, self._called(function)),
                search.callers_of_heirs(self._called(function)),
            )
            if not (why.has_default and TEST_FILE.search(calls.path))
        ]
        return [item for item in calling if self._gives(why, item)] if why.is_called else calling

    def _gives(self, why: NeedsCaller, calling: _Caller) -> bool:
        """Whether a call gives what is needed another value than the default."""
        function, _, caller = calling
        is_method = self._called(function).kind != "function" and has_first(function)
        return gives_value(function, [caller.call], is_method, why.names)

    def _by_callers(
        self,
        why: NeedsCaller,
        calling: list[_Caller],
        part: Slice,
        place: Place,
        nodes: Sequence[ast.AST],
        depth: int,
    ) -> tuple[Cut | None, NotRun | None]:
        """With what other files give the functions around a place; or the first call there that is
        not run."""
        first: NotRun | None = None
        refused: NoWay | None = None
        entry = part.entry - why.is_called  # the first is what the file itself gives
        in_turn = part.in_turn(calling, [place for *_, place in calling])
        for function, calls, caller in calling[entry:] if why.is_called else in_turn:
            try:
                cut = self._outside(function, calls, caller, place, nodes, part, depth, entry)
                loops = cut.loops or part.loops or why.is_called
                return replace(cut, loops=loops, of_caller=True), None
            except NotRun as reason:
                reason.guarded |= part.guarded
                first = first or (None if why.has_default else reason)
                refused = refused or reason
            except NoWay as reason:
                refused = refused or reason
        if refused and why.has_default and any(self._gives(why, item) for item in calling):
            raise refused
        return None, first

    def _called(self, function: Function) -> Symbol:
        """What is called to run a function: a class, for its constructor."""
        is_constructor = function.name == "__init__"
        for name, owner in self.calls.text.definitions.items():
            if isinstance(owner, ast.ClassDef) and (
                function in owner.body or function is self.calls.text.constructor(owner)
            ):
                if is_bound_to_class(function):  # `Factory.create(…)`
                    return Symbol("method", self.calls.path, f"{name}.{function.name}")
                return Symbol("class", self.calls.path, name if is_constructor else "")
        return Symbol("function", self.calls.path, function.name)

    def _outside(
        self,
        function: Function,
        calls: FileNames,
        caller: Place,
        place: Place,
        nodes: Sequence[ast.AST],
        before: Slice,
        depth: int,
        entry: int,
    ) -> Cut:
        """As `of`, with the arguments that another file gives a function of this one."""
        part = Slice(
            self.calls.text,
            entry=entry,
            outside=function,
            chosen=self.chosen,
            guards=before.guards,
        )
        statements = part.of(place, *nodes)
        is_method = self._called(function).kind != "function" and has_first(function)
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
