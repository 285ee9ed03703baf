"""Writes budgets into docstrings: replaces a number, or adds a line.

Quotes, escapes, prefixes, line endings, encodings and all other text stay byte for byte: only the
text of docstrings changes, where `ast` says that they are.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from nparam_lint.claims.docstring_budgets import parse_docstring
from nparam_lint.discover.scan import scan_source
from nparam_lint.discover.syntax import docstring_lines
from nparam_lint.rewrite.edits import Unsafe
from nparam_lint.rewrite.source_text import NEWLINE, SourceText, parsed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from nparam_lint.claims.docstring_budgets import Declared
    from nparam_lint.records import Definition, DocLine
    from nparam_lint.rewrite.number_style import Restated
    from nparam_lint.rewrite.source_text import Change, Place

_Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_Budget = tuple[str, str | None, str, str]  # where, arguments, selector, value

_LITERAL = re.compile(r"""(?P<prefix>[a-zA-Z]*)(?P<quote>'''|\"""|'|")""")


def restate(source: bytes, changes: Mapping[Place, Restated]) -> tuple[bytes, dict[Place, str]]:
    """The source with other numbers in the values that begin at these places; and those that were
    not changed, with the reason."""
    done: dict[Place, Restated] = {}
    edits: list[Change] = []
    try:
        file = _File(source)
        for node in file.definitions:
            start, end = file.docstring(node)
            if start == end:
                continue
            literal, at = file.code[start:end], file.place(start)
            # From the end, so that what is before stays where it is.
            for place in sorted(budgets(literal, at).keys() & changes.keys(), reverse=True):
                number = _find(literal, at, place, changes[place])
                if number is not None:
                    literal = _replaced(literal, number, changes[place])
                    done[place] = changes[place]
            edits.append((start, end, literal))
        expected = [
            (*rest, done[place].result if place in done else value)
            for place, (*rest, value) in _declared(source)
        ]
        written = file.changed(edits, _without_docstrings)
        if [budget for _, budget in _declared(written)] != expected:
            raise Unsafe("the changed file would not declare the right budgets")
    except Unsafe as error:
        return source, dict.fromkeys(changes, str(error))
    reason = "its number is not written in one piece"
    return written, {place: reason for place in changes if place not in done}


def add(source: bytes, values: Mapping[Definition, str]) -> tuple[bytes, dict[Definition, str]]:
    """The source with a budget at the end of each definition's docstring, which is made where there
    is none; and those definitions that cannot be given one, with the reason."""
    edits: list[Change] = []
    failed: dict[Definition, str] = {}
    try:
        file = _File(source)
        known = {(node.lineno, node.name): node for node in file.definitions}
        for definition, value in values.items():
            key = (definition.line, definition.qualname.rpartition(".")[2])
            try:
                if key not in known:
                    raise Unsafe("it has moved since it was found")
                edits += _with_budget(file, known[key], f"nparam: {value}")
            except Unsafe as error:
                failed[definition] = str(error)
        written = file.changed(edits, _without_docstrings)
        added = [(d.qualname, None, "", v) for d, v in values.items() if d not in failed]
        before = [budget for _, budget in _declared(source)]
        if sorted(map(repr, [*before, *added])) != sorted(repr(b) for _, b in _declared(written)):
            raise Unsafe("the changed file would not declare the right budgets")
    except Unsafe as error:
        return source, dict.fromkeys(values, str(error))
    return written, failed


# --- reading ----------------------------------------------------------------------------------


class _File(SourceText):
    """`definitions`: its classes and functions."""

    def __init__(self, source: bytes) -> None:
        super().__init__(source)
        self.definitions = [n for n in ast.walk(self.tree) if isinstance(n, _Definition)]

    def docstring(self, node: _Definition) -> tuple[int, int]:
        """From where to where it goes; an empty range where there is none."""
        first = node.body[0]
        start, _ = self.span(first)
        return self.span(first.value) if _has_docstring(node) else (start, start)  # type: ignore[attr-defined]

    def before(self, node: ast.stmt) -> str:
        """What is on the same line before it."""
        return self.line(node.lineno)[: node.col_offset]

    def indent(self) -> str:
        """By how much the body of a definition is indented, most of the time."""
        inner = [(self.before(n), self.before(n.body[0])) for n in self.definitions]
        units = Counter(own.removeprefix(outer) for outer, own in inner if not own.strip())
        return next((unit for unit, _ in units.most_common(1)), "    ")


def _has_docstring(node: ast.AST) -> bool:
    return (
        isinstance(node, _Definition)
        and isinstance(node.body[0], ast.Expr)
        and isinstance(node.body[0].value, ast.Constant)
        and isinstance(node.body[0].value.value, str)
    )


def _declared(source: bytes) -> list[tuple[Place, _Budget]]:
    """All budgets of a file, as every other part of the program reads them."""
    facts = scan_source("", source)
    docstrings: list[tuple[str, tuple[DocLine, ...]]] = []
    for item in facts.classes:
        docstrings.append((item.qualname, item.docstring))
        docstrings.append((f"{item.qualname}.__init__", item.init.docstring if item.init else ()))
    docstrings += [(function.name, function.docstring) for function in facts.functions]
    return [
        ((found.line, found.column), (name, found.arguments, str(found.selector), found.text))
        for name, lines in docstrings
        for found in parse_docstring(lines)[0]
    ]


# --- writing ----------------------------------------------------------------------------------


def _without_docstrings(tree: ast.Module) -> str:
    for node in ast.walk(tree):
        if _has_docstring(node):
            del node.body[0]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _with_budget(file: _File, node: _Definition, line: str) -> Iterator[Change]:
    """What gives a definition a budget. Raises Unsafe."""
    found = NEWLINE.search(file.code)
    newline = found[0] if found else "\n"
    first, (start, end) = node.body[0], file.docstring(node)
    indent = file.before(first)
    one_line = bool(indent.strip())  # `class A(B): pass` becomes two lines
    if one_line:
        indent = file.before(node) + file.indent()
        header = len(file.code[:start].rstrip(" \t"))
    if start < end:
        literal = file.code[start:end]
        if file.span(first)[0] < start or not _is_one(literal):  # `("A.")`
            raise Unsafe("its docstring is not one plain literal")
        yield start, end, _with_line(literal, line, indent, newline)
        if one_line:
            yield header, start, newline + indent
        return
    docstring = f'{indent}"""{line}"""{newline}'
    gap = newline if isinstance(node, ast.ClassDef) else ""  # an empty line after it
    if one_line:
        yield header, start, newline + docstring + gap + indent
        return
    number = min(n.lineno for n in (first, *getattr(first, "decorator_list", ())))
    while not (above := file.line(number - 1).strip()) or above.startswith("#"):
        number -= 1
    if above.endswith("\\"):
        raise Unsafe("its first line is continued on the next")
    at = file.start(number)
    yield at, at, docstring + (gap if file.line(number).strip() else "")


# --- literals ---------------------------------------------------------------------------------


def budgets(literal: str, at: Place) -> dict[Place, Declared]:
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
    moved = (replace(item, line=item.line + line - 3) for item in declared)
    return {(item.line, item.column): item for item in moved}


def _find(literal: str, at: Place, place: Place, change: Restated) -> int | None:
    """Where in a literal the number of the value stands that begins at a place; None where it is
    not written there in one piece.

    Escapes and quotes may put the value further behind than its place says: of the numbers that
    look like it, it is the one whose change changes nothing but this value.
    """
    expected = {where: _content(item) for where, item in budgets(literal, at).items()}
    expected[place] = (*expected[place][:2], change.result)
    rows = [0, *(match.end() for match in NEWLINE.finditer(literal))]
    row = place[0] - at[0]
    start = rows[row] + place[1] - (at[1] if row == 0 else 1) - 1
    while (start := literal.find(change.old_number, start + 1)) >= 0:
        after = budgets(_replaced(literal, start, change), at)
        if {where: _content(item) for where, item in after.items()} == expected:
            return start
    return None


def _replaced(text: str, start: int, change: Restated) -> str:
    """The text with the new number at `start`."""
    return text[:start] + change.number + text[start + len(change.old_number) :]


def _content(declared: Declared) -> tuple[str | None, str, str]:
    return declared.arguments, str(declared.selector), declared.text


def _is_one(literal: str) -> bool:
    """Whether it is a single literal, not several that stand one after the other."""
    text = NEWLINE.sub("\n", literal)
    return next(tokenize.generate_tokens(io.StringIO(text).readline)).string == text


def _with_line(literal: str, line: str, indent: str, newline: str) -> str:
    """A literal with a line at the end of its text, after an empty one, and the closing quotes on a
    line of their own.

    `indent`: that of the statement; `newline`: what ends a line.
    """
    match = _LITERAL.match(literal)
    assert match is not None
    prefix, quote = match.groups()
    content = literal[match.end() : -len(quote)]
    if len(quote) == 1:
        quote *= 3  # which cannot stand in it: it could not even hold one of them
    if not content.strip():
        return f"{prefix}{quote}{line}{quote}"
    found = NEWLINE.search(content)
    newline = found[0] if found else newline
    text, end, closing = content.rpartition(newline)
    if not end or closing.strip():  # the quotes follow the text
        text, closing = content.rstrip(" \t"), indent
    *_, last = NEWLINE.split(text)
    gap = newline if last.strip() else ""
    return f"{prefix}{quote}{text}{newline}{gap}{indent}{line}{newline}{closing}{quote}"
