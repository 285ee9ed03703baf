"""Writes budgets into docstrings, with libcst: replaces a number, or adds a line.

Quotes, escapes, prefixes, line endings, encodings and all other text stay byte for byte.
"""

from __future__ import annotations

import ast
from functools import partial
from typing import TYPE_CHECKING

import libcst as cst
from libcst import matchers

from nparam_lint.claims.docstring_budgets import parse_docstring
from nparam_lint.discover.scan import scan_source
from nparam_lint.discover.syntax import docstring_lines
from nparam_lint.rewrite.cst_file import NEWLINE, CstFile, Replacements, line_starts, parsed
from nparam_lint.rewrite.edits import Place, Unsafe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nparam_lint.claims.docstring_budgets import Declared
    from nparam_lint.discover.definitions import Definition
    from nparam_lint.rewrite.number_style import Restated

_Definition = cst.ClassDef | cst.FunctionDef
_String = cst.SimpleString | cst.ConcatenatedString
_Said = tuple[str | None, str, str, str]  # arguments, host, selector, value


def restate(source: bytes, changes: Mapping[Place, Restated]) -> tuple[bytes, dict[Place, str]]:
    """The source with other numbers in the values that begin at these places; and those that were
    not changed, with the reason."""
    replacements: Replacements = {}
    done: dict[Place, Restated] = {}
    try:
        file = CstFile(source)
        for docstring in filter(None, map(_docstring, _definitions(file))):
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
        written = file.written(replacements, _program)
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
        file = CstFile(source)
        every = _definitions(file)
        known = {(file.spans[node].start.line, node.name.value): node for node in every}
        for definition, value in values.items():
            key = (definition.line, definition.qualname.rpartition(".")[2])
            try:
                if key not in known:
                    raise Unsafe("it has moved since it was found")
                replacements |= _with_budgets(file, known[key], value)
            except Unsafe as error:
                failed[definition] = str(error)
        written = file.written(replacements, _program)
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


def _definitions(file: CstFile) -> list[_Definition]:
    return [node for node in file.spans if isinstance(node, _Definition)]


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
    every = (*facts.classes, *facts.functions, *facts.methods)
    docstrings = [(item.qualname, item.docstring) for item in every]
    docstrings += [(f"{c.qualname}.__init__", c.init.docstring) for c in facts.classes if c.init]
    return [
        ((found.line, found.column), (name, _said(found)))
        for name, lines in docstrings
        for found in parse_docstring(lines)[0]
    ]


# --- writing ----------------------------------------------------------------------------------


def _program(tree: ast.Module) -> str:
    """What is executed: the tree without docstrings and places."""
    definitions = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, definitions) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    return ast.dump(tree)


def _with_value(text: str, node: cst.CSTNode) -> cst.CSTNode:
    return node.with_changes(value=text)


def _with_numbers(
    file: CstFile, docstring: cst.BaseString, numbers: Mapping[int, Restated]
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
    file: CstFile, node: _Definition, values: Sequence[tuple[str | None, str]]
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
    text = NEWLINE.sub("\n", f"class _:\n (\n{' ' * (column - 1)}{literal})")
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
    starts = line_starts(literal)
    first: dict[Place, int] = {}
    for line, column in inside:
        start = starts[line - at[0]] + column - (at[1] if line == at[0] else 1)
        first[line, column] = literal.find(changes[line, column].old_number, start)
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


def _with_lines(node: cst.SimpleString, lines: Sequence[str], indent: str, newline: str) -> str:
    """A literal with lines at the end of its text, after an empty one, and the closing quotes on a
    line of their own.

    `indent`: that of the statement; `newline`: what ends a line.
    """
    prefix, content = node.prefix, node.raw_value
    # Three of the quotes cannot stand in it where it could not even hold one of them.
    quote = node.quote[0] * 3
    found = NEWLINE.search(content)
    newline = found[0] if found else newline
    line = f"{newline}{indent}".join(lines)
    if not content.strip():
        return f"{prefix}{quote}{line}{quote}"
    text, end, closing = content.rpartition(newline)
    if not end or closing.strip():  # the quotes follow the text
        text, closing = content.rstrip(" \t"), indent
    *_, last = NEWLINE.split(text)
    gap = newline if last.strip() else ""
    return f"{prefix}{quote}{text}{newline}{gap}{indent}{line}{newline}{closing}{quote}"
