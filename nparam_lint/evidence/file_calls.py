"""The calls of wanted models in one Python file."""

from __future__ import annotations

import ast
import copy
import re
from contextlib import suppress
from functools import cached_property, partial
from itertools import islice, starmap
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from nparam_lint.discover.name_resolution import Symbol
from nparam_lint.discover.scan import imported
from nparam_lint.discover.source_tree import cached_method
from nparam_lint.discover.syntax import FUNCTIONS, dotted_name, flat, returned_calls, tail
from nparam_lint.evidence.arguments import arguments_of
from nparam_lint.evidence.call_search import CallSearch
from nparam_lint.evidence.config_libraries import BINDS_IN_TEXT, BUILDS, BUILDS_IN_TEXT
from nparam_lint.evidence.named_models import (
    GIVEN_LOOKED_UP,
    LOOKED_UP,
    ChosenModel,
    named_models,
)
from nparam_lint.evidence.option_ways import OptionWays
from nparam_lint.evidence.places import SourceText
from nparam_lint.evidence.shorten import shortened
from nparam_lint.evidence.slices import NeedsCaller, Slice
from nparam_lint.evidence.statements import (
    BUILTINS,
    NotRun,
    NoWay,
    assign,
    calls_in,
    changes,
    does_work,
    is_harmless_outside,
    is_of_data,
    loads,
    stores,
)
from nparam_lint.ground.notation import Target
from nparam_lint.ground.script_words import (
    IN_TABLE,
    READS_CONFIG,
    SCRIPT_FILE,
    SIZE_OF_DATA,
    TEST_FILE,
)
from nparam_lint.ground.values import Position

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nparam_lint.discover.scan import Import
    from nparam_lint.discover.syntax import Function
    from nparam_lint.evidence import Evidence
    from nparam_lint.evidence.places import Place

SCRIPT, FACTORY, TEST, INSIDE = 10, 16, 30, 40  # ranks
_FILES = 3  # other files through which arguments are followed
_ENTRIES = 3  # of a table that a loop runs over


class Cut(Struct, frozen=True):
    """The statements for a call, in the names of the file `home`. `loops`: other entries of a table
    give other ways; `unknown`: see `Slice`; `read`: what the model reads beside its arguments."""

    home: FileCalls
    statements: Sequence[ast.stmt]
    loops: bool
    unknown: dict[tuple[str, str], str]
    read: Sequence[ast.AST] = ()


def find_calls(files: CalledFiles, _: object) -> Iterator[Evidence]:
    """The calls of wanted models in the Python files of a project."""
    tree = files.discovery.tree
    for path in sorted(tree.files):
        if files.may_call(path, tree.source(path)):
            yield from files.file_calls(path).evidence()


class FileCalls:
    """The calls of wanted models in one file, with the text `text` and that syntax tree."""

    def __init__(self, search: CalledFiles, path: str, text: str, tree: ast.Module) -> None:
        self.search = search
        self.path = path
        self.tree = tree
        self.text = SourceText(
            text,
            tree,
            self.is_harmless,
            path=path,
            sets=partial(search.query.changes.of, path),
            is_setting=self.is_setting,
            is_part=self.is_part,
            bases=self.bases,
        )
        self.rank = TEST if TEST_FILE.search(path) else SCRIPT
        if self.rank == SCRIPT and not SCRIPT_FILE.search(path):
            self.rank += 1

    def bases(self, owner: ast.ClassDef) -> Iterator[tuple[SourceText, ast.ClassDef]]:
        """The classes of the project that a class of the file inherits from."""
        for name in filter(None, map(dotted_name, owner.bases)):
            symbol = self.resolve(name)
            if symbol and symbol.kind == "class":
                text = self.search.file_calls(symbol.where).text
                base = text.definitions.get(symbol.name)
                if isinstance(base, ast.ClassDef):
                    yield text, base

    @cached_property
    def imports(self) -> list[Import]:
        """Those that are not at the top level."""
        return [item for node in self.text.inner_imports for item in imported(node)]

    @cached_property
    def bound(self) -> set[str]:
        """The names that imports and definitions bind."""
        return self.search.bound(self.path).union(item.bound for item in self.imports)

    @cached_property
    def changed_imports(self) -> list[ast.Name]:
        """What the file imports from others of the project and changes: `settings.WIDTH = 7`."""
        names = {name for node in self.tree.body for name in changes(node)} & self.bound
        return [ast.Name(name, ast.Load()) for name in sorted(names) if self.is_from_project(name)]

    def is_from_project(self, name: str) -> bool:
        symbol = self.resolve(name)
        if symbol is None or symbol.kind != "outside":
            return symbol is None or symbol.where != self.path
        # Also a value in one of its files, which is no definition.
        head, *rest = symbol.name.split(".")
        return bool(rest and self.search.discovery.tree.locate(self.path, head))

    def resolve(self, dotted: str) -> Symbol | None:
        return self.search.names.resolve(self.path, dotted, local=self.imports)

    def is_harmless(self, call: ast.Call) -> bool:
        """Whether a call only makes a value: by the names of what is called, or what it does."""
        return self.is_harmless_by_name(call) or self.is_plain(dotted_name(call.func))

    @cached_method
    def is_plain(self, name: str) -> bool:
        """Whether this is a function of the project that calls nothing but what only makes values,
        and reads files."""
        symbol = self.resolve(name) if name and self.is_bound(name) else None
        if symbol is None or symbol.kind != "function":
            return False
        calls = self.search.file_calls(symbol.where)
        node = calls.text.definitions.get(symbol.name)
        return isinstance(node, ast.FunctionDef) and all(
            dotted_name(inner.func) == "open" or calls.is_harmless_by_name(inner)
            for inner in calls_in(node)
        )

    def is_harmless_by_name(self, call: ast.Call) -> bool:
        name = dotted_name(call.func)
        if READS_CONFIG.search(name) or name == "eval":  # of Python: what it gives is looked up
            return True
        if not name:
            attribute = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            return not does_work(attribute)
        if does_work(name):
            return False
        if not self.is_bound(name):  # a method of a value, or a function of Python
            return "." in name or name in self.assigned or is_harmless_outside(name)
        symbol = self.resolve(name)
        is_dotted = symbol is not None and symbol.kind == "outside" and "." in symbol.name
        if symbol and is_dotted and not self.is_from_project(name):
            return is_harmless_outside(symbol.name)
        return symbol is None or not (does_work(symbol.name) or is_of_data(symbol.where))

    def is_bound(self, dotted: str) -> bool:
        """Whether an import or a definition gives a name its meaning."""
        name = dotted.partition(".")[0]
        return name in self.bound or ("*" in self.bound and name not in self.assigned)

    @cached_property
    def assigned(self) -> set[str]:
        """The names that anything in the file is assigned to, or given as."""
        nodes = [*ast.walk(self.tree)]
        names = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        return names | {node.arg for node in nodes if isinstance(node, ast.arg)}

    def is_part(self, call: ast.Call) -> bool:
        """Whether this makes an object of a class of another package."""
        name = dotted_name(call.func)
        symbol = self.resolve(name) if name.partition(".")[0] in self.bound else None
        if symbol is None or symbol.kind != "outside" or not tail(symbol.name)[:1].isupper():
            return False
        return not (does_work(name) or does_work(symbol.name))

    def is_setting(self, call: ast.Call) -> bool:
        """Whether this is a function of the project that sets attributes of other things."""
        name = dotted_name(call.func)
        symbol = self.resolve(name) if name else None
        if symbol is None or symbol.kind != "function":
            return False
        node = self.search.file_calls(symbol.where).text.definitions.get(symbol.name)
        inner = ast.walk(node) if node else ()
        return any(isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) for n in inner)

    @cached_property
    def model_names(self) -> set[str]:
        """The names of wanted models in the text."""
        return {name.decode() for name in self.search.named_in(self.text.text.encode())}

    def names_for_models(self, imports: Iterable[Import]) -> set[str]:
        """These, and those that imports give them."""
        by_name = self.search.by_name
        aliases = {i.bound for i in imports if tail(i.name or i.module) in by_name}
        return self.model_names | aliases

    def places(self) -> Iterator[Place]:
        """The calls that may be such of a wanted model."""
        facts, by_name = self.search.discovery.tree.facts(self.path), self.search.by_name
        names = self.names_for_models((*facts.imports, *self.imports))
        names |= {alias for alias, name in facts.aliases if tail(name) in by_name}
        names |= {*GIVEN_LOOKED_UP.findall(self.text.text)}
        pattern = "|".join(map(re.escape, sorted(names)))
        pattern = rf"\b({pattern})\s*(\.\s*\w+\s*)?\(|{LOOKED_UP.pattern}|{IN_TABLE}"
        pattern += "".join(f"|{text}" for text in BUILDS_IN_TEXT)
        for method in sorted({method for _, method in self.search.builders}):
            pattern += rf"|\.{method}\("
        return self.text.places(re.compile(pattern))

    def evidence(self) -> Iterator[Evidence]:
        for place in self.places():
            for model in named_models(self, place.call):
                yield from self.built(place, model.target, named=model)
            for target, part in self.targets(place.call):
                yield from self.built(place, target, part)

    def targets(self, call: ast.Call) -> Iterator[tuple[Target, str]]:
        """The models that a call gives whatever the options, each with what stands behind the call
        to get it."""
        name = dotted_name(call.func)
        symbol = self.resolve(name) if name and self.is_bound(name) else None
        target = self.search.target_of(symbol)
        if symbol and symbol.kind == "outside" and BUILDS.match(symbol.name):
            target = self.target_by_config(call)
        parts = self.search.parts_of(symbol) if symbol and symbol.kind == "function" else {}
        if parts:
            yield from parts.items()
        elif target := target or self.target_by_builder(call):
            yield target, ""

    def target_by_config(self, call: ast.Call) -> Target | None:
        """The one model that the config in a call is of, which is made in this file:
        `build(Config(Net, d=3))`."""
        targets: dict[Target, None] = {}
        nodes: list[ast.AST] = [*call.args[:1]]
        seen: set[str] = set()
        while nodes:
            for name in loads(nodes.pop()) - seen:
                seen.add(name)
                if target := self.search.target_of(self.resolve(name)):
                    targets[target] = None
                    continue
                kinds = ast.Assign, ast.AnnAssign, *FUNCTIONS
                statements = (node for node in ast.walk(self.tree) if isinstance(node, kinds))
                nodes += [node for node in statements if name in stores(node)]
        return next(iter(targets)) if len(targets) == 1 else None

    @cached_method
    def target_by_builder(self, call: ast.Call) -> Target | None:
        """The model that a method of a config object makes: `Config.small().build()`."""
        if not isinstance(call.func, ast.Attribute):
            return None
        config, value, method = None, call.func.value, call.func.attr
        if not any(method == builder for _, builder in self.search.builders):
            return None
        if isinstance(value, ast.Name):
            assigned = [
                node.value
                for node in ast.walk(self.tree)
                if isinstance(node, ast.Assign)
                and node.lineno < call.lineno
                and any(isinstance(t, ast.Name) and t.id == value.id for t in node.targets)
            ]
            value = assigned[-1] if assigned else value
        name = dotted_name(value.func) if isinstance(value, ast.Call) else ""
        if name and self.is_bound(name) and (config := self.resolve(name)):
            if config.kind == "method":
                config = Symbol("class", config.where, config.name.rpartition(".")[0])
            return self.search.builders.get((config, method))
        return None

    def built(
        self,
        place: Place,
        target: Target,
        part: str = "",
        named: ChosenModel | None = None,
        default: str = "",
    ) -> Iterator[Evidence]:
        """The ways that a call is; `default`: what is said of arguments that were left out."""
        call, at = place.call, Position(self.path, place.call.lineno, place.call.col_offset + 1)
        values = (*call.args, *(item.value for item in call.keywords))
        is_sketch = any(isinstance(v, ast.Constant) and v.value is Ellipsis for v in values)
        if is_sketch or (self.search.needs_nothing(target, call) and not self.prepares(target)):
            return
        rank, is_inside = self.placed(place)
        if is_inside and not loads(*call.args, *call.keywords) <= self.text.available | BUILTINS:
            return  # its arguments are those of the model around it
        # What is called is cut out too, where that has to be worked out.
        is_method = isinstance(call.func, ast.Attribute) and self.target_by_builder(call)
        name = dotted_name(call.func)
        function = [] if name and self.is_bound(name) and not is_method else [call.func]
        nodes = [*call.args, *call.keywords, *function]
        for entry in range(_ENTRIES):
            try:
                cut = self.cut_with_globals(place, target, nodes, entry)
                home = cut.home
                note = self.search.note_of(target, cut.unknown, home.path, home.text.options)
                # What a factory says of other sizes, the calls of that say too.
                most = 1 if rank == FACTORY and self.is_told(place) else None
                options = OptionWays(self, cut, call, target, named)
                filled = [*islice(options, most)]
            except (NoWay, RecursionError) as why:
                if isinstance(why, NotRun) and why.place and not is_inside:
                    self.search.query.gaps.setdefault(str(target), str(why))
                    plain, left_out = self.without_data(place, target)
                    names = ", ".join(left_out)
                    if left_out:
                        words = f"{names} by default, not as {why.name} ({why.place}) has it"
                        yield from self.built(plain, target, part, named, words)
                return
            is_commanded = any(command.startswith("as in ") for _, command in filled)
            if not (is_commanded or is_inside) and (gap := options.not_followed()):
                self.search.query.gaps.setdefault(str(target), gap)
            for statements, command in filled:
                needed, short = shortened(statements, call)
                if needed and is_inside:
                    return
                needed_cut = replace(cut, statements=needed)
                evidence = self.evidence_of(target, short, needed_cut, at, rank, part)
                whole_note = "; ".join(filter(None, (note, default, command)))
                yield replace(evidence, way=replace(evidence.way, note=whole_note))
            if not cut.loops:
                return

    def is_told(self, place: Place) -> bool:
        """Whether a function around the call needs arguments: `main()` parses its own."""
        factories = (Target(self.path, function.name) for function in place.functions)
        return any(map(self.search.needs_arguments, factories))

    def without_data(self, place: Place, target: Target) -> tuple[Place, list[str]]:
        """A call without the arguments that only what is not run would give, as far as the default
        is None, or that of a number that data sets have; and their names."""
        parameters = self.search.query.parameters.get((target.location, target.callable), ())
        defaults = {item.name: "" if item.required else item.default for item in parameters}
        left_out: list[str] = []
        for item in place.call.keywords:
            default = defaults.get(item.arg or "")
            if item.arg and (default == "None" or (default != "" and SIZE_OF_DATA.match(item.arg))):
                try:
                    self.cut(place, [item], 0)
                except NotRun:
                    left_out.append(item.arg)
                except (NoWay, RecursionError):
                    pass
        call = copy.copy(place.call)
        call.keywords = [item for item in call.keywords if item.arg not in left_out]
        return replace(place, call=call), left_out

    def prepares(self, target: Target) -> bool:
        """Whether a model without arguments depends on what the file does before it calls it."""
        if BINDS_IN_TEXT in self.text.text:
            return True
        node = self.text.definitions.get(target.callable) if target.location == self.path else None
        if not isinstance(node, FUNCTIONS):
            return False
        changed = {name.id for name in self.changed_imports} | self.text.changing
        return not changed.isdisjoint(loads(node))

    def cut_with_globals(
        self, place: Place, target: Target, nodes: list[ast.AST], entry: int
    ) -> Cut:
        """As `cut`, with what a class of the same file reads of its globals, where that can be
        had."""
        is_here = target.location == self.path
        read = self.text.globals_of(target.callable.split(".")[0]) if is_here else ()
        if read:
            with suppress(NoWay):
                names = [ast.Name(name, ast.Load()) for name in sorted(read)]
                return replace(self.cut(place, [*nodes, *names], entry), read=names)
        return self.cut(place, nodes, entry)

    def cut(self, place: Place, nodes: Sequence[ast.AST], entry: int, depth: int = 0) -> Cut:
        """The statements that parts of a call need, and what sets the environment and changes
        other files' names before."""
        needs, unknown = [*nodes], {}
        variables = self.search.query.changes.variables(self.text.text)
        changed = *variables, *self.changed_imports
        with suppress(NoWay):
            return self.cut_for(place, [*nodes, *changed], entry, depth)
        for name in changed:
            try:
                self.cut_for(place, [*needs, name], entry, depth)
                needs.append(name)
            except NoWay:
                if name in variables:
                    unknown["os.environ", name.id] = self.path
        cut = self.cut_for(place, needs, entry, depth)
        return replace(cut, unknown=cut.unknown | unknown)

    def cut_for(self, place: Place, nodes: Sequence[ast.AST], entry: int, depth: int) -> Cut:
        """The statements that these need, those of the files that call the function too. What only
        sets attributes by what is not run is left out; where that is not enough, the first call
        that is not run is why there is no way."""
        lost = frozenset[str]()
        first: NotRun | None = None
        while True:
            part = Slice(self.text, entry=entry, lost=lost)
            try:
                return Cut(self, part.of(place, *nodes), part.loops, part.unknown)
            except NotRun as why:
                first = first or why
                if not why.name or why.name in lost | loads(*nodes):
                    raise first from None
                lost |= {why.name}
            except NeedsCaller as why:
                function = why.function
                callers = self.search.callers(self.path, self.called(function))
                for calls, caller in callers if depth < _FILES else ():
                    try:
                        return self.cut_outside(function, calls, caller, place, nodes, entry, depth)
                    except NotRun as reason:
                        first = first or reason
                    except NoWay:
                        pass
                raise first or why from None
            except NoWay as why:
                raise first or why from None

    def called(self, function: Function) -> Symbol:
        """What is called to run a function: a class, for its constructor."""
        is_constructor = function.name == "__init__"
        for name, owner in self.text.definitions.items():
            if isinstance(owner, ast.ClassDef) and (
                function in owner.body or function is self.text.constructor(owner)
            ):
                return Symbol("class", self.path, name if is_constructor else "")
        return Symbol("function", self.path, function.name)

    def cut_outside(
        self,
        function: Function,
        calls: FileCalls,
        caller: Place,
        place: Place,
        nodes: Sequence[ast.AST],
        entry: int,
        depth: int,
    ) -> Cut:
        """As `cut`, with the arguments that another file gives a function of this one."""
        part = Slice(self.text, entry=entry, outside=function)
        statements = part.of(place, *nodes)
        is_method = self.called(function).kind == "class"
        arguments = arguments_of(function, caller.call, is_method)
        values = {
            n: arguments.get(n) or part.default(function, n) for n in sorted(part.given_outside)
        }
        outer = calls.cut(caller, [*values.values()], entry, depth + 1)
        bound = {name for node in outer.statements for name in stores(node)} | set(values)
        globals_read = loads(*nodes, *statements) & self.text.names
        renamed = {n: v for n, v in values.items() if not (isinstance(v, ast.Name) and v.id == n)}
        if globals_read & bound or loads(*values.values()) & set(renamed):
            raise NoWay("two things of one name")
        module = self.search.query.module_for(self.path, outer.home.path)
        lines = (f"from {module} import {name}" for name in sorted(globals_read))
        imports = ast.parse("\n".join(lines)).body
        statements = [*outer.statements, *starmap(assign, renamed.items()), *imports, *statements]
        return Cut(outer.home, statements, part.loops, outer.unknown | part.unknown)

    def evidence_of(
        self, target: Target, call: ast.Call, cut: Cut, at: Position, rank: int, part: str
    ) -> Evidence:
        free = loads(*call.args, *call.keywords)
        symbol = self.resolve(dotted_name(call.func)) if dotted_name(call.func) else None
        is_ours = symbol and symbol.kind != "outside" and not part
        if not cut.statements and is_ours and self.search.same_in(target, self.path, free):
            return self.search.evidence_at_home(target, symbol, call, (), at, rank)
        statements = [*cut.statements, *self.needed_imports(call, cut)]
        return self.search.evidence(target, call, statements, at, rank, cut.home.path, part)

    def needed_imports(self, call: ast.Call, cut: Cut) -> list[ast.stmt]:
        """The import of what is called, where it is not among the names of the file."""
        head = dotted_name(call.func).partition(".")[0]
        if not head or any(head in stores(node) for node in cut.statements):
            return []
        if cut.home is not self and head in self.text.names:
            module = self.search.query.module_for(self.path, cut.home.path)
            return ast.parse(f"from {module} import {head}").body
        if head in self.search.names.names(self.path):
            return []
        for node in self.text.inner_imports:
            if head in stores(node):
                part = copy.copy(node)
                part.names = [alias for alias in node.names if head in stores(alias)]
                return [part]
        return []

    def placed(self, place: Place) -> tuple[int, bool]:
        """The rank of a call, and whether it stands in another model."""
        modules = self.search.discovery.modules(self.path)
        if any(node.name in modules for node in place.classes):
            return INSIDE, True
        if any(Target(self.path, f.name) in self.search.query.targets for f in place.functions):
            return FACTORY, False
        return self.rank + (0 if place.is_main or not place.functions else 1), False


class CalledFiles(CallSearch):
    """The same, with the calls in each file, which is read once."""

    @cached_method
    def file_calls(self, path: str) -> FileCalls:
        return FileCalls(self, path, self.query.text(path), self.query.syntax(path))

    @cached_method
    def parts_of(self, symbol: Symbol) -> dict[Target, str]:
        """The wanted models that a function returns beside others, `return encoder, decoder`, each
        with what stands behind a call to get it; empty where it is one, or not known."""
        calls = self.file_calls(symbol.where)
        function = calls.text.definitions.get(symbol.name)
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

    def callers(self, path: str, called: Symbol) -> Iterator[tuple[FileCalls, Place]]:
        """The calls of a function, or a class, of a file in other files."""
        for caller in self.called_in.get(called.name.encode(), ()) if len(called.name) > 1 else ():
            if caller != path:
                calls = self.file_calls(caller)
                aliases = calls.text.aliases(called.name)
                for place in calls.text.callers(called.name):
                    name = dotted_name(place.call.func)
                    if calls.resolve(called.name if name in aliases else name) == called:
                        yield calls, place
