"""Of which wanted models the calls in one Python file may be."""

from __future__ import annotations

import ast
import re
from functools import cached_property
from typing import TYPE_CHECKING

from nparam_lint.discover.name_resolution import Symbol
from nparam_lint.discover.scan import imported
from nparam_lint.discover.source_tree import cached_method
from nparam_lint.discover.syntax import FUNCTIONS, dotted_name, flat, parameter_names, tail
from nparam_lint.evidence.arguments import arguments_known
from nparam_lint.evidence.config_libraries import BUILDS, BUILDS_IN_TEXT
from nparam_lint.evidence.file_names import FileNames, owner_of
from nparam_lint.evidence.named_models import GIVEN_LOOKED_UP, LOOKED_UP, called_by
from nparam_lint.evidence.statements import loads, stores
from nparam_lint.ground.script_words import IN_TABLE
from nparam_lint.ground.values import Position

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nparam_lint.discover.scan import Import
    from nparam_lint.evidence.call_cuts import Cut
    from nparam_lint.evidence.places import Place
    from nparam_lint.ground.notation import Target

_OFFERED = 24  # models of a module, of which a config names one


class Callees(FileNames):
    """Which calls of a file may be of wanted models, and of which."""

    @cached_property
    def every_import(self) -> list[Import]:
        return [*self.search.discovery.tree.facts(self.path).imports, *self.imports]

    @cached_property
    def model_names(self) -> set[str]:
        """The names of wanted models in the text."""
        return {name.decode() for name in self.search.named_in(self.text.text.encode())}

    def names_for_models(self, imports: Iterable[Import]) -> set[str]:
        """These, and those that imports give them."""
        by_name = self.search.by_name
        aliases = {i.bound for i in imports if tail(i.name or i.module) in by_name}
        return self.model_names | aliases

    def other_names(self, names: str) -> set[str]:
        """By which the file calls what functions are given, or what branches choose, where it hands
        something on that has one of the names, a pattern."""
        handed_on = rf"[=(,]\s*(\w+\.)*({names})\s*([,)\n#]|if\b)"
        is_got = not self.search.getters.isdisjoint(self.model_names)
        if not (is_got or (names and re.search(handed_on, self.text.text))):
            return set()
        functions = (node for node in self.nodes if isinstance(node, FUNCTIONS))
        parameters = {name for node in functions for name in parameter_names(node.args)}
        called = {dotted_name(node.func) for node in self.nodes if isinstance(node, ast.Call)}
        bound = self.assignments.keys() | {item.bound for item in self.every_import}
        return {
            name for name in called if name in parameters or (name in bound and self.meanings(name))
        }

    def places(self) -> Iterator[Place]:
        """The calls that may be such of a wanted model."""
        facts, by_name = self.search.discovery.tree.facts(self.path), self.search.by_name
        names = self.names_for_models(self.every_import)
        names |= {alias for alias, name in facts.aliases if tail(name) in by_name}
        names |= {*GIVEN_LOOKED_UP.findall(self.text.text)}
        pattern = "|".join(map(re.escape, sorted(names)))
        pattern = "|".join([pattern, *sorted(self.other_names(pattern))])
        pattern = rf"\b({pattern})\s*(\.\s*\w+\s*)?\(|{LOOKED_UP.pattern}|{IN_TABLE}"
        pattern += "".join(f"|{text}" for text in BUILDS_IN_TEXT)
        for method in sorted({method for _, method in self.search.builders}):
            pattern += rf"|\.{method}\("
        return self.text.places(re.compile(pattern))

    def targets(self, call: ast.Call) -> Iterator[tuple[Target, str]]:
        """The models that a call gives whatever the options, each with what stands behind the call
        to get it."""
        name = dotted_name(call.func)
        meanings = self.meanings_at(name, call.lineno) if name and self.is_bound(name) else []
        values = (dotted_name(node.value) for node in self.assignments.get(name, ()) if node.value)
        given = (self.resolve(value) for value in values if value and self.is_bound(value))
        meanings = [*dict.fromkeys([*meanings, *filter(None, given)])]
        for meaning in meanings if len(meanings) > 1 else ():
            if target := self.search.target_of(meaning):  # one of them: its script says which
                at = Position(self.path, call.lineno, call.col_offset + 1)
                self.search.not_followed.setdefault(target, at)
        symbol = meanings[0] if len(meanings) == 1 else None
        target = self.search.target_of(symbol)
        if symbol and symbol.kind == "outside" and BUILDS.match(symbol.name):
            target = self.target_by_config(call)
        parts = self.search.parts_of(symbol) if symbol and symbol.kind == "function" else {}
        if parts:
            yield from parts.items()
        elif target := target or self.target_by_builder(call):
            yield target, ""
        elif symbol and name:
            yield from self.built_elsewhere(call, owner_of(symbol))

    @cached_method
    def meanings(self, name: str) -> list[Target]:
        """The wanted models that branches give one name, `Net = A if args.a else B`, or that a
        function returns."""
        values = [node.value for node in self.assignments.get(name, ())]
        symbols: list[Symbol | None] = []
        returned: list[Target] = []
        is_made = False  # by `partial(Net, 3)`, or `lambda: Net(3)`
        for value in filter(None, values):
            if isinstance(value, ast.IfExp):
                values += [value.body, value.orelse]
            elif tail(given := dotted_name(called_by(value))) in self.search.by_name:
                symbols.append(self.resolve(given))
                is_made |= isinstance(value, (ast.Call, ast.Lambda))
            returned += self.returned(value)
        for item in self.every_import:
            symbols += [self.search.names.follow(self.path, item)] if item.bound == name else []
        targets = [*dict.fromkeys(filter(None, map(self.search.target_of, symbols)))]
        is_chosen = returned or is_made or len({target.callable for target in targets}) > 1
        return [*targets, *returned] if is_chosen else []

    def returned(self, value: ast.expr) -> list[Target]:
        """The wanted models that a function of the project returns: `model_class(args.name)`."""
        name = dotted_name(value.func) if isinstance(value, ast.Call) else ""
        symbol = self.resolve(name) if tail(name) in self.search.getters else None
        function = self.search.function(symbol) if symbol and symbol.kind == "function" else None
        if symbol is None or function is None:
            return self.looked_up(value)
        file = self.search.file_calls(symbol.where)
        given = [n.value for n in flat(function.body) if isinstance(n, ast.Return) and n.value]
        symbols = (file.resolve(name, v.lineno) for v in given if (name := dotted_name(v)))
        return [*dict.fromkeys(filter(None, map(self.search.target_of, symbols)))]

    def looked_up(self, value: ast.expr) -> list[Target]:
        """The wanted models that are looked up by what no option says: `getattr(nets, cfg["a"])`,
        `eval(cfg["arch"])`."""
        match value:
            case ast.Call(
                ast.Name("getattr"), [holder, ast.Subscript() | ast.Attribute(), *_]
            ) | ast.Subscript(ast.Attribute(holder, "__dict__")):
                prefix = f"{dotted_name(holder)}."
            case ast.Call(ast.Name("eval")) | ast.Subscript(ast.Call(ast.Name("globals"))):
                prefix = ""
            case _:
                return []
        names = (f"{prefix}{name}" for name in self.search.by_name)
        symbols = (self.resolve(name) for name in names if name[0] != "." and self.is_bound(name))
        return [*dict.fromkeys(filter(None, map(self.search.target_of, symbols)))][:_OFFERED]

    def given_by_callers(self, place: Place) -> list[Target]:
        """The wanted models that callers give a function around a call as what it calls:
        `run(config, Net)`."""
        name, targets = dotted_name(place.call.func), []
        for function in () if place.classes else place.functions:
            if name in parameter_names(function.args):
                symbol = Symbol("function", self.path, function.name)
                inside = ((self, caller) for caller in self.text.callers(function.name))
                for calls, caller in (*inside, *self.search.callers(self.path, symbol)):
                    value = arguments_known(function, caller.call, is_method=False).get(name)
                    if value and (given := dotted_name(value)):
                        targets.append(self.search.target_of(calls.resolve(given)))
        return [*dict.fromkeys(filter(None, targets))]

    def built_elsewhere(self, call: ast.Call, config: Symbol) -> Iterator[tuple[Target, str]]:
        """The model of a config object that is made here, and handed on as it is to what builds it:
        `Experiment(model=Config.small())`."""
        builders = self.search.builders.items()
        methods = [m for (owner, m), b in builders if owner == config and not b.needs_arguments]
        if not methods:
            return
        nodes = self.nodes
        kinds = ast.Assign, ast.AnnAssign
        made = [node for node in nodes if isinstance(node, kinds) and node.value is call]
        names = {name for node in made for name in stores(node)}
        handed_on = {id(n.value) for n in nodes if isinstance(n, (ast.keyword, ast.Return))}
        loaded = (n for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
        uses = [n for n in loaded if n.id in names] if made else [call]
        for method in methods if all(id(use) in handed_on for use in uses) else ():
            yield self.search.builders[config, method].target, f".{method}()"

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
                statements = (node for node in self.nodes if isinstance(node, kinds))
                nodes += [node for node in statements if name in stores(node)]
        return next(iter(targets)) if len(targets) == 1 else None

    @cached_method
    def target_by_builder(self, call: ast.Call) -> Target | None:
        """The model that a method of a config object makes: `Config.small().build()`."""
        if not isinstance(call.func, ast.Attribute):
            return None
        value, method = call.func.value, call.func.attr
        if not any(method == builder for _, builder in self.search.builders):
            return None
        if isinstance(value, ast.Name):
            before = [
                node.value
                for node in self.assignments.get(value.id, ())
                if isinstance(node, ast.Assign)
                and node.lineno < call.lineno
                and any(isinstance(t, ast.Name) and t.id == value.id for t in node.targets)
            ]
            value = before[-1] if before else value
        name = dotted_name(value.func) if isinstance(value, ast.Call) else ""
        if name and self.is_bound(name) and (config := self.resolve(name)):
            builder = self.search.builders.get((owner_of(config), method))
            return builder.target if builder else None
        return None

    def meant_by(self, name: str, cut: Cut) -> Target | None:
        """The model that has a name after some statements, where no condition chooses it."""
        for node in reversed(cut.statements):
            if name in stores(node):
                value = node.value if isinstance(node, ast.Assign) else None
                if isinstance(node, (ast.Import, ast.ImportFrom)):
                    break
                if not (value and (name := dotted_name(called_by(value)))):
                    return None
        imports = (
            node for node in cut.statements if isinstance(node, (ast.Import, ast.ImportFrom))
        )
        local = [item for node in imports for item in imported(node)]
        return self.search.target_of(self.search.names.resolve(cut.home.path, name, local=local))
