"""What one source file says about itself, read with `ast`: imports, classes, functions."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nparam_lint.discover.facts import ClassFacts, FileFacts, FunctionFacts, Import
from nparam_lint.discover.syntax import (
    FUNCTIONS,
    Function,
    annotation_names,
    bound_names,
    character,
    choices,
    decorators,
    docstring_lines,
    dotted_name,
    flat,
    returned_calls,
    tail,
)
from nparam_lint.records import Parameter, Position, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.records import DocLine

# What grammars after 3.10 brought: type parameters, `type X = …`, `except*`, `x[*y]`, quotes inside
# f-strings, t-strings, `except A, B`.
_NEWER = re.compile(
    r"(def|class)\s+\w+\s*\[|^\s*type\s+\w+|except\s*\*|except\s+[\w.]+\s*,|\[[^\]\n]*\*"
    r"|\b[rR]?[fFtT][rR]?[\"']",
    re.MULTILINE,
)
_STDIN = "sys.stdin.buffer.read()"
_NPARAM = re.compile(r"\s*:?nparam\s*[:(\[]")


@dataclass(frozen=True, slots=True)
class Parsed:
    """One file: what it says, its syntax tree, and its lines as the tree counts them. Where the
    facts have a `problem`, the tree and the lines are empty."""

    facts: FileFacts
    tree: ast.Module = field(default_factory=lambda: ast.Module([], []))
    lines: Sequence[str] = ()


def scan_source(path: str, source: bytes) -> FileFacts:
    """Read one file. Never raises for its content: what cannot be read becomes its `problem`."""
    return parse_source(path, source).facts


def parse_source(path: str, source: bytes) -> Parsed:
    """As `scan_source`, with the syntax tree for more to be read from it."""
    if b"\0" in source:
        line = source.count(b"\n", 0, source.index(b"\0")) + 1
        return _unreadable(path, line, 1, "cannot be parsed: it contains null bytes")
    try:
        text = _decode(source)
    except (SyntaxError, LookupError) as error:
        return _unreadable(path, 1, 1, f"cannot be decoded: {error}")
    except UnicodeDecodeError as error:
        line = source.count(b"\n", 0, error.start) + 1
        column = error.start - (source.rfind(b"\n", 0, error.start) + 1) + 1
        reason = (
            f"cannot be decoded: byte 0x{source[error.start]:02x} is not valid {error.encoding}"
        )
        return _unreadable(path, line, column, reason)
    return parse_text(path, text)


def parse_text(path: str, text: str) -> Parsed:
    """As `parse_source`, of a text with the line ends that Python knows."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes are not our business
            tree = ast.parse(text)
        lines = text.split("\n")
        return Parsed(_Scanner(path, lines).scan(tree), tree, lines)
    except SyntaxError as error:
        second = _second_opinion(text)
        reason = f"cannot be parsed: {error.msg}{second or ''}"
        place = max(1, error.lineno or 1), max(1, error.offset or 1)
        return _unreadable(path, *place, reason, fleeting=second is None)
    except (RecursionError, MemoryError):
        reason = "cannot be parsed: its expressions are nested too deeply"
        return _unreadable(path, 1, 1, reason, fleeting=True)


def _unreadable(
    path: str, line: int, column: int, message: str, *, fleeting: bool = False
) -> Parsed:
    problem = Problem(Position(path, line, column), message)
    return Parsed(FileFacts(path, problem=problem, fleeting=fleeting))


def _decode(source: bytes) -> str:
    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    return re.sub(r"\r\n?", "\n", source.decode(encoding))  # the line ends that Python knows


def _second_opinion(text: str) -> str | None:
    """What to add to the reason; None: it could not be found out."""
    # libcst brings a parser of its own, which may know a newer grammar than this interpreter. In a
    # process of its own, since it dies (or takes for ever) on deeply nested source.
    if not _NEWER.search(text):
        return ""
    code = f"import sys; sys.path[:] = {sys.path!r}; import libcst as c; c.parse_module({_STDIN})"
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", code],
            input=text.encode(),
            capture_output=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode != 0:
        return "" if done.returncode > 0 else None
    return (
        f" (it seems valid in a newer Python than the {sys.version_info[0]}.{sys.version_info[1]}"
        " that nparam-lint runs on: install nparam-lint under a newer one)"
    )


class _Scanner:
    def __init__(self, path: str, lines: Sequence[str]) -> None:
        self.path = path
        self.lines = lines
        self.imports: list[Import] = []
        self.classes: list[ClassFacts] = []
        self.functions: list[FunctionFacts] = []
        self.aliases: list[tuple[str, str]] = []
        self.exports: set[str] | None = None
        self.names: set[str] = set()

    def scan(self, tree: ast.Module) -> FileFacts:
        for statement in flat(tree.body):
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                self.imports.extend(_imported(statement))
            elif isinstance(statement, ast.ClassDef):
                self.names.add(statement.name)
                self._class(statement, "")
            elif isinstance(statement, FUNCTIONS):
                self.names.add(statement.name)
                self.functions.append(self._function(statement, method=False))
            else:
                self._assignment(statement)
        self.names.update(item.bound for item in self.imports if item.bound != "*")
        return FileFacts(
            self.path,
            tuple(self.imports),
            tuple(self.classes),
            tuple(self.functions),
            tuple(self.aliases),
            None if self.exports is None else frozenset(self.exports),
            frozenset(self.names),
        )

    def _assignment(self, node: ast.stmt) -> None:
        targets: list[ast.expr] = []
        value: ast.expr | None = None
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign)):
            targets, value = [node.target], node.value
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            targets = [node.target]
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            targets = [item.optional_vars for item in node.items if item.optional_vars]
        names = [name for target in targets for name in bound_names(target)]
        self.names.update(names)
        if "__all__" in names and isinstance(value, (ast.List, ast.Tuple)):
            self.exports = (self.exports or set()) | {
                item.value
                for item in value.elts
                if isinstance(item, ast.Constant) and isinstance(item.value, str)
            }
        if value is not None and len(names) == 1:
            for choice in choices(value):
                dotted = dotted_name(choice)
                if dotted:
                    self.aliases.append((names[0], dotted))

    def _class(self, node: ast.ClassDef, outer: str) -> None:
        qualname = f"{outer}{node.name}"
        init = None
        abstract = False
        fields: list[Parameter] = []
        position = len(self.classes)
        for statement in flat(node.body):
            if isinstance(statement, ast.ClassDef):
                self._class(statement, f"{qualname}.")
            elif isinstance(statement, FUNCTIONS):
                abstract |= any(tail(name) == "abstractmethod" for name in decorators(statement))
                if statement.name == "__init__":
                    init = self._function(statement, method=True)
            elif isinstance(statement, ast.AnnAssign):
                fields.extend(self._field(statement))
        bases = tuple(dotted for dotted in map(dotted_name, node.bases) if dotted)
        metaclasses = [tail(dotted_name(item.value)) for item in node.keywords]
        decorated = decorators(node)
        docstring = docstring_lines(node.body, self.lines)
        is_dataclass = any(tail(name) == "dataclass" for name in decorated)
        self.classes.insert(
            position,
            ClassFacts(
                qualname,
                node.lineno,
                node.col_offset + 1,
                bases,
                decorated,
                docstring,
                _declares(docstring) or (init is not None and init.declares),
                init,
                tuple(fields) if is_dataclass and init is None else None,
                # Without the metaclass `abstractmethod` forbids nothing.
                abstract and ("ABC" in map(tail, bases) or "ABCMeta" in metaclasses),
            ),
        )

    def _field(self, node: ast.AnnAssign) -> Iterator[Parameter]:
        annotation = self._text(node.annotation)
        if not isinstance(node.target, ast.Name) or "ClassVar" in annotation:
            return
        options: dict[str | None, ast.expr] = {}
        default = node.value
        if isinstance(default, ast.Call) and tail(dotted_name(default.func)) == "field":
            options = {item.arg: item.value for item in default.keywords}
            default = options.get("default") or options.get("default_factory")
        taken = options.get("init")
        if isinstance(taken, ast.Constant) and taken.value is False:
            return
        text = None if default is None else self._text(default)
        if default is not None and default is options.get("default_factory"):
            text = f"{text}()"
        yield Parameter(node.target.id, default is None, annotation, text)

    def _function(self, node: Function, *, method: bool) -> FunctionFacts:
        parameters = self._parameters(node.args)
        if method:
            parameters = parameters[1:]
        given = frozenset(parameter.name for parameter in parameters if parameter.required)
        returned, plain = ((), frozenset()) if method else returned_calls(node)
        taken = _annotated(node.args, given) if not method else ()
        docstring = docstring_lines(node.body, self.lines)
        inner: list[Import] = []
        for statement in () if method else flat(node.body):
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                inner.extend(_imported(statement))
        return FunctionFacts(
            node.name,
            node.lineno,
            node.col_offset + 1,
            tuple(parameters),
            decorators(node),
            docstring,
            _declares(docstring),
            returned,
            bool(plain & given),
            taken,
            () if method else annotation_names(node.returns),
            tuple(inner),
        )

    def _parameters(self, arguments: ast.arguments) -> list[Parameter]:
        positional = [*arguments.posonlyargs, *arguments.args]
        gap: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
        found = [
            self._parameter(argument, default, "positional")
            for argument, default in zip(positional, [*gap, *arguments.defaults], strict=True)
        ]
        if arguments.vararg:
            found.append(self._parameter(arguments.vararg, None, "varargs"))
        found += [
            self._parameter(argument, default, "keyword")
            for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        ]
        if arguments.kwarg:
            found.append(self._parameter(arguments.kwarg, None, "varkwargs"))
        return found

    def _parameter(self, node: ast.arg, default: ast.expr | None, kind: str) -> Parameter:
        return Parameter(
            node.arg,
            default is None and kind in ("positional", "keyword"),
            None if node.annotation is None else self._text(node.annotation),
            None if default is None else self._text(default),
            kind,  # type: ignore[arg-type]  # the three callers above write the literals
        )

    def _text(self, node: ast.expr) -> str:
        """An expression as written; over several lines, with the line breaks as spaces."""
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        start = character(self.lines[first], node.col_offset)
        end = character(self.lines[last], node.end_col_offset or 0)
        if first == last:
            return self.lines[first][start:end]
        inner = self.lines[first + 1 : last]
        return " ".join(
            part.strip() for part in (self.lines[first][start:], *inner, self.lines[last][:end])
        )


def _declares(docstring: Sequence[DocLine]) -> bool:
    return any(_NPARAM.match(line.text) for line in docstring)


def _annotated(arguments: ast.arguments, names: frozenset[str]) -> tuple[str, ...]:
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    found = (annotation_names(item.annotation) for item in every if item.arg in names)
    return tuple(dict.fromkeys(name for named in found for name in named))


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[Import]:
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            yield Import(node.module or "", node.level, alias.name, alias.asname or alias.name)
        elif alias.asname:
            yield Import(alias.name, 0, None, alias.asname)
        else:  # `import a.b` binds a
            head = alias.name.partition(".")[0]
            yield Import(head, 0, None, head)
