"""The calls of wanted models in one Python file."""

from __future__ import annotations

import ast
import copy
import dataclasses
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from nparam_lint.discover.name_resolution import Symbol
from nparam_lint.discover.source_tree import cached_method
from nparam_lint.discover.syntax import (
    FUNCTIONS,
    dotted_name,
    flat,
    is_main,
    returned_calls,
    tail,
)
from nparam_lint.evidence import CommandRun
from nparam_lint.evidence.call_cuts import CallCuts
from nparam_lint.evidence.call_search import CallSearch
from nparam_lint.evidence.callees import Callees
from nparam_lint.evidence.config_libraries import HANDED_ON
from nparam_lint.evidence.inheritance import methods_of
from nparam_lint.evidence.later_changes import change_by_caller, later_changes, note_on_change
from nparam_lint.evidence.named_models import (
    ChosenModel,
    named_models,
)
from nparam_lint.evidence.object_changes import joined_notes
from nparam_lint.evidence.option_ways import OptionWays
from nparam_lint.evidence.options import is_reached
from nparam_lint.evidence.shorten import shortened
from nparam_lint.evidence.slices import LeftOut
from nparam_lint.evidence.statement_slices import ABSENT
from nparam_lint.evidence.statements import (
    BUILTINS,
    NOT_REACHED,
    NotRun,
    NoWay,
    loads,
    stores,
    values_given,
    variables_set,
)
from nparam_lint.ground.errors import Aside
from nparam_lint.ground.notation import Target
from nparam_lint.ground.script_words import (
    SCRIPT_FILE,
    SIZE_OF_DATA,
    TEST_FILE,
)
from nparam_lint.ground.values import Position

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nparam_lint.evidence import Evidence, EvidenceQuery
    from nparam_lint.evidence.call_cuts import Cut
    from nparam_lint.evidence.option_ways import FilledIn
    from nparam_lint.evidence.places import Place

SCRIPT, FACTORY, TEST, INSIDE = 10, 16, 30, 40  # ranks
_ENTRIES = 3  # of a table that a loop runs over, and callers that a condition chooses by
_TRIED = 12  # of them, with those that do not come to the call


def find_calls(files: CalledFiles, _: object) -> Iterator[Evidence]:
    """The calls of wanted models in the Python files of a project."""
    tree = files.discovery.tree
    for path in sorted(tree.files):
        with Aside(f"what {path} says of models"):
            if files.may_call(path, tree.source(path)):
                yield from files.file_calls(path).evidence()


class ModelCall(NamedTuple):
    """A call that gives a model. `part`: what stands behind it to get that; `named`: the option
    that names it; `note`: what is said of arguments that were left out; `as_made`: without what is
    done to the model after that; `is_chosen`: if what is called is this model."""

    place: Place
    target: Target
    part: str = ""
    named: ChosenModel | None = None
    note: str = ""
    as_made: bool = False
    is_chosen: bool = False


class FileCalls(Callees):
    """The calls of wanted models in one file."""

    def __init__(self, search: CalledFiles, path: str, text: str, tree: ast.Module) -> None:
        super().__init__(search, path, text, tree)
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
                yield from self.built(ModelCall(place, model.target, named=model))
            name = dotted_name(place.call.func)
            chosen = self.meanings(name) if name else self.returned(place.call.func)
            chosen = [] if named else chosen or self.given_by_callers(place)
            for target in chosen:
                yield from self.built(ModelCall(place, target, is_chosen=True))
            for target, part in () if chosen else self.targets(place.call):
                yield from self.built(ModelCall(place, target, part))
        for match in HANDED_ON.finditer(self.text.text):
            if handed := self.search.target_of(self.resolve(match[1])):
                line = self.text.text.count("\n", 0, match.start()) + 1
                self.search.not_followed.setdefault(handed, Position(self.path, line))

    def built(self, model: ModelCall) -> Iterator[Evidence]:
        """The ways that a call is."""
        place, target = model.place, model.target
        rank, is_inside = self.placed(place)
        is_part = is_inside or model.part or model.as_made
        later = None if is_part else later_changes(self, place, target)
        is_bare = self.search.needs_nothing(target, place.call) and (rank >= TEST or not later)
        given, read = values_given(place.call), loads(*place.call.args, *place.call.keywords)
        is_sketch = any(isinstance(v, ast.Constant) and v.value is Ellipsis for v in given)
        if is_sketch or (is_bare and not self.prepares(target)):
            return
        if is_inside and not read <= self.text.available | BUILTINS:
            return  # its arguments are those of the model around it
        if rank == FACTORY and not (model.note or model.as_made) and self.is_told(place):
            by_caller = change_by_caller(self, place)
            model = model._replace(note=note_on_change(by_caller) if by_caller else "")
        unchanged = None
        if later:
            # What a test does is no way that the model is published in.
            if rank < TEST and not later.asked_for:
                self.note_gap(target, f"{later.at} changes the model")
            note = joined_notes(model.note, note_on_change(later.at))
            unchanged = model._replace(note=note, as_made=True)
            if later.is_told:
                yield from self.built(unchanged)
                return
        changing = [later.function] if later else []
        choice = self.choice_of(model)
        nodes = [*self.parts_to_cut(place.call), *choice, *changing]
        chosen = model.named.as_default(self.text.options) if model.named else None
        cuts = CallCuts(self, chosen) if chosen is not None else self.cuts
        reached: Counter[str] = Counter()  # by the file that calls the function around the call
        for entry in range(_TRIED):
            try:
                cut = cuts.with_globals(place, target, nodes, entry)
                meant = self.meant_by(dotted_name(place.call.func), cut) if choice else target
                if meant not in (None, target):
                    if cut.loops:
                        continue
                    return
                statements = [*cut.statements, *(choice if meant is None else [])]
                cut = replace(cut, statements=statements, read=[*cut.read, *changing])
                home = cut.home
                definition = self.text.definitions.get(target.callable)
                is_factory = isinstance(definition, FUNCTIONS) and target.location == self.path
                reading = [*cut.statements, ast.Expr(place.call)]
                reading += [definition] if definition and is_factory else []
                unknown = self.search.note_of(
                    target, cut.unknown, home.path, home.text.options, reading
                )
                if unknown and rank < TEST and {of for of, _ in cut.unknown} != {ABSENT}:
                    self.note_gap(target, unknown)
                options = OptionWays(self, cut, place.call, target, model.named)
                filled = self.not_said_elsewhere(model, [*options], rank, is_bare=is_bare)
            except LeftOut:
                continue
            except (NoWay, RecursionError) as why:
                yield from self.not_built(model, unchanged, why, rank, is_inside)
                return
            if not (is_inside or any(w.command.place for w in filled)) and (
                gap := options.not_followed()
            ):
                self.note_gap(target, gap)
                self.search.not_followed.setdefault(target, self.at(place))
            self.search.followed.add(home.path)
            for way in filled:
                after = [*way.statements, *changing]
                needed, short = shortened(after, place.call, loads(*cut.read))
                if needed and is_inside:
                    return
                if any(is_reached(node) is False for node in needed):
                    continue
                needed = [node for node in needed if not is_reached(node)]
                reached[cut.home.path] += 1
                needed_cut = replace(cut, statements=needed)
                evidence = self.evidence_of(
                    target, short, needed_cut, self.at(place), rank, model.part
                )
                recipe, told = evidence.recipe, ""
                if later:
                    recipe = dataclasses.replace(recipe, call=later.made_to(str(recipe.call)))
                    told = later.note(way.command.place, way.note)
                if "by default" in way.note:
                    self.note_gap(target, f"{way.note}; as in {way.command.place}")
                note = joined_notes(unknown, model.note, way.note, told)
                command, is_script = way.command.place, rank < TEST and home.is_script
                told_way = replace(evidence.way, note=note, command=command, name=way.config)
                is_run = is_script and not (is_part or later)  # it ends before that changes it
                run = CommandRun(home.path, way.command, way.note) if is_run else None
                yield replace(evidence, way=told_way, recipe=recipe, run=run)
            if not cut.loops or reached[cut.home.path] >= _ENTRIES * len(filled):
                return

    def at(self, place: Place) -> Position:
        return Position(self.path, place.call.lineno, place.call.col_offset + 1)

    def choice_of(self, model: ModelCall) -> list[ast.stmt]:
        """What ends the call where another model is called; nothing where none can be."""
        if not model.is_chosen:
            return []
        called = ast.unparse(model.place.call.func)
        if "partial" in self.text.text:
            called = f"getattr({called}, 'func', {called})"
        test = f"if {called}.__name__ != {model.target.callable!r}: {NOT_REACHED}"
        return ast.parse(test).body

    def not_said_elsewhere(
        self, model: ModelCall, filled: list[FilledIn], rank: int, *, is_bare: bool
    ) -> list[FilledIn]:
        """Those of the ways that options make of a call which are not told without it, too."""
        if is_bare and self.is_whole_when_loaded(model.target):
            filled = [way for way in filled if way.command.place]
        if rank == FACTORY and self.is_told(model.place):
            # What it offers beside, the calls of it say too.
            filled[1:] = [way for way in filled[1:] if way.command.place]
        return filled

    def not_built(
        self,
        model: ModelCall,
        unchanged: ModelCall | None,
        why: Exception,
        rank: int,
        is_inside: bool,
    ) -> Iterator[Evidence]:
        """The ways of a call that cannot be followed as it stands: without what changes the model
        after that, or without arguments that data would give. Else why it was not is kept."""
        if unchanged:
            yield from self.built(unchanged)
        elif isinstance(why, NotRun) and why.place and not is_inside:
            self.note_gap(model.target, str(why))
            self.search.not_followed.setdefault(model.target, self.at(model.place))
            plain, left_out = self.without_data(model.place, model.target)
            if left_out:
                words = f"{', '.join(left_out)} by default, not as {why.name} ({why.place}) has it"
                note = joined_notes(words, model.note)
                yield from self.built(model._replace(place=plain, note=note))
        elif rank < TEST and not is_inside:
            reason = f"{why}() is not run" if isinstance(why, NotRun) else str(why)
            line = model.place.call.lineno
            text = f"{self.path}:{line} builds it, but was not followed: {reason}"
            self.search.query.not_followed.setdefault(str(model.target), text)
            self.search.not_followed.setdefault(model.target, self.at(model.place))

    def parts_to_cut(self, call: ast.Call) -> list[ast.AST]:
        """The arguments of a call; and what is called, where that has to be worked out."""
        is_method = isinstance(call.func, ast.Attribute) and self.target_by_builder(call)
        name = dotted_name(call.func)
        parts: list[ast.AST] = [*call.args, *call.keywords]
        if not (name and self.is_bound(name)) or is_method:
            parts.append(call.func)
        if isinstance(call.func, ast.Subscript):  # `nets.__dict__[args.net]()`
            parts.append(call.func.slice)
        return parts

    def note_gap(self, target: Target, why: str) -> None:
        self.search.query.gaps.setdefault(str(target), why)

    def is_told(self, place: Place) -> bool:
        """Whether a function around the call needs arguments: `main()` parses its own."""
        factories = (Target(self.path, function.name) for function in place.functions)
        return any(map(self.search.query.needs_arguments, factories))

    def without_data(self, place: Place, target: Target) -> tuple[Place, list[str]]:
        """A call without the arguments that only what is not run would give, as far as the default
        is None, or that of a number that data sets have; and their names."""
        parameters = self.search.query.parameters_of(target)
        defaults = {item.name: "" if item.required else item.default for item in parameters}
        names = [item.name for item in parameters if item.kind == "positional"]
        left_out: list[str] = []

        def is_left_out(name: str, value: ast.expr | ast.keyword) -> bool:
            default = defaults.get(name)
            if default == "None" or (default != "" and SIZE_OF_DATA.match(name)):
                try:
                    unknown = self.cuts.of(place, [value], 0).unknown
                    read = {ast.unparse(n) for n in ast.walk(value) if isinstance(n, ast.Attribute)}
                    is_lost = not read.isdisjoint(map(".".join, unknown))
                except NotRun:
                    is_lost = True
                except (NoWay, RecursionError):
                    is_lost = False
                if is_lost:
                    left_out.append(name)
                return is_lost
            return False

        call = copy.copy(place.call)
        is_plain = not any(isinstance(item, ast.Starred) for item in call.args)
        given = [*zip(names, call.args, strict=False)] if is_plain else []
        kept = [not is_left_out(*item) for item in given]
        first = kept.index(False) if False in kept else len(call.args)
        behind = zip(given[first:], kept[first:], strict=True)  # by their names now
        keywords = [ast.keyword(name, value) for (name, value), is_kept in behind if is_kept]
        call.args = call.args[:first]
        call.keywords = [
            *keywords,
            *(item for item in call.keywords if not (item.arg and is_left_out(item.arg, item))),
        ]
        return replace(place, call=call), left_out

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
        if cut.home is not self and head in self.text.names:
            module = self.search.query.module_for(self.path, cut.home.path)
            return ast.parse(f"from {module} import {head}").body
        if head in self.text.available:
            return []
        for node in self.imports_for(line):
            if head in stores(node):
                part = copy.copy(node)
                part.names = [alias for alias in node.names if head in stores(alias)]
                if isinstance(part, ast.ImportFrom) and part.level and cut.home is not self:
                    tree = self.search.discovery.tree
                    place = tree.relative(self.path, part.level, part.module or "")
                    if place:
                        part.module = self.search.query.module_for(f"{place}.py", cut.home.path)
                        part.level = 0
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
    """The same, with the calls in each file, which is read once. `followed`: the files with calls
    that were; `not_followed`: where one stands that was not, as it is or as a command says it."""

    def __init__(self, query: EvidenceQuery) -> None:
        super().__init__(query)
        self.followed: set[str] = set()
        self.not_followed: dict[Target, Position] = {}

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
        for path, name in self.inheriting.get(owner.name, ()):
            calls = self.file_calls(path)
            node = calls.text.definitions.get(name)
            bases = map(dotted_name, node.bases) if isinstance(node, ast.ClassDef) else ()
            if isinstance(node, ast.ClassDef) and owner in map(calls.resolve, filter(None, bases)):
                heirs += [(calls, node), *self.heirs(Symbol("class", path, name))]
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
