"""The facts of one source file, read with `ast`: imports, classes, functions. They are kept for the
next run."""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
import warnings
from collections.abc import Callable
from itertools import repeat
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from nparam_lint.discover import unread_claims
from nparam_lint.discover.claims.docstring_budgets import budget_lines, declares, mentions
from nparam_lint.discover.definitions import Parameter, Problem
from nparam_lint.discover.syntax import (
    FUNCTIONS,
    Function,
    annotation_names,
    bound_names,
    choices,
    decorators,
    dictionaries,
    docstring_lines,
    dotted_name,
    flat,
    parameter_names,
    returned_calls,
    tail,
    text_of,
    written,
)
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.time_limit import TooSlow, time_limit
from nparam_lint.ground.values import DocLine, Position

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.ground.values import Severity

# Bytes of a file. A syntax tree takes up to 350 times as much; what is larger is mostly data.
LARGEST = 1_000_000
A_PROCESS = 2_000_000  # those that take longer to read than a process takes to start
# Of the replacement fields in one line of an f-string, which the parser of Python 3.11 and before
# counts anew for each of them, and nothing interrupts it: 40,000 take 2 s, 300,000 two minutes.
_MOST_FIELDS = 40_000
_FIELDS = late_pattern(rb"[fF][rR]?[\"'][^\n]*\{[^\n]*")
TOO_DEEP = "its classes or expressions depend on each other too deeply"
# (level, module, names, whether it stands at the margin: under no condition, in no function); an
# unparsed import statement, so that following the imports of thousands of files costs no parsing. A
# match in a docstring counts as an import, too.
Imports = tuple[tuple[int, str, tuple[str, ...], bool], ...]
# Of each character there is one way only to match it: what is left open is not searched for again.
# A line break is found at the speed of memory, `^` is not.
_IMPORT = late_pattern(
    r"\n([ \t]*)(?:from[ \t]+(\.*)[ \t]*([\w.]*)[ \t]+import[ \t]*"
    r"(\([^()#]*(?:#[^\n]*\n[^()#]*)*\)|[^\n#;\\]*(?:\\\n?[^\n#;\\]*)*)"
    r"|import[ \t]+([^\n#;]+))"
)
# Statements that do not begin their line: `try: import x`, `import torch; import x`.
_BEHIND = late_pattern(r"[:;][ \t]*(?=(?:from|import)[ \t])")
_HINTS = tuple(a + b for a in (": ", ":", "; ", ";") for b in ("import ", "from "))
_NAME = late_pattern(r"(\w+)(?:\s+as\s+\w+)?")
_COMMENT = late_pattern(r"#[^\n]*")
_NAMES_BEFORE_3_7 = late_pattern(r"\b(async|await)\s*[=,)]")  # `x.cuda(async=True)`
_OF_3_12 = late_pattern(r"^[ \t]*(?:type \w+.*=|(?:class|def) \w+\[)", re.MULTILINE)


class Import(Struct, frozen=True):
    """One name bound by an import. `name` is None for `import module` and "*" for everything."""

    module: str
    level: int
    name: str | None
    bound: str


class Defined(Struct, frozen=True):
    """A class or a function. `declares`: its docstring, or that of its `__init__`, holds a budget.
    `hidden`: it is not a model that could be built: abstract, private, a test."""

    qualname: str
    line: int
    column: int
    docstring: tuple[DocLine, ...] = ()
    declares: bool = False
    hidden: bool = False


class FunctionFacts(Defined, frozen=True):
    """`returned`: dotted names of what is called to make the returned values. `hands_back`: a
    required parameter is returned. `takes` and `gives`: dotted names of the classes with which the
    required parameters and the returned value are annotated. `imports`: made inside. Of a method
    only the parameters are known, without `self`."""

    parameters: tuple[Parameter, ...] = ()
    decorators: tuple[str, ...] = ()
    returned: tuple[str, ...] = ()
    hands_back: bool = False
    takes: tuple[str, ...] = ()
    gives: tuple[str, ...] = ()
    imports: tuple[Import, ...] = ()


class ClassFacts(Defined, frozen=True):
    """`init`: its own `__init__`. `fields`: the dataclass fields that its constructor takes; None
    when it is no dataclass. `has_forward`: it has a method `forward(self, …)`."""

    bases: tuple[str, ...] = ()
    init: FunctionFacts | None = None
    fields: tuple[Parameter, ...] | None = None
    has_forward: bool = False


class FileFacts(Struct, frozen=True):
    """`methods`: class methods and static ones that declare a budget. `aliases`: module-level
    `X = dotted.name`. `exports`: `__all__`. `names`: all that the top level binds. `unread`: claims
    where no budget is read. A file with a `problem` has nothing else; `fleeting`: the problem may
    lie in the state of this process or machine, and not in the file. `suspect`: whether a rule may
    find something in the source; None where the rules have not looked at it."""

    path: str
    imports: tuple[Import, ...] = ()
    classes: tuple[ClassFacts, ...] = ()
    functions: tuple[FunctionFacts, ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()
    exports: frozenset[str] | None = None
    names: frozenset[str] = frozenset()
    problem: Problem | None = None
    fleeting: bool = False
    suspect: bool | None = None
    methods: tuple[FunctionFacts, ...] = ()
    unread: tuple[Problem, ...] = ()


Scan = Callable[[str, bytes], FileFacts]  # what reads a file


class Parsed(Struct, frozen=True):
    """One file: what it says, its syntax tree, and its lines as the tree counts them. Where the
    facts have a `problem`, the tree and the lines are empty."""

    facts: FileFacts
    tree: ast.Module = field(default_factory=lambda: ast.Module([], []))
    lines: Sequence[str] = ()


def scan_source(path: str, source: bytes) -> FileFacts:
    """Read one file. Never raises for its content: what cannot be read becomes its `problem`."""
    return parse_source(path, source).facts


def scan_within(scan: Scan, seconds: float, path: str, source: bytes) -> FileFacts:
    """What `scan` says of a file; a problem where that takes longer than so many seconds."""
    try:
        with time_limit(seconds):
            return scan(path, source)
    except TooSlow:
        problem = too_slow(path, source, "reading it", seconds)
    except RecursionError:
        problem = left_out(path, source, TOO_DEEP)
    return FileFacts(path, problem=problem, fleeting=True)


def parse_source(path: str, source: bytes) -> Parsed:
    """As `scan_source`, with the syntax tree for more to be read from it."""
    if len(source) > LARGEST:
        size, largest = len(source) / 1e6, LARGEST / 1e6
        why = f"it has {size:.1f} MB; files of more than {largest:g} MB are not read"
        return Parsed(FileFacts(path, problem=left_out(path, source, why)))
    if sys.version_info < (3, 12) and source.count(b"{") > _MOST_FIELDS:
        if any(part.count(b"{") > _MOST_FIELDS for part in _FIELDS.findall(source)):
            why = f"a line of an f-string has more than {_MOST_FIELDS:,} fields"
            return Parsed(FileFacts(path, problem=left_out(path, source, why)))
    if b"\0" in source:
        place = _place(source, source.index(b"\0"))
        return _unreadable(path, *place, "cannot be parsed: it contains null bytes")
    try:
        text = _decode(source)
        return parse_text(path, text)
    except UnicodeDecodeError as error:
        source = error.object  # without the mark of the encoding
        reason = f"byte 0x{source[error.start]:02x} is not valid {error.encoding}"
        return _unreadable(path, *_place(source, error.start), f"cannot be decoded: {reason}")
    except (SyntaxError, LookupError, ValueError) as error:  # of an encoding that is none of text
        return _unreadable(path, 1, 1, f"cannot be decoded: {error}")


def parse_text(path: str, text: str) -> Parsed:
    """As `parse_source`, of a text with the line ends that Python knows."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes are not our business
            tree, lines = ast.parse(text), text.split("\n")
            # Not all that has a tree can be imported: a `return` outside of a function.
            try:
                compile(tree, "<source>", "exec", dont_inherit=True)
            except RecursionError:  # of a text, more may be nested
                compile(text, "<source>", "exec", dont_inherit=True)
        scanner = _Scanner(lines, mentions(text.encode("utf-8", "replace")))
        facts = scanner.scan(path, tree)
        if scanner.mentions_more():
            claims = unread_claims.unread_claims(path, tree, lines, scanner.docstrings)
            facts = replace(facts, unread=tuple(claims))
        return Parsed(facts, tree, lines)
    except SyntaxError as error:
        place = max(1, error.lineno or 1), max(1, error.offset or 1)
        reason = f"cannot be parsed: {error.msg}"
        if old_name := _NAMES_BEFORE_3_7.search(error.text or ""):
            reason += f" ({old_name[1]!r} is no name since Python 3.7)"
        if sys.version_info < (3, 12) and _OF_3_12.search(text):
            reason += f" for Python 3.{sys.version_info.minor}; it needs nparam-lint on 3.12"
        return _unreadable(path, *place, reason)
    except (RecursionError, MemoryError):
        reason = "cannot be parsed: its expressions are nested too deeply"
        return _unreadable(path, 1, 1, reason, fleeting=True)


def left_out(path: str, source: bytes, why: str) -> Problem:
    """The problem of a file that is skipped, as too large or too slow to read. It is an error if
    the file may declare a budget."""
    severity: Severity = "error" if b"nparam" in source else "warning"
    return Problem(Position(path), f"is skipped: {why}", severity)


def too_slow(path: str, source: bytes, what: str, seconds: float) -> Problem:
    """The same of a file that took longer than its time limit."""
    why = f"{what} took longer than the {seconds:g} s of --timeout"
    return replace(left_out(path, source, why), timed_out=True)


def _unreadable(
    path: str, line: int, column: int, message: str, *, fleeting: bool = False
) -> Parsed:
    problem = Problem(Position(path, line, column), message)
    return Parsed(FileFacts(path, problem=problem, fleeting=fleeting))


def _place(source: bytes, at: int) -> tuple[int, int]:
    """The line and column of a byte."""
    return source.count(b"\n", 0, at) + 1, at - source.rfind(b"\n", 0, at)


def _decode(source: bytes) -> str:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    except SyntaxError:
        source.decode("utf-8-sig")  # tells where
        raise
    return re.sub(r"\r\n?", "\n", source.decode(encoding))  # the line ends that Python knows


class _Scanner:
    """`mentions`: whether a claim may stand in the lines. `docstrings`: those in which budgets are
    read, by the line and column of the literal as `ast` counts them."""

    def __init__(self, lines: Sequence[str], mentions: bool) -> None:
        self.lines = lines
        self.mentions = mentions
        self.docstrings: dict[tuple[int, int], tuple[DocLine, ...]] = {}
        self.methods: list[FunctionFacts] = []
        self.imports: list[Import] = []
        self.classes: list[ClassFacts] = []
        self.functions: list[FunctionFacts] = []
        self.aliases: list[tuple[str, str]] = []
        self.exports: set[str] | None = None
        self.names: set[str] = set()
        self.tables: dict[str, ast.expr] = {}  # of the top level

    def scan(self, path: str, tree: ast.Module) -> FileFacts:
        self.tables = dictionaries(tree.body)
        for statement in flat(tree.body):
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                self.imports.extend(imported(statement))
            elif isinstance(statement, ast.ClassDef):
                self.names.add(statement.name)
                self._class(statement, "")
            elif isinstance(statement, FUNCTIONS):
                self.names.add(statement.name)
                self.functions.append(self._function(statement))
            else:
                self._assignment(statement)
        self.names.update(item.bound for item in self.imports if item.bound != "*")
        return FileFacts(
            path,
            tuple(self.imports),
            tuple(self.classes),
            tuple(self.functions),
            tuple(self.aliases),
            None if self.exports is None else frozenset(self.exports),
            frozenset(self.names),
            methods=tuple(self.methods),
        )

    def mentions_more(self) -> bool:
        """Whether a claim may stand anywhere but in the lines of budgets that are read."""
        if not self.mentions:
            return False
        settled = set()
        for docstring in self.docstrings.values():
            for line in map(docstring.__getitem__, budget_lines(docstring)):
                if self.lines[line.line - 1].strip() == line.text.strip():  # nothing beside it
                    settled.add(line.line)
        return any(
            number not in settled and mentions(text.encode("utf-8", "replace"))
            for number, text in enumerate(self.lines, 1)
        )

    def _assignment(self, node: ast.stmt) -> None:
        targets = [*getattr(node, "targets", ()), getattr(node, "target", None)]
        targets += [item.optional_vars for item in getattr(node, "items", ())]
        names = [name for target in targets if target for name in bound_names(target)]
        value = getattr(node, "value", None)
        self.names.update(names)
        if "__all__" in names and isinstance(value, (ast.List, ast.Tuple)):
            listed = {text for item in value.elts if (text := text_of(item)) is not None}
            self.exports = (self.exports or set()) | listed
        if value is not None and len(names) == 1:
            for choice in choices(value):
                dotted = dotted_name(choice)
                if dotted:
                    self.aliases.append((names[0], dotted))

    def _class(self, node: ast.ClassDef, outer: str) -> None:
        qualname = f"{outer}{node.name}"
        init = None
        abstract = has_forward = False
        fields: list[Parameter] = []
        position = len(self.classes)
        for statement in flat(node.body):
            if isinstance(statement, ast.ClassDef):
                self._class(statement, f"{qualname}.")
            elif isinstance(statement, FUNCTIONS):
                abstract |= any(tail(name) == "abstractmethod" for name in decorators(statement))
                parameters = parameter_names(statement.args)
                has_forward |= statement.name == "forward" and parameters[:1] == ["self"]
                if statement.name == "__init__":
                    if init is not None:  # the one before is replaced: nothing reads it
                        docstrings = self.docstrings.items()
                        self.docstrings = {at: d for at, d in docstrings if d != init.docstring}
                    init = self._callable(statement)
                    init = replace(init, parameters=init.parameters[1:])
                elif self.mentions:
                    self._method(statement, qualname)
            elif isinstance(statement, ast.AnnAssign):
                fields.extend(self._field(statement))
        bases = tuple(dotted for dotted in map(dotted_name, node.bases) if dotted)
        kinds = {tail(base) for base in bases}
        metaclasses = [tail(dotted_name(item.value)) for item in node.keywords]
        is_dataclass = any(tail(name) == "dataclass" for name in decorators(node))
        docstring = self._docstring(node)
        facts = ClassFacts(
            qualname,
            node.lineno,
            node.col_offset + 1,
            docstring,
            self._declares(docstring) or (init is not None and init.declares),
            # Without the metaclass `abstractmethod` forbids nothing.
            "Protocol" in kinds or (abstract and ("ABC" in kinds or "ABCMeta" in metaclasses)),
            bases,
            init,
            tuple(fields) if is_dataclass and init is None else None,
            has_forward,
        )
        self.classes.insert(position, facts)

    def _field(self, node: ast.AnnAssign) -> Iterator[Parameter]:
        annotation = written(self.lines, node.annotation)
        if not isinstance(node.target, ast.Name) or "ClassVar" in annotation:
            return
        options: dict[str | None, ast.expr] = {}
        default = node.value
        if isinstance(default, ast.Call) and tail(dotted_name(default.func)) == "field":
            options = {item.arg: item.value for item in default.keywords}
            default = options.get("default") or options.get("default_factory")
        init = options.get("init")
        if isinstance(init, ast.Constant) and init.value is False:
            return
        text = self._text(default)
        if default is not None and default is options.get("default_factory"):
            text = f"{text}()"
        yield Parameter(node.target.id, default is None, annotation, text)

    def _method(self, node: Function, owner: str) -> None:
        """A class method or static method is a factory if it declares a budget."""
        kinds = {tail(name) for name in decorators(node)} & {"classmethod", "staticmethod"}
        if kinds and self._declares(docstring_lines(node.body, self.lines)):
            facts = self._callable(node)
            parameters = facts.parameters["classmethod" in kinds :]  # without `cls`
            self.methods.append(
                replace(facts, qualname=f"{owner}.{node.name}", parameters=parameters)
            )

    def _docstring(self, node: ast.ClassDef | Function) -> tuple[DocLine, ...]:
        docstring = docstring_lines(node.body, self.lines)
        if docstring and isinstance(literal := node.body[0], ast.Expr):
            self.docstrings[literal.value.lineno, literal.value.col_offset] = docstring
        return docstring

    def _declares(self, docstring: Sequence[DocLine]) -> bool:
        return self.mentions and declares(docstring)

    def _callable(self, node: Function) -> FunctionFacts:
        """The facts that methods have as well."""
        docstring = self._docstring(node)
        place = node.lineno, node.col_offset + 1
        hidden = node.name.startswith(("_", "test_"))
        parameters = tuple(self._parameters(node.args))
        declares = self._declares(docstring)
        return FunctionFacts(node.name, *place, docstring, declares, hidden, parameters)

    def _function(self, node: Function) -> FunctionFacts:
        facts = self._callable(node)
        required = frozenset(item.name for item in facts.parameters if item.required)
        arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        annotations = (item.annotation for item in arguments if item.arg in required)
        takes = (name for annotation in annotations for name in annotation_names(annotation))
        returned, plain = returned_calls(node, self.tables)
        inner = [item for item in flat(node.body) if isinstance(item, (ast.Import, ast.ImportFrom))]
        return replace(
            facts,
            decorators=decorators(node),
            returned=returned,
            hands_back=bool(plain & required),
            takes=tuple(dict.fromkeys(takes)),
            gives=annotation_names(node.returns),
            imports=tuple(name for statement in inner for name in imported(statement)),
        )

    def _parameters(self, node: ast.arguments) -> Iterator[Parameter]:
        positional = [*node.posonlyargs, *node.args]
        gap = [None] * (len(positional) - len(node.defaults))
        rows: list[tuple[Any, ast.arg | None, ast.expr | None]] = [
            *zip(repeat("positional"), positional, [*gap, *node.defaults]),
            ("varargs", node.vararg, None),
            *zip(repeat("keyword"), node.kwonlyargs, node.kw_defaults),
            ("varkwargs", node.kwarg, None),
        ]
        for kind, item, default in rows:
            if item is not None:
                required = default is None and kind in ("positional", "keyword")
                annotation, value = self._text(item.annotation), self._text(default)
                yield Parameter(item.arg, required, annotation, value, kind)

    def _text(self, node: ast.expr | None) -> str | None:
        return None if node is None else written(self.lines, node)


def imported(node: ast.Import | ast.ImportFrom) -> Iterator[Import]:
    """What an import statement binds."""
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            yield Import(node.module or "", node.level, alias.name, alias.asname or alias.name)
        elif alias.asname:
            yield Import(alias.name, 0, None, alias.asname)
        else:  # `import a.b` binds a
            head = alias.name.partition(".")[0]
            yield Import(head, 0, None, head)


def import_statements(source: bytes) -> Imports:
    """All of the source, those inside functions too, without parsing it."""
    text = source[:LARGEST].decode("utf-8", "replace")
    statements: list[tuple[int, str, tuple[str, ...], bool]] = []
    if any(hint in text for hint in _HINTS):  # to look at each colon takes three times as long
        text = _BEHIND.sub("\n ", text)
    for margin, dots, module, names, plain in _IMPORT.findall(f"\n{text}"):
        if plain:
            heads = (words[0] for item in plain.split(",") if (words := item.split()))
            statements += [(0, head, (), not margin) for head in heads]
        elif dots or module:
            listed = _NAME.findall(_COMMENT.sub("", names))
            statements.append((len(dots), module, tuple(listed), not margin))
    return tuple(statements)
