"""The calls of wanted models in one Python file."""

from __future__ import annotations

import ast
import copy
from functools import cached_property
from typing import TYPE_CHECKING

from nparam_lint.discover.name_resolution import Symbol
from nparam_lint.discover.source_tree import cached_method
from nparam_lint.discover.syntax import FUNCTIONS, dotted_name, flat, is_main, returned_calls, tail
from nparam_lint.evidence.call_cuts import CallCuts
from nparam_lint.evidence.call_search import CallSearch
from nparam_lint.evidence.call_ways import FACTORY, INSIDE, SCRIPT, TEST, CallWays, ModelCall
from nparam_lint.evidence.callees import Callees
from nparam_lint.evidence.config_libraries import HANDED_ON
from nparam_lint.evidence.global_configs import GlobalConfigs
from nparam_lint.evidence.inheritance import methods_of
from nparam_lint.evidence.named_models import named_models
from nparam_lint.evidence.statements import loads, stores, variables_set
from nparam_lint.ground.errors import Aside
from nparam_lint.ground.notation import Target
from nparam_lint.ground.script_words import SCRIPT_FILE, TEST_FILE
from nparam_lint.ground.values import Position

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nparam_lint.evidence import Evidence, EvidenceQuery
    from nparam_lint.evidence.call_cuts import Cut
    from nparam_lint.evidence.places import Place


def find_calls(files: CalledFiles, _: object) -> Iterator[Evidence]:
    """The calls of wanted models in the Python files of a project."""
    tree = files.discovery.tree
    for path in sorted(tree.files):
        with Aside(f"what {path} says of models"):
            if files.may_call(path, tree.source(path)):
                yield from files.file_calls(path).evidence()


class FileCalls(Callees):
    """The calls of wanted models in one file. `not_followed`: those of one of several models, whose
    arguments no way gives, whichever it is."""

    def __init__(self, search: CalledFiles, path: str, text: str, tree: ast.Module) -> None:
        super().__init__(search, path, text, tree)
        self.not_followed: dict[ast.Call, Exception] = {}
        self.rank = TEST if TEST_FILE.search(path) else SCRIPT
        if self.rank == SCRIPT and not SCRIPT_FILE.search(path):
            self.rank += 1

    @cached_property
    def cuts(self) -> CallCuts:
        return CallCuts(self)

    def evidence(self) -> Iterator[Evidence]:
        for place in self.places():
            named = named_models(self, place.call)
            for model in named:
                yield from CallWays(self, ModelCall(place, model.target, named=model)).evidence()
            name = dotted_name(place.call.func)
            chosen = self.meanings(name) if name else self.returned(place.call.func)
            chosen = [] if named else chosen or self.given_by_callers(place)
            for target in chosen:
                yield from CallWays(self, ModelCall(place, target, is_chosen=True)).evidence()
            for target, part in () if chosen else self.targets(place.call):
                yield from CallWays(self, ModelCall(place, target, part)).evidence()
        for match in HANDED_ON.finditer(self.text.text):
            if handed := self.search.target_of(self.resolve(match[1])):
                line = self.text.text.count("\n", 0, match.start()) + 1
                self.search.not_followed.setdefault(handed, Position(self.path, line))

    def placed(self, place: Place) -> tuple[int, bool]:
        """The rank of a call, and whether it stands in another model."""
        modules = self.search.discovery.modules(self.path)
        if any(node.name in modules for node in place.classes):
            return INSIDE, True
        if any(Target(self.path, f.name) in self.search.query.targets for f in place.functions):
            return FACTORY, False
        return self.rank + (0 if place.is_main or not place.functions else 1), False

    def prepares(self, target: Target) -> bool:
        """Whether a model without arguments may depend on what the file does before it calls it, or
        on the variables of a command."""
        changes = self.search.query.changes
        given = {n for command in self.search.commands_of(self.path) for n, _ in command.environ}
        named = {name.id for name in changes.variables(self.text.text)}
        nodes = ast.walk(self.tree) if named else ()
        is_set = any(not named.isdisjoint(variables_set(node)) for node in nodes)
        if is_set or not changes.variables_read.isdisjoint(given):
            return True
        imports = changes.imports(self.path)
        if target.location != self.path:  # what it imports, and is changed here
            symbols = {self.resolve(name.id) for name in imports} - {None}
            read = self.search.bound(target.location) if symbols else ()
            return any(self.search.names.lookup(target.location, n) in symbols for n in read)
        node = self.text.definitions.get(target.callable)
        if isinstance(node, ast.ClassDef):
            return bool(self.text.globals_of(target.callable))
        if not isinstance(node, FUNCTIONS):
            return False
        changed = {name.id for name in imports} | self.text.changing
        return not changed.isdisjoint(loads(node))

    def is_whole_when_loaded(self, target: Target) -> bool:
        """Whether a class of the file reads nothing but what loading the file gives a value."""
        is_class = isinstance(self.text.definitions.get(target.callable), ast.ClassDef)
        loaded = {name for node in self.tree.body if not is_main(node) for name in stores(node)}
        return is_class and self.text.globals_of(target.callable) <= loaded

    def evidence_of(
        self, target: Target, call: ast.Call, cut: Cut, at: Position, rank: int, part: str
    ) -> Evidence:
        free = loads(*call.args, *call.keywords)
        name = dotted_name(call.func)
        symbol = self.resolve(name, at.line) if name else None
        is_ours = symbol and symbol.kind != "outside" and not part
        is_changing = bool(self.search.query.changes.imports(self.path))
        is_same = is_ours and not is_changing and self.search.same_in(target, self.path, free)
        if not cut.statements and is_same:
            return self.search.evidence_at_home(target, symbol, call, (), at, rank)
        statements = [*cut.statements, *self.needed_imports(call, cut, at.line)]
        return self.search.evidence(target, call, statements, at, rank, cut.home.path, part)

    def needed_imports(self, call: ast.Call, cut: Cut, line: int) -> list[ast.stmt]:
        """The import of what is called at a line, where it is not among the names of the file."""
        head = dotted_name(call.func).partition(".")[0]
        if not head or any(head in stores(node) for node in cut.statements):
            return []
        nodes, may_be_outer = self.text.imports_reaching(head, line)
        if cut.home is not self and head in self.text.names and not nodes:
            module = self.search.query.module_for(self.path, cut.home.path)
            return ast.parse(f"from {module} import {head}").body
        if not nodes or (may_be_outer and head in self.text.available):
            return []
        part = copy.copy(nodes[0])
        part.names = [alias for alias in part.names if head in stores(alias)]
        if isinstance(part, ast.ImportFrom) and part.level and cut.home is not self:
            tree = self.search.discovery.tree
            place = tree.relative(self.path, part.level, part.module or "")
            if place:
                part.module = self.search.query.module_for(f"{place}.py", cut.home.path)
                part.level = 0
        return [part]


class CalledFiles(CallSearch):
    """The same, with the calls in each file, which is read once. `followed`: the files with calls
    that were; `not_followed`: where one stands that was not, as it is or as a command says it."""

    def __init__(self, query: EvidenceQuery) -> None:
        super().__init__(query)
        self.followed: set[str] = set()
        self.not_followed: dict[Target, Position] = {}

    @cached_property
    def configs(self) -> GlobalConfigs:
        return GlobalConfigs(self)

    @cached_method
    def file_calls(self, path: str) -> FileCalls:
        return FileCalls(self, path, self.query.text(path), self.query.syntax(path))

    def definition(self, symbol: Symbol) -> ast.stmt | None:
        """The statement at the top of a file of the project that defines this."""
        return self.file_calls(symbol.where).text.definitions.get(symbol.name)

    def function(self, symbol: Symbol | None) -> ast.FunctionDef | None:
        """That of a function, of a method, or of the constructor of a class."""
        if symbol is None or symbol.kind not in ("function", "method", "class"):
            return None
        text = self.file_calls(symbol.where).text
        owner, _, method = symbol.name.rpartition(".")
        owner, method = (symbol.name, "__init__") if symbol.kind == "class" else (owner, method)
        node = text.definitions.get(owner or method) or text.inner_functions.get(method)
        if isinstance(node, ast.ClassDef):
            node = text.methods(node).get(method)
        return node if isinstance(node, ast.FunctionDef) else None

    @cached_method
    def parts_of(self, symbol: Symbol) -> dict[Target, str]:
        """The wanted models that a function returns beside others, `return encoder, decoder`, each
        with what stands behind a call to get it; empty where it is one, or not known."""
        calls, function = self.file_calls(symbol.where), self.definition(symbol)
        if not isinstance(function, ast.FunctionDef):
            return {}
        body = [*flat(function.body)]
        values = [node.value for node in body if isinstance(node, ast.Return) and node.value]
        parts: dict[Target, str] = {}
        if len(values) != 1 or not isinstance(values[0], (ast.Tuple, ast.Dict)):
            return parts
        value = values[0]
        items: Iterable[tuple[object, ast.expr]]
        if isinstance(value, ast.Tuple):
            items = enumerate(value.elts)
        else:
            pairs = zip(value.keys, value.values, strict=True)
            items = ((getattr(key, "value", None), item) for key, item in pairs)
        statements = [node for node in body if isinstance(node, (ast.Assign, ast.AnnAssign))]
        for key, item in items:
            returning = copy.copy(function)
            returning.body = [*statements, ast.Return(item)]
            symbols = map(calls.resolve, returned_calls(returning)[0])
            targets = {target for symbol in symbols if (target := self.target_of(symbol))}
            if len(targets) == 1:
                parts[targets.pop()] = f"[{key!r}]"
        return parts if len(parts) > 1 else {}

    @cached_method
    def heirs(self, owner: Symbol) -> list[tuple[FileCalls, ast.ClassDef]]:
        """The classes of the project that inherit from one, those that do so themselves first."""
        heirs: list[tuple[FileCalls, ast.ClassDef]] = []
        for heir in self.inheriting.get(owner, ()):
            calls = self.file_calls(heir.where)
            node = calls.text.definitions.get(heir.name)
            if isinstance(node, ast.ClassDef):
                heirs += [(calls, node), *self.heirs(heir)]
        return heirs

    def callers_of_heirs(self, owner: Symbol) -> Iterator[tuple[FileCalls, Place]]:
        """The calls of the constructor of a class by classes of other files that inherit from it:
        by theirs, or where they have none by what makes them."""
        for calls, heir in self.heirs(owner) if owner.kind == "class" else ():
            if calls.path == owner.where:
                continue
            if "__init__" in methods_of(heir):
                yield from ((calls, place) for place in calls.text.calls_of_base([heir]))
                continue
            yield from ((calls, place) for place in calls.text.callers(heir.name))
            yield from self.callers(calls.path, Symbol("class", calls.path, heir.name))

    def callers(self, path: str, called: Symbol) -> Iterator[tuple[FileCalls, Place]]:
        """The calls of a function, or a class, of a file in other files."""
        function = tail(called.name)
        for caller in self.called_in.get(function.encode(), ()) if len(function) > 1 else ():
            if caller != path:
                calls = self.file_calls(caller)
                aliases = calls.text.aliases(function)
                for place in calls.text.callers(function):
                    name = dotted_name(place.call.func)
                    names = (name, called.name) if name in aliases else (name,)
                    if called in map(calls.resolve, names):
                        yield calls, place
