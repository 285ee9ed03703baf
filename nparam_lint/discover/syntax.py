"""Small queries on syntax trees: names, annotations, returned values, the lines of a docstring.
None of them recurses into statements."""

from __future__ import annotations

import ast
import gc
import io
import re
import tokenize
from bisect import bisect_left
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.values import DocLine

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Function = ast.FunctionDef | ast.AsyncFunctionDef
# Methods that return the module on which they are called.
SAME_MODULE = frozenset(
    """
    apply bfloat16 compile cpu cuda double eval float half requires_grad_ to to_empty train type
    """.split()
)
_OPENING = late_pattern(r"""([rRuU]?)(\"\"\"|'''|"|')""")
_PIECE = late_pattern(
    r"[^\\\n]+|\n|\\(?:\n|[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]*\}|.)"
)
_ESCAPES = "abfnrtvxuUN01234567\\'\""  # what may follow a backslash
# What turns a file into the words in it, at the speed of memory.
_NO_WORD = bytes(b if b > 127 or chr(b).isalnum() or chr(b) == "_" else 32 for b in range(256))
_OBJECTS = 200_000  # new ones between two collections; few syntax trees have more


@contextmanager
def rare_collection() -> Iterator[None]:
    """Collect garbage rarely in this context. A syntax tree has no cycles and needs no collection,
    but the collector would traverse it again and again while it is built, which takes as long as
    building it."""
    before = gc.get_threshold()
    if 0 < before[0] < _OBJECTS:
        gc.set_threshold(_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def words_in(source: bytes) -> list[bytes]:
    return source.translate(_NO_WORD).split()


def annotation_names(annotation: ast.expr | None) -> tuple[str, ...]:
    """The dotted names of the classes that an annotation allows: `Optional["Net"]` gives `Net`."""
    try:
        return () if annotation is None else tuple(_class_names(annotation))
    except RecursionError:
        return ()


def flat(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of one scope in order: those inside `if`, `try`, `with`, `for` too.

    A stack, since a thousand `elif` are a thousand levels. What stands under
    `if __name__ == "__main__"` cannot be imported and is left out.
    """
    stack = list(reversed(body))
    while stack:
        node = stack.pop()
        yield node
        if "body" not in node._fields and "cases" not in node._fields:  # most statements
            continue
        if isinstance(node, (ast.ClassDef, *FUNCTIONS)):
            continue
        inner: list[ast.stmt] = []
        if not is_main(node):
            for part in (node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())):
                inner += getattr(part, "body", ())
        inner += getattr(node, "orelse", ())
        inner += getattr(node, "finalbody", ())
        stack.extend(reversed(inner))


def is_main(node: ast.AST) -> bool:
    """Whether it is `if __name__ == "__main__"`."""
    if not (isinstance(node, ast.If) and isinstance(node.test, ast.Compare)):
        return False
    return any(isinstance(n, ast.Name) and n.id == "__name__" for n in ast.walk(node.test))


def dictionaries(body: Sequence[ast.stmt]) -> dict[str, ast.expr]:
    """Those that the statements of one scope write out and give a name."""
    return {
        name: statement.value
        for statement in body
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Dict)
        for target in statement.targets
        for name in bound_names(target)
    }


def assigned(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """(target, value) of each assignment that a statement makes."""
    if isinstance(node, ast.Assign):
        yield from ((target, node.value) for target in node.targets)
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        yield node.target, node.value


def bound_names(target: ast.expr) -> Iterator[str]:
    """The names that an assignment to this gives a value: `a` and `b` of `a, (b, c.d)`."""
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def dotted_name(node: ast.expr) -> str:
    """`a.b.C` of a name, an attribute, `a.b.C[T]`; "" of anything else."""
    parts: list[str] = []
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
        elif not isinstance(node, ast.Subscript) or parts:
            return ""
        node = node.value
    return ".".join((node.id, *reversed(parts)))


def text_of(node: ast.AST | None) -> str | None:
    """The text that a literal says; None of anything else."""
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return node.value if is_text else None  # type: ignore[union-attr]


def tail(dotted: str) -> str:
    return dotted.rpartition(".")[2]


def parameter_names(node: ast.arguments) -> list[str]:
    """Those of all parameters, `*args` and `**kwargs` too."""
    parameters = (*node.posonlyargs, *node.args, *node.kwonlyargs, node.vararg, node.kwarg)
    return [item.arg for item in parameters if item]


def decorators(node: ast.ClassDef | Function) -> tuple[str, ...]:
    plain = (item.func if isinstance(item, ast.Call) else item for item in node.decorator_list)
    return tuple(dotted for dotted in map(dotted_name, plain) if dotted)


def choices(node: ast.expr) -> Iterator[ast.expr]:
    """The values that an expression chooses from: `a if c else b`, `{"a": a, "b": b}[key]`,
    `{"a": (a, 3), "b": (b, 4)}[key][0]`."""
    if isinstance(node, ast.IfExp):
        yield from choices(node.body)
        yield from choices(node.orelse)
    elif isinstance(node, ast.Subscript):
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        for table in choices(node.value):
            if isinstance(table, ast.Dict):
                pairs = zip(table.keys, table.values, strict=True)
                named = [v for k, v in pairs if isinstance(k, ast.Constant) and k.value == key]
                yield from named or table.values
            elif isinstance(table, (ast.Tuple, ast.List)):
                yield from table.elts[key:][:1] if isinstance(key, int) else table.elts
            else:
                yield node
    else:
        yield node


IN_MODULE = ".__dict__"  # of a module, in which a name is looked up: `nets.__dict__[name](3)`


def returned_calls(
    node: Function, tables: Mapping[str, ast.expr] | None = None
) -> tuple[tuple[str, ...], frozenset[str]]:
    """The calls that create the returned values, and the plain names that are returned; of a tuple
    or a dictionary (model, optimizer) those of each of its values. `tables`: those of the file,
    whose entries may be called."""
    tables = tables or {}
    values: dict[str, list[ast.expr]] = {}  # of local names
    returned: list[ast.expr] = []
    if isinstance(node, ast.AsyncFunctionDef):
        return (), frozenset()
    for statement in flat(node.body):
        value = getattr(statement, "value", None)
        if isinstance(value, (ast.Yield, ast.YieldFrom)):
            return (), frozenset()  # a generator returns nothing that could be counted
        if isinstance(statement, ast.Return):
            returned += [value] if value is not None else []
        for target, value in assigned(statement):
            if isinstance(target, ast.Name):
                values.setdefault(target.id, []).append(value)
            elif isinstance(target, ast.Tuple):  # `kind, sizes = NETS[name]`
                for number, part in enumerate(target.elts):
                    if isinstance(part, ast.Name) and isinstance(value, ast.Subscript):
                        element = ast.Subscript(value, ast.Constant(number))
                        values.setdefault(part.id, []).append(element)
    callees: dict[str, None] = {}
    names: set[str] = set()
    while returned:
        for value in choices(returned.pop()):
            source = origin(value)
            if isinstance(source, ast.Tuple):
                returned += source.elts
            elif isinstance(source, ast.Dict):
                returned += source.values
            elif isinstance(source, ast.Name) and source.id not in names:
                names.add(source.id)
                returned += values.get(source.id, [])
            elif isinstance(source, ast.Call):
                called = [source.func]
                while called:
                    for kind in choices(called.pop(0)):
                        match kind:
                            case ast.Lambda(body=body):
                                returned.append(body)
                            case ast.Call(binds, [first, *_]):
                                called += [first] if tail(dotted_name(binds)) == "partial" else []
                        name = called_name(kind)
                        if not name or name in callees:
                            continue
                        callees[name] = None
                        # `kind = Wide if wide else Net`, and `return kind(3)`
                        named = values.get(name, [tables[name]] if name in tables else [])
                        called += [_within(value, kind) for value in named]
    return tuple(callees), frozenset(names)


def _within(value: ast.expr, node: ast.expr) -> ast.expr:
    """`{"a": A}[name]` of `nets[name]`, where `nets` has that value."""
    if isinstance(node, ast.Subscript):
        return ast.Subscript(_within(value, node.value), node.slice)
    return value


def called_name(node: ast.expr) -> str:
    """The dotted name of what is called; `nets.__dict__` of `nets.__dict__[name]`, and of
    `getattr(nets, name)`, which looks a name up there, too."""
    if isinstance(node, ast.Call) and dotted_name(node.func) == "getattr" and node.args:
        module = dotted_name(node.args[0])
        return module and f"{module}{IN_MODULE}"
    return dotted_name(node)


def origin(node: ast.expr) -> ast.expr:
    """`Net(3).to(device).eval()` comes from `Net(3)`."""
    while (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in SAME_MODULE
    ):
        node = node.func.value
    return node


def _class_names(node: ast.expr) -> Iterator[str]:
    if (text := text_of(node)) is not None:
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            yield from _class_names(ast.parse(text.strip(), mode="eval").body)
    elif isinstance(node, (ast.Name, ast.Attribute)):
        yield dotted_name(node)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        yield from _class_names(node.left)
        yield from _class_names(node.right)
    elif isinstance(node, ast.Subscript):
        generic = tail(dotted_name(node.value))
        inner = node.slice
        items = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        if generic in ("Optional", "Annotated", "Final", "Union"):
            for item in items if generic == "Union" else items[:1]:
                yield from _class_names(item)
        else:  # `Net[T]` is a Net; `list[Net]` is a list, which is no model
            yield from _class_names(node.value)


# --- docstrings -------------------------------------------------------------------------------


def docstring_lines(body: Sequence[ast.stmt], lines: Sequence[str]) -> tuple[DocLine, ...]:
    """The docstring with which `body` begins; `lines` are the file's lines. () when there is none.

    The text is what Python makes of the literal. Inside a line an escape shifts the columns that
    follow it; the position of the first character is still right.
    """
    if not body or not isinstance(body[0], ast.Expr):
        return ()
    node = body[0].value
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return ()
    start = character(lines[node.lineno - 1], node.col_offset)
    segment = "\n".join(_written_lines(lines, node))
    opening = _OPENING.match(segment)
    if opening is not None:
        plain = segment[opening.end() : -len(opening[2])]
        if plain == node.value:  # one literal without escapes: what nearly all docstrings are
            return tuple(
                DocLine(text, node.lineno + number, 1 if number else start + 1 + opening.end())
                for number, text in enumerate(plain.split("\n"))
            )
    return tuple(_evaluated(segment, node.lineno, start))


def character(line: str, offset: int) -> int:
    """The character index that is `offset` bytes of UTF-8 into `line` (`ast` counts bytes)."""
    return offset if line.isascii() else bisect_left(_byte_offsets(line), offset)


@lru_cache(maxsize=16)  # many are asked of one long line
def _byte_offsets(line: str) -> list[int]:
    """Where each character begins, and the end."""
    sizes = (len(character.encode("utf-8", "surrogatepass")) for character in line)
    return list(accumulate(sizes, initial=0))


def written(lines: Sequence[str], node: ast.expr) -> str:
    """An expression as written; over several lines, with the line breaks as spaces."""
    return " ".join(map(str.strip, _written_lines(lines, node)))


def _written_lines(lines: Sequence[str], node: ast.expr) -> list[str]:
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    start = character(lines[first], node.col_offset)
    end = character(lines[last], node.end_col_offset or 0)
    if first == last:
        return [lines[first][start:end]]
    return [lines[first][start:], *lines[first + 1 : last], lines[last][:end]]


def _evaluated(segment: str, line: int, start: int) -> Iterator[DocLine]:
    """Slow and general: adjacent literals, escapes and line continuations."""
    text, place = "", None
    # The parentheses let adjacent literals stand on several lines.
    for token in tokenize.generate_tokens(io.StringIO(f"({segment})\n").readline):
        opening = _OPENING.match(token.string) if token.type == tokenize.STRING else None
        if opening is None:
            continue
        row = token.start[0]
        column = token.start[1] + opening.end() + (start - 1 if row == 1 else 0) + 1
        body = token.string[opening.end() : -len(opening[2])]
        raw = bool(opening[1]) and opening[1] in "rR"
        for piece in re.findall(r"[^\n]+|\n", body) if raw else _PIECE.findall(body):
            if piece != "\\\n":
                place = place or (line + row - 1, column)
                # Python keeps the backslash of what is no escape.
                is_escape = not raw and piece[0] == "\\" and piece[1] in _ESCAPES
                value = str(ast.literal_eval(f'"{piece}"')) if is_escape else piece
                if value == "\n":
                    yield DocLine(text, *place)
                    text, place = "", None
                else:
                    text += value
            row, column = (row + 1, 1) if piece.endswith("\n") else (row, column + len(piece))
    if place is not None:
        yield DocLine(text, *place)
