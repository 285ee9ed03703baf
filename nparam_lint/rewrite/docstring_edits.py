"""Writes budgets into docstrings, with libcst: replaces a number, or adds a line.

Quotes, escapes, prefixes, line endings, encodings and all other text stay byte for byte.
"""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import libcst as cst
from libcst import matchers
from libcst.metadata import MetadataWrapper, PositionProvider

from nparam_lint.claims.docstring_budgets import parse_docstring
from nparam_lint.discover.scan import scan_source
from nparam_lint.discover.syntax import docstring_lines
from nparam_lint.rewrite.edits import Place, Unsafe

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from libcst.metadata import CodeRange

    from nparam_lint.claims.docstring_budgets import Declared
    from nparam_lint.records import Definition, DocLine
    from nparam_lint.rewrite.number_style import Restated

_Definition = cst.ClassDef | cst.FunctionDef
_String = cst.SimpleString | cst.ConcatenatedString
Replacements = dict[cst.CSTNode, "Callable[[cst.CSTNode], cst.CSTNode]"]
_Said = tuple[str | None, str, str, str]  # arguments, host, selector, value
_NEWLINE = re.compile(r"\r\n|\r|\n")


def restate(source: bytes, changes: Mapping[Place, Restated]) -> tuple[bytes, dict[Place, str]]:
    """The source with other numbers in the values that begin at these places; and those that were
    not changed, with the reason."""
    replacements: Replacements = {}
    done: dict[Place, Restated] = {}
    try:
        file = _read(source)
        for docstring in filter(None, map(_docstring, file.definitions)):
            start = file.spans[docstring].start
            at = (start.line, start.column + 1)
            found = _find_all(file.text(docstring), at, changes)
            done |= {place: changes[place] for place in found}
            numbers = {offset: changes[place] for place, offset in found.items()}
            replacements |= _with_numbers(file, docstring, numbers)
        expected = [
            (name, (*said[:3], done[place].result) if place in done else said)
            for place, (name, said) in _declared(source)
        ]
        written = _written(source, file.module, replacements)
        if [budget for _, budget in _declared(written)] != expected:
            raise Unsafe("the changed file would not declare the right budgets")
    except Unsafe as error:
        return source, dict.fromkeys(changes, str(error))
    reason = "its number is not written in one piece"
    return written, {place: reason for place in changes if place not in done}


def add(
    source: bytes, values: Mapping[Definition, Sequence[tuple[str | None, str]]]
) -> tuple[bytes, dict[Definition, str]]:
    """The source with budgets, as arguments and a value, at the end of each definition's docstring,
    which is made where there is none; and those definitions that cannot be given any, with the
    reason."""
    replacements: Replacements = {}
    failed: dict[Definition, str] = {}
    try:
        file = _read(source)
        known = {(file.spans[node].start.line, node.name.value): node for node in file.definitions}
        for definition, value in values.items():
            key = (definition.line, definition.qualname.rpartition(".")[2])
            try:
                if key not in known:
                    raise Unsafe("it has moved since it was found")
                replacements |= _with_budgets(file, known[key], value)
            except Unsafe as error:
                failed[definition] = str(error)
        written = _written(source, file.module, replacements)
        kept = {d: budgets for d, budgets in values.items() if d not in failed}
        added = [
            (d.qualname, (arguments, "", "", value))
            for d, budgets in kept.items()
            for arguments, value in budgets
        ]
        before = [budget for _, budget in _declared(source)]
        if sorted(map(repr, [*before, *added])) != sorted(repr(b) for _, b in _declared(written)):
            raise Unsafe("the changed file would not declare the right budgets")
    except Unsafe as error:
        return source, dict.fromkeys(values, str(error))
    return written, failed


# --- reading ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _File:
    """`code`: the source as text, of which line n begins at `starts[n - 1]`; `spans`: where each
    node stands; `definitions`: the classes and functions."""

    module: cst.Module
    code: str
    starts: list[int]
    spans: Mapping[cst.CSTNode, CodeRange]
    definitions: list[_Definition]

    def offset(self, node: cst.CSTNode) -> int:
        """Where a node begins."""
        start = self.spans[node].start
        return self.starts[start.line - 1] + start.column

    def text(self, node: cst.CSTNode) -> str:
        end = self.spans[node].end
        return self.code[self.offset(node) : self.starts[end.line - 1] + end.column]

    def before(self, node: cst.CSTNode) -> str:
        """What stands before a node on its line."""
        return self.code[self.starts[self.spans[node].start.line - 1] : self.offset(node)]


def _read(source: bytes) -> _File:
    """Raises Unsafe for what libcst cannot read and give back as it is."""
    try:
        module, spans = read_tree(source)
        if module.bytes != source:
            raise Unsafe("libcst would change other parts of the file")
        code = module.code
    except (cst.ParserSyntaxError, SyntaxError, ValueError) as error:
        raise Unsafe(f"libcst cannot read the file: {str(error).splitlines()[0]}") from None
    except (RecursionError, MemoryError):
        raise Unsafe("the file's expressions are nested too deeply") from None
    definitions = [node for node in spans if isinstance(node, _Definition)]
    return _File(module, code, _line_starts(code), spans, definitions)


def read_tree(source: bytes) -> tuple[cst.Module, Mapping[cst.CSTNode, CodeRange]]:
    """The file as libcst reads it, and where each node stands: columns count from 0."""
    wrapper = MetadataWrapper(cst.parse_module(source), unsafe_skip_copy=True)
    return wrapper.module, wrapper.resolve(PositionProvider)


def parsed(source: str | bytes) -> ast.Module:
    """Raises what `ast.parse` raises; warns of nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # odd escapes are not ours to report
        return ast.parse(source)


def _has_docstring(node: ast.AST) -> bool:
    definitions = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return isinstance(node, definitions) and ast.get_docstring(node, clean=False) is not None


def _docstring(node: _Definition) -> _String | None:
    first = node.body.body[0]
    if isinstance(first, cst.SimpleStatementLine):
        first = first.body[0]
    if isinstance(first, cst.Expr) and isinstance(first.value, _String):
        return first.value if isinstance(first.value.evaluated_value, str) else None
    return None


def _declared(source: bytes) -> list[tuple[Place, tuple[str, _Said]]]:
    """All budgets of a file, as every other part of the program reads them."""
    facts = scan_source("", source)
    docstrings: list[tuple[str, tuple[DocLine, ...]]] = []
    for item in facts.classes:
        docstrings.append((item.qualname, item.docstring))
        docstrings.append((f"{item.qualname}.__init__", item.init.docstring if item.init else ()))
    functions = (*facts.functions, *facts.methods)
    docstrings += [(function.qualname, function.docstring) for function in functions]
    return [
        ((found.line, found.column), (name, _said(found)))
        for name, lines in docstrings
        for found in parse_docstring(lines)[0]
    ]


# --- writing ----------------------------------------------------------------------------------


def _written(source: bytes, module: cst.Module, replacements: Replacements) -> bytes:
    """The file with other nodes, of which Python makes the same code. Raises Unsafe."""
    written = module.visit(Replace(replacements)).bytes
    try:
        same = _code(source) == _code(written)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        same = False
    if not same:
        raise Unsafe("the changed file would not be the same program")
    return written


def _code(source: bytes) -> str:
    """What is executed: the tree without docstrings and places."""
    tree = parsed(source)
    for node in ast.walk(tree):
        if _has_docstring(node):
            del node.body[0]  # type: ignore[attr-defined]
    return ast.dump(tree)


class Replace(cst.CSTTransformer):
    """Puts what `replacements` makes of a node into its place."""

    def __init__(self, replacements: Replacements) -> None:
        super().__init__()
        self.replacements = replacements

    def on_leave(  # type: ignore[override]
        self, original_node: cst.CSTNode, updated_node: cst.CSTNode
    ) -> cst.CSTNode:
        change = self.replacements.get(original_node)
        return change(updated_node) if change else updated_node


def _with_value(text: str, node: cst.CSTNode) -> cst.CSTNode:
    return node.with_changes(value=text)


def _with_numbers(
    file: _File, docstring: cst.BaseString, numbers: Mapping[int, Restated]
) -> Replacements:
    """The replacements that give a docstring other numbers at these offsets in all of it."""
    replacements: Replacements = {}
    for piece in matchers.findall(docstring, matchers.SimpleString()):
        assert isinstance(piece, cst.SimpleString)
        begin = file.offset(piece) - file.offset(docstring)
        text = piece.value
        for start in sorted(numbers, reverse=True):
            if begin <= start < begin + len(text):
                text = _replaced(text, start - begin, numbers[start])
        if text != piece.value:
            replacements[piece] = partial(_with_value, text)
    return replacements


def _with_budgets(
    file: _File, node: _Definition, values: Sequence[tuple[str | None, str]]
) -> Replacements:
    """The replacement that gives a definition budgets. Raises Unsafe."""
    lines = [f"nparam{'' if own is None else f'({own})'}: {value}" for own, value in values]
    docstring = _docstring(node)
    newline = file.module.default_newline
    if docstring is None:
        inner = newline + file.before(node) + file.module.default_indent
        end = inner if len(lines) > 1 else ""
        return {node: partial(_with_docstring, f'"""{inner.join(lines)}{end}"""')}
    if isinstance(docstring, cst.ConcatenatedString) or docstring.lpar:
        raise Unsafe("its docstring is not one plain literal")
    indent = file.before(docstring)
    if indent.strip():  # all on the line of the header
        indent = file.before(node) + file.module.default_indent
    literal = _with_lines(docstring, lines, indent, newline)
    return {docstring: partial(_with_value, literal), node: _in_a_block}


def _in_a_block(node: cst.CSTNode) -> cst.CSTNode:
    """`class A(B): pass` over two lines."""
    assert isinstance(node, _Definition)
    suite = node.body
    if not isinstance(suite, cst.SimpleStatementSuite):
        return node
    line = cst.SimpleStatementLine(suite.body, trailing_whitespace=suite.trailing_whitespace)
    return node.with_changes(body=cst.IndentedBlock([line]))


def _with_docstring(literal: str, node: cst.CSTNode) -> cst.CSTNode:
    """A definition with a docstring; in a class, an empty line follows it."""
    node = _in_a_block(node)
    assert isinstance(node, _Definition)
    first, *others = node.body.body
    assert isinstance(first, cst.BaseStatement)
    leading = getattr(first, "leading_lines", ())
    if isinstance(node, cst.ClassDef) and (not leading or leading[0].comment):
        first = first.with_changes(leading_lines=(cst.EmptyLine(indent=False), *leading))
    docstring = cst.SimpleStatementLine([cst.Expr(cst.SimpleString(literal))])
    return node.with_deep_changes(node.body, body=(docstring, first, *others))


# --- the text of a docstring ------------------------------------------------------------------


def budgets(literal: str, at: Place) -> dict[Place, _Said]:
    """What a literal (or adjacent ones) that begins `at` a place declares, by the places at which
    the values begin."""
    line, column = at
    # The columns decide which line belongs to which block.
    text = _NEWLINE.sub("\n", f"class _:\n (\n{' ' * (column - 1)}{literal})")
    try:
        body = parsed(text).body[0]
    except SyntaxError:
        return {}
    assert isinstance(body, ast.ClassDef)
    declared, _ = parse_docstring(docstring_lines(body.body, text.split("\n")))
    return {(item.line + line - 3, item.column): _said(item) for item in declared}


def _find_all(literal: str, at: Place, changes: Mapping[Place, Restated]) -> dict[Place, int]:
    """Those of the places at which a value of a literal begins whose number is written there in one
    piece, and where in the literal that is.

    Escapes and quotes may shift the value to the right of its recorded place. Of the numbers that
    look like it, the right one is the one whose change changes nothing but this value.
    """
    said = budgets(literal, at)
    # From the end, so that what is before stays where it is.
    inside = sorted(said.keys() & changes.keys(), reverse=True)
    starts = _line_starts(literal)
    first = {
        place: literal.find(changes[place].old_number, _offset(starts, at, place))
        for place in inside
    }
    text, expected = literal, dict(said)
    for place in inside:  # right for nearly all, and tried for all at once
        text = _replaced(text, first[place], changes[place])
        expected[place] = (*said[place][:3], changes[place].result)
    if -1 not in first.values() and budgets(text, at) == expected:
        return first
    found: dict[Place, int] = {}
    for place in inside:
        change, start = changes[place], first[place]
        expected = said | {place: (*said[place][:3], change.result)}
        while start >= 0 and budgets(_replaced(literal, start, change), at) != expected:
            start = literal.find(change.old_number, start + 1)
        if start >= 0:
            found[place], said = start, expected
            literal = _replaced(literal, start, change)
    return found


def _replaced(text: str, start: int, change: Restated) -> str:
    """The text with the new number at `start`."""
    return text[:start] + change.number + text[start + len(change.old_number) :]


def _said(declared: Declared) -> _Said:
    how = declared.arguments, str(declared.host or "")
    return *how, str(declared.selector), declared.text


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in _NEWLINE.finditer(text))]


def _offset(starts: Sequence[int], at: Place, place: Place) -> int:
    """Where in a literal, of which the lines begin at `starts`, a place of the file is."""
    line, column = at
    row = place[0] - line
    return starts[row] + place[1] - 1 - (column - 1 if row == 0 else 0)


def _with_lines(node: cst.SimpleString, lines: Sequence[str], indent: str, newline: str) -> str:
    """A literal with lines at the end of its text, after an empty one, and the closing quotes on a
    line of their own.

    `indent`: that of the statement; `newline`: what ends a line.
    """
    prefix, content = node.prefix, node.raw_value
    # Three of the quotes cannot stand in it where it could not even hold one of them.
    quote = node.quote[0] * 3
    found = _NEWLINE.search(content)
    newline = found[0] if found else newline
    line = f"{newline}{indent}".join(lines)
    if not content.strip():
        return f"{prefix}{quote}{line}{quote}"
    text, end, closing = content.rpartition(newline)
    if not end or closing.strip():  # the quotes follow the text
        text, closing = content.rstrip(" \t"), indent
    *_, last = _NEWLINE.split(text)
    gap = newline if last.strip() else ""
    return f"{prefix}{quote}{text}{newline}{gap}{indent}{line}{newline}{closing}{quote}"
