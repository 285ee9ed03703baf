"""What the names of one Python file mean, and which of its calls only make values."""

from __future__ import annotations

import ast
import re
from functools import cached_property, partial
from typing import TYPE_CHECKING

from nparam_lint.discover.name_resolution import Symbol
from nparam_lint.discover.scan import imported
from nparam_lint.discover.source_tree import cached_method
from nparam_lint.discover.syntax import dotted_name, is_main, parameter_names, tail
from nparam_lint.evidence.arguments import arguments_known
from nparam_lint.evidence.places import IMPORTS, SourceText
from nparam_lint.evidence.statements import (
    ADDS_OPTIONS,
    calls_in,
    changes,
    does_work,
    is_harmless_outside,
    is_of_data,
    stores,
)
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.script_words import (
    CONFIG_CLASS,
    CONFIG_OPTION,
    LOADS_CONFIG,
    READS_CONFIG,
    SIZE_OF_DATA,
    TEXT_METHODS,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.discover.scan import Import
    from nparam_lint.evidence.file_calls import CalledFiles

_PARSES = late_pattern(r"^\w[^\n]*\.parse_(?:known_)?args\(", re.MULTILINE)  # when it is loaded
_VIEWS = ("keys", "values", "items")  # of a dictionary
_CONFIG_READERS = ("from_pretrained", "from_json_file")
_INI_PARSERS = {"ConfigParser", "RawConfigParser", "SafeConfigParser"}


def owner_of(symbol: Symbol) -> Symbol:
    """The class that a method is of; anything else as it is."""
    if symbol.kind != "method":
        return symbol
    return Symbol("class", symbol.where, symbol.name.rpartition(".")[0])


class FileNames:
    """What the names of one file mean, with the text `text` and that syntax tree."""

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
            alters=self.alters,
            is_part=self.is_part,
            has_usual_size=self.has_usual_size,
            bases=self.bases,
            made_instead=self.made_instead,
        )

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return [*ast.walk(self.tree)]

    @cached_property
    def is_script(self) -> bool:
        """Whether the file does something when it is run."""
        is_run = any(map(is_main, self.tree.body)) or _PARSES.search(self.text.text)
        return bool(is_run or self.search.query.commands.of(self.path))

    @cached_property
    def made_here(self) -> set[str]:
        """The names of the top level that are no imports."""
        body = (node for node in self.tree.body if not isinstance(node, IMPORTS))
        return {name for node in body for name in stores(node)}

    @cached_method
    def made_instead(self, owner: ast.ClassDef) -> list[ast.ClassDef]:
        """The classes that inherit from one which is made nowhere itself."""
        symbol = Symbol("class", self.path, owner.name)
        heirs = [heir for _, heir in self.search.heirs(symbol) if heir.name != owner.name]
        is_made = heirs and (
            self.text.callers(owner.name)
            or any(True for _ in self.search.callers(self.path, symbol))
        )
        return [] if is_made else heirs

    def is_replaced(self, owner: ast.ClassDef) -> bool:
        """Whether another file has a class of this name instead, which inherits from it: scripts
        look up `Config` in the one that a command names."""
        heirs = self.search.heirs(Symbol("class", self.path, owner.name))
        return any(heir.name == owner.name for _, heir in heirs)

    def bases(self, owner: ast.ClassDef) -> Iterator[tuple[SourceText, ast.ClassDef]]:
        """The classes of the project that a class of the file inherits from."""
        for name in filter(None, map(dotted_name, owner.bases)):
            symbol = self.resolve(name)
            base = self.search.definition(symbol) if symbol and symbol.kind == "class" else None
            if symbol and isinstance(base, ast.ClassDef):
                yield self.search.file_calls(symbol.where).text, base

    @cached_property
    def imports(self) -> list[Import]:
        """Those that are not at the top level."""
        return [item for node in self.text.inner_imports for item in imported(node)]

    @cached_property
    def bound(self) -> set[str]:
        """The names that imports and definitions bind."""
        return self.search.bound(self.path).union(item.bound for item in self.imports)

    def is_from_project(self, name: str) -> bool:
        symbol = self.resolve(name)
        if symbol is None or symbol.kind != "outside":
            return symbol is None or symbol.where != self.path
        # Also a value in one of its files, which is no definition.
        head, *rest = symbol.name.split(".")
        return bool(rest and self.search.discovery.tree.locate(self.path, head))

    def resolve(self, dotted: str, line: int = 0) -> Symbol | None:
        """What a name means, in a function at a line; None where branches give it meanings between
        which nothing here decides."""
        meanings = self.meanings_at(dotted, line)
        return meanings[0] if len(meanings) == 1 else None

    def meanings_at(self, dotted: str, line: int = 0) -> list[Symbol]:
        """What a name may mean, in a function at a line."""
        head, names = dotted.partition(".")[0], self.search.names
        if not line:
            local = [item for item in self.imports if item.bound == head]
            symbol = names.resolve(self.path, dotted, local=local)
            return [symbol] if symbol else []
        nodes, may_be_outer = self.text.imports_reaching(head, line)
        symbols = [
            names.resolve(self.path, dotted, local=[item])
            for node in nodes
            for item in imported(node)
            if item.bound == head
        ]
        if may_be_outer and (not symbols or head in self.text.names):
            symbols.append(names.resolve(self.path, dotted))
        meanings = [*dict.fromkeys(filter(None, symbols))]
        if any(map(self.text.is_attempt, nodes)):  # `try: import fast`, `except ImportError:`
            meanings = [m for m in meanings if m.kind != "outside"][:1] or meanings[:1]
        return meanings

    def is_harmless(self, call: ast.Call) -> bool:
        """Whether a call only makes a value: by the names of what is called, or what it does."""
        return self.is_harmless_by_name(call) or self.is_plain(dotted_name(call.func))

    @cached_method
    def is_plain(self, name: str) -> bool:
        """Whether this is a function of the project, or a method of an object of one of its
        classes that is made in this file, that calls nothing but what only makes values, and reads
        files; or a class whose constructor does not even that."""
        symbol = self.called(name)
        node = self.search.function(symbol)
        if symbol is None or node is None:
            return False
        calls, may_read = self.search.file_calls(symbol.where), symbol.kind != "class"
        return all(
            may_read if dotted_name(inner.func) == "open" else calls.is_harmless_by_name(inner)
            for inner in calls_in(node)
        )

    def alters(self, call: ast.Call) -> set[str]:
        """The names of the objects that such a function, or method, changes: what it gets, and what
        its own file has, which may be here by the name of that file's module."""
        name = dotted_name(call.func)
        symbol = self.called(name)
        node = self.search.function(symbol) if self.is_plain(name) else None
        if symbol is None or node is None:
            return set()
        stored = (name for part in node.body for name in stores(part))
        names = {name for part in node.body for name in changes(part)}
        names.update(name for name in stored if name.startswith("self."))
        is_method = not self.is_bound(name)
        altered = {
            value.id
            for parameter, value in arguments_known(node, call, is_method).items()
            if isinstance(value, ast.Name) and parameter in names
        }
        if symbol.where == self.path:
            rebound = self.text.rebound.items()
            altered.update(name for name, function in rebound if function == node.name)
            altered.update(names & self.made_here.difference(parameter_names(node.args)))
        is_owner = is_method and any(name.startswith("self.") for name in names)
        if symbol.where != self.path:
            text = self.search.file_calls(symbol.where).text
            there = text.module_names.difference(parameter_names(node.args))
            is_owner |= "." in name and not there.isdisjoint(names)
            altered.update(filter(self.is_from_project, there & names & self.bound))
        return altered | ({name.partition(".")[0]} if is_owner else set())

    def called(self, name: str) -> Symbol | None:
        """What a call of this name runs: what the name means, or a method of an object of one of
        the project's classes that is made in this file."""
        if name and self.is_bound(name):
            return self.resolve(name)
        variable, _, method = name.rpartition(".")
        owner = self.class_of(variable) if variable else None
        return Symbol("method", owner.where, f"{owner.name}.{method}") if owner else None

    def class_of(self, variable: str) -> Symbol | None:
        """The class of the project of which every value of a variable is an object, as far as
        calls of it, and of its methods, tell."""
        names = self.makers(variable)
        symbols = {self.resolve(name) if name and self.is_bound(name) else None for name in names}
        classes = {owner_of(symbol) if symbol else None for symbol in symbols}
        return classes.pop() if len(classes) == 1 else None

    def makers(self, variable: str) -> list[str]:
        """The names of what is called for each value of a variable; "" for another value."""
        values = (node.value for node in self.assignments.get(variable, ()))
        return [dotted_name(v.func) if isinstance(v, ast.Call) else "" for v in values]

    @cached_property
    def assignments(self) -> dict[str, list[ast.Assign | ast.AnnAssign]]:
        """Those that give each name a value, anywhere in the file."""
        assignments: dict[str, list[ast.Assign | ast.AnnAssign]] = {}
        for node in self.nodes:
            if isinstance(node, (ast.Assign, ast.AnnAssign)):
                for name in stores(node):
                    assignments.setdefault(name, []).append(node)
        return assignments

    def is_harmless_by_name(self, call: ast.Call) -> bool:
        name = dotted_name(call.func)
        if READS_CONFIG.search(name) or LOADS_CONFIG.search(name) or name == "eval":
            return True  # of Python: what it gives is looked up
        if not name:
            attribute = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            of = getattr(call.func, "value", None)
            opened = tail(dotted_name(of.func)) if isinstance(of, ast.Call) else ""
            reads = (opened, attribute) in (("open", "read"), ("Path", "read_text"))
            return reads or not does_work(attribute)
        is_of_part = name.count(".") > 1 or not self.is_bound(name)
        if "." in name and tail(name) in TEXT_METHODS and is_of_part:
            return True  # `args.dataset.lower()`
        if ("." in name and tail(name) in _VIEWS) or ADDS_OPTIONS.search(name):
            return True  # `choices=DATASETS.keys()`; `DataModule.add_argparse_args(parser)`
        if does_work(name):
            return self.opens_config(name, call) or self.reads_ini(name)
        if not self.is_bound(name):  # a method of a value, or a function of Python
            return "." in name or name in self.assigned or is_harmless_outside(name)
        symbol = self.resolve(name)
        is_dotted = symbol is not None and symbol.kind == "outside" and "." in symbol.name
        if symbol and is_dotted and not self.is_from_project(name):
            return is_harmless_outside(symbol.name)
        if symbol is None or (symbol.kind == "class" and CONFIG_CLASS.match(symbol.name)):
            return True  # also of a file about data: `DataConfig(n_channels=3)`
        return not (does_work(symbol.name) or is_of_data(symbol.where))

    def opens_config(self, name: str, call: ast.Call) -> bool:
        """Whether this is a method of a config class that reads a file: of the project, or one that
        an option names."""
        owner, _, method = name.rpartition(".")
        is_reader = owner.endswith("Config") and method in _CONFIG_READERS and self.is_bound(owner)
        symbol = self.resolve(owner) if is_reader else None
        first = call.args[0] if call.args else None
        is_option = isinstance(first, ast.Attribute) and CONFIG_OPTION.match(first.attr)
        return symbol is not None and (symbol.kind == "class" or bool(is_option))

    def reads_ini(self, name: str) -> bool:
        """Whether this is a method of a parser of INI files that reads one."""
        holder, _, method = name.rpartition(".")
        makers = {tail(name) for name in self.makers(holder)}
        return method.startswith("read") and bool(makers) and makers <= _INI_PARSERS

    def is_bound(self, dotted: str) -> bool:
        """Whether an import or a definition gives a name its meaning."""
        name = dotted.partition(".")[0]
        return name in self.bound or ("*" in self.bound and name not in self.assigned)

    @cached_property
    def assigned(self) -> set[str]:
        """The names that anything in the file is assigned to, or given as."""
        names = {
            n.id for n in self.nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        return names | {node.arg for node in self.nodes if isinstance(node, ast.arg)}

    def is_part(self, call: ast.Call) -> bool:
        """Whether this makes an object of a class of another package."""
        name = dotted_name(call.func)
        symbol = self.resolve(name) if name.partition(".")[0] in self.bound else None
        if symbol is None or symbol.kind != "outside" or not tail(symbol.name)[:1].isupper():
            return False
        return not (does_work(name) or does_work(symbol.name))

    def has_usual_size(self, call: ast.Call, name: str) -> bool:
        """Whether this makes an object of a class of the project that has a size of its own for
        what data would say: `Config(vocab_size=len(words))`."""
        function = dotted_name(call.func) if SIZE_OF_DATA.match(name) else ""
        symbol = self.resolve(function) if function and self.is_bound(function) else None
        if symbol is None or symbol.kind != "class":
            return False
        parameters = self.search.discovery.models.parameters(symbol) or ()
        return any(p.name == name and not p.required and p.default != "None" for p in parameters)

    def is_setting(self, call: ast.Call) -> bool:
        """Whether this is a function of the project that sets attributes of other things."""
        name = dotted_name(call.func)
        symbol = self.resolve(name) if name else None
        if symbol is None or symbol.kind != "function":
            return False
        node = self.search.definition(symbol)
        inner = ast.walk(node) if node else ()
        return any(isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) for n in inner)
