"""Parameters that take the name of a size: those that a function looks up in a literal table."""

from __future__ import annotations

import ast
import re
from functools import cache, cached_property
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from nparam_lint.discover.source_tree import cached_method, cyclic_method
from nparam_lint.discover.syntax import (
    FUNCTIONS,
    Function,
    decorators,
    dictionaries,
    dotted_name,
    flat,
    tail,
    text_of,
)
from nparam_lint.evidence.arguments import default_values
from nparam_lint.evidence.literal_tables import Entry, SizeTable, members_of, read_table, tables_in
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nparam_lint.discover.definitions import Parameter
    from nparam_lint.discover.name_resolution import Symbol
    from nparam_lint.evidence import EvidenceQuery

_KIND = "name|variant|arch|architecture|size|flavou?r|version|type|id|preset|depth"
_OBJECT = "model|net|network|backbone|encoder|vit|llm|config|cfg|key"
# Such a name is enough; the name of an object is not.
KIND_OF_NAME = rf"(?:(?:(?:{_OBJECT}|arch)_?)?(?:{_KIND})|scale|(?:{_OBJECT})_(?:config|cfg|mode))"
_NAMES_SIZE = late_pattern(rf"(?:{KIND_OF_NAME}|{_OBJECT})$")
_TEXT = late_pattern(r"\b(str|Literal)\b")
_OBJECTS = frozenset(_OBJECT.split("|"))


def takes_name(parameters: Iterable[Parameter], source: bytes) -> bool:
    """Whether one of the parameters may name a size, which the file looks up or hands on. A config
    is an object unless its annotation or default says that it is a text; a depth is a number unless
    it is looked up."""
    return any(
        _NAMES_SIZE.match(item.name)
        and (item.name not in _OBJECTS or _is_text(item))
        and any(use.search(source) for use in _uses(item.name))
        for item in parameters
    )


def _is_text(item: Parameter) -> bool:
    default = item.default or ""
    return bool(_TEXT.search(item.annotation or "")) or default.startswith(("'", '"'))


@cache
def _uses(name: str) -> list[re.Pattern[bytes]]:
    """One by one, and most of them begin with a plain text: as in `calls`, for speed."""
    texts = [rf"\[{name}\b", rf"get\({name}\b(?<=\bget\({name})", rf"match {name}\b"]
    texts += [rf"{name}(?<=\b{name})(?:(?:\.\w+\(\))? (?:==|in) |\.value\b)"]
    if name != "depth":  # that is handed on
        texts += [rf"\({name}\b(?<=\w\({name})", rf"\w\(\w+={name}\b"]
    return [re.compile(text.encode()) for text in texts]


class NamedParameter(NamedTuple):
    """A parameter, the names that it may have, and the file in which these stand."""

    parameter: str
    path: str
    entries: tuple[Entry, ...]


class FoundFunction(Struct, frozen=True, eq=False, dict=True):
    """A function, or a method of the class `owner`."""

    path: str
    node: Function
    owner: str = ""

    @property
    def qualname(self) -> str:
        return f"{self.owner}.{self.node.name}" if self.owner else self.node.name

    @cached_property
    def kind(self) -> str:
        """`class` and `static` of methods that need no instance."""
        names = {tail(name) for name in decorators(self.node)}
        kinds = (kind for kind in ("class", "static") if f"{kind}method" in names)
        return next(kinds, "method" if self.owner else "function")

    @property
    def positional(self) -> list[ast.arg]:
        arguments = self.node.args
        return [*arguments.posonlyargs, *arguments.args][self.kind in ("class", "method") :]

    @cached_property
    def parameters(self) -> list[ast.arg]:
        """Those that a caller gives a value."""
        return [*self.positional, *self.node.args.kwonlyargs]

    @cached_property
    def defaults(self) -> dict[str, ast.expr]:
        return default_values(self.node)

    @property
    def required(self) -> list[str]:
        return [item.arg for item in self.parameters if item.arg not in self.defaults]


class SizeFile:
    """What one file says about sizes."""

    def __init__(self, path: str, text: str, tree: ast.Module) -> None:
        self.path = path
        self.text = text
        self.tree = tree

    @cached_property
    def tables(self) -> dict[str, SizeTable]:
        return tables_in(self.tree.body)

    @cached_property
    def dictionaries(self) -> dict[str, ast.expr]:
        return dictionaries(self.tree.body)

    @cached_property
    def class_tables(self) -> dict[tuple[str, str], SizeTable]:
        """Those that are attributes of the file's classes: (class, name) → table."""
        classes = (node for node in flat(self.tree.body) if isinstance(node, ast.ClassDef))
        return {
            (node.name, name): table
            for node in classes
            for name, table in tables_in(node.body).items()
        }

    @cached_property
    def functions(self) -> dict[str, FoundFunction]:
        return {item.qualname: item for item in _functions(self.path, self.tree.body, "")}


def _functions(path: str, body: Sequence[ast.stmt], owner: str) -> Iterator[FoundFunction]:
    for node in flat(body):
        if isinstance(node, FUNCTIONS):
            yield FoundFunction(path, node, owner)
        elif isinstance(node, ast.ClassDef):
            yield from _functions(path, node.body, f"{owner}.{node.name}" if owner else node.name)


class NamedParameters:
    """Answers which parameter of a function names a size. Files are read when asked for."""

    def __init__(self, query: EvidenceQuery) -> None:
        self._query = query
        self.names = query.discovery.models.names

    @cached_method
    def file(self, path: str) -> SizeFile:
        return SizeFile(path, self._query.text(path), self._query.syntax(path))

    @cyclic_method(None)
    def of(self, path: str, qualname: str) -> NamedParameter | None:
        """The first parameter of the function that names a size. A cycle has none."""
        function = self.file(path).functions.get(qualname)
        if function is None:
            return None
        parameters = (self._named_by(function, item) for item in function.parameters)
        return next(filter(None, parameters), None)

    def _named_by(self, function: FoundFunction, parameter: ast.arg) -> NamedParameter | None:
        """The names that a parameter may have."""
        name = parameter.arg
        default = function.defaults.get(name)
        is_plain = default is None or isinstance(default, (ast.Constant, ast.Attribute))
        if not _NAMES_SIZE.match(name) or not is_plain:
            return None
        if members := self._members(function, parameter):
            return members
        local = tables_in(function.node.body)
        tests: list[Entry] = []
        for node in ast.walk(function.node):
            table = None
            if isinstance(node, ast.Subscript) and _is(node.slice, name):
                table = self.table(function, node.value, local)
            elif isinstance(node, ast.Call):
                table = self._by_call(function, node, name, local)
            elif isinstance(node, ast.Compare) and _is(node.left, name):
                tests += self._tested(function, node, local)
            elif isinstance(node, ast.Match) and _is(node.subject, name):
                tests += [entry for case in node.cases for entry in _cases(case.pattern)]
            if table and table[1]:
                return NamedParameter(name, *table)
        entries = tuple({entry.name: entry for entry in (*_literal(parameter), *tests)}.values())
        # A single name is an exception, not a size.
        return NamedParameter(name, function.path, entries) if len(entries) > 1 else None

    def _members(self, function: FoundFunction, parameter: ast.arg) -> NamedParameter | None:
        """The members of the enumeration that annotates a parameter."""
        name = dotted_name(parameter.annotation) if parameter.annotation else ""
        symbol = self.resolve(function, name) if name else None
        if symbol is None or symbol.kind != "class":
            return None
        for node in self.file(symbol.where).tree.body:
            if isinstance(node, ast.ClassDef) and node.name == symbol.name:
                entries = members_of(node, name)
                return NamedParameter(parameter.arg, symbol.where, entries) if entries else None
        return None

    def _by_call(
        self, function: FoundFunction, call: ast.Call, name: str, local: dict[str, SizeTable]
    ) -> tuple[str, tuple[Entry, ...]] | None:
        """`table.get(name)`, or a call of another function that looks it up."""
        places = [number for number, item in enumerate(call.args) if _is(item, name)]
        keywords = [item.arg for item in call.keywords if _is(item.value, name)]
        if not places and not keywords:
            return None
        if isinstance(call.func, ast.Attribute) and call.func.attr == "get" and places == [0]:
            return self.table(function, call.func.value, local)
        callee = self.callee(function, call)
        parameter = self.of(callee.path, callee.qualname) if callee else None
        if callee is None or parameter is None:
            return None
        names = [item.arg for item in callee.parameters]
        passed = {*keywords, *(names[n] for n in places if n < len(names))}
        return (parameter.path, parameter.entries) if parameter.parameter in passed else None

    def callee(self, function: FoundFunction, call: ast.Call) -> FoundFunction | None:
        """The function of the project that a call inside a function runs."""
        dotted = dotted_name(call.func)
        symbol = self.resolve(function, dotted) if dotted else None
        if symbol is None or symbol.kind not in ("function", "method", "class"):
            return None
        name = f"{symbol.name}.__init__" if symbol.kind == "class" else symbol.name
        return self.file(symbol.where).functions.get(name)

    def resolve(self, function: FoundFunction, dotted: str) -> Symbol | None:
        """What a dotted name means inside a function."""
        head, _, rest = dotted.partition(".")
        if head in ("cls", "self") and function.owner:
            dotted = f"{function.owner}.{rest}" if rest else function.owner
        facts = self.names.functions(function.path).get(function.qualname)
        return self.names.resolve(function.path, dotted, local=facts.imports if facts else ())

    def table(
        self, function: FoundFunction, node: ast.expr, local: dict[str, SizeTable]
    ) -> tuple[str, tuple[Entry, ...]] | None:
        """The table that an expression means, with its file; one of sizes, not of addresses."""
        table, where = read_table(node, local), function.path
        if table is None and isinstance(node, ast.Name):
            return self.global_table(function.path, node.id)
        if table is None and isinstance(node, ast.Attribute):  # `self.table`
            table = self.file(where).class_tables.get((function.owner, node.attr))
        if where and table and table.by_key and self.is_sized(where, table, function):
            return where, table.entries
        return None

    def global_table(self, path: str, name: str) -> tuple[str, tuple[Entry, ...]] | None:
        """The table of sizes that a name of a file means, with the file that it stands in."""
        where, name = self.home(path, name)
        table = self.file(where).tables.get(name) if where else None
        is_sized = table and table.by_key and self.is_sized(where, table)
        return (where, table.entries) if table and is_sized else None

    def _tested(
        self, function: FoundFunction, node: ast.Compare, local: dict[str, SizeTable]
    ) -> Iterator[Entry]:
        """The names that a comparison with the parameter allows."""
        right, operator = node.comparators[0], node.ops[0]
        if isinstance(operator, ast.Eq) and isinstance(right, ast.Constant):
            right = ast.List([right], ast.Load())
        elif not isinstance(operator, ast.In):
            return
        if isinstance(right, ast.Call) and isinstance(right.func, ast.Attribute):
            right = right.func.value  # of `table.keys()`
        table = read_table(right, local)
        if table is None and isinstance(right, ast.Name):
            table = self.file(function.path).tables.get(right.id)
        if table and table.entries[0].value is None:
            yield from table.entries
        elif sizes := self.table(function, right, local):
            yield from sizes[1]

    def is_sized(self, path: str, table: SizeTable, function: FoundFunction | None = None) -> bool:
        """Whether the values say how large something is, or are classes or functions of the
        project: they are neither texts nor flags. `function`: whose imports they may be."""
        return all(self._is_size(path, entry.value, function) for entry in table.entries)

    def _is_size(self, path: str, value: ast.expr | None, function: FoundFunction | None) -> bool:
        if isinstance(value, ast.Constant):
            return isinstance(value.value, (int, float)) and not isinstance(value.value, bool)
        if isinstance(value, ast.Name) and value.id in self.file(path).tables:
            return True  # `{"base": BASE}`, of a dictionary
        if isinstance(value, (ast.Name, ast.Attribute)):
            dotted = dotted_name(value) or "?"
            own = function if function and function.path == path else None
            symbol = self.resolve(own, dotted) if own else self.names.resolve(path, dotted)
            return symbol is not None and symbol.kind != "outside"
        if isinstance(value, ast.Subscript):  # SIZES["b"] = SIZES["a"]
            return isinstance(value.value, ast.Name) and isinstance(value.slice, ast.Constant)
        return isinstance(value, (ast.Dict, ast.List, ast.Tuple, ast.Call, ast.Lambda))

    def home(self, path: str, name: str) -> tuple[str, str]:
        """The file in which a global name gets its value, and its name there, as far as imports
        tell."""
        for item in self.names.tree.facts(path).imports:
            if item.bound == name and item.name:
                prefix = (
                    self.names.tree.relative(path, item.level, item.module)
                    if item.level
                    else (self.names.tree.locate(path, item.module) or ("", None))[1]
                )
                return (prefix and self.names.tree.module_file(prefix)) or "", item.name
        return path, name


def _is(node: ast.expr, name: str) -> bool:
    """`name`, `name.lower()`, `name.value` of an enumeration."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    if isinstance(node, ast.Attribute) and node.attr in ("value", "name"):
        node = node.value
    return isinstance(node, ast.Name) and node.id == name


def _cases(pattern: ast.pattern) -> Iterator[Entry]:
    patterns = pattern.patterns if isinstance(pattern, ast.MatchOr) else [pattern]
    for item in patterns:
        if isinstance(item, ast.MatchValue) and (name := text_of(item.value)) is not None:
            yield Entry(name, item.value)


def _literal(parameter: ast.arg) -> Iterator[Entry]:
    """The names that `Literal["tiny", "base"]` allows."""
    for node in ast.walk(parameter.annotation) if parameter.annotation else ():
        if isinstance(node, ast.Subscript) and tail(dotted_name(node.value)) == "Literal":
            items = getattr(node.slice, "elts", [node.slice])
            table = read_table(ast.List(items, ast.Load()), {})
            yield from table.entries if table else ()
