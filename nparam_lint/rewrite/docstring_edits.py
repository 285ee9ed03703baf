"""Writes budgets into docstrings: replaces a number, or adds a line.

Quotes, escapes, prefixes, line endings, encodings and all other text stay byte for byte.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from nparam_lint.claims.docstring_budgets import parse_docstring
from nparam_lint.discover.scan import scan_source
from nparam_lint.discover.syntax import docstring_lines
from nparam_lint.rewrite.edits import Place, Unsafe
from nparam_lint.rewrite.python_text import NEWLINE, PythonText, Span, line_starts, parsed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nparam_lint.claims.docstring_budgets import Declared
    from nparam_lint.discover.definitions import Definition
    from nparam_lint.rewrite.number_style import Restated

_Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_Budget = tuple[str | None, str, str, str]  # arguments, host, selector, value
_LITERAL = re.compile(
    r"""(?P<prefix>[A-Za-z]*)(?P<quote>"{3}|'{3}|"|')(?P<text>(?:\\.|(?!(?P=quote))[^\\])*)(?P=quote)""",
    re.DOTALL,
)


def restate(source: bytes, changes: Mapping[Place, Restated]) -> tuple[bytes, dict[Place, str]]:
    """The source with other numbers in the values that begin at these places; and those that were
    not changed, with the reason."""
    places: set[Place] = set()
    literals: dict[Span, str] = {}
    try:
        file = PythonText(source)
        for docstring in filter(None, map(_docstring, _definitions(file))):
            start, end = file.span(docstring)
            at = docstring.lineno, len(file.before(docstring)) + 1
            literals[start, end], inside = _with_numbers(file.text[start:end], at, changes)
            places |= inside
        expected = [
            (name, (*budget[:3], changes[place].result) if place in places else budget)
            for place, (name, budget) in _declared(source)
        ]
        new_source = file.edited(literals, _program)
        if [budget for _, budget in _declared(new_source)] != expected:
            raise Unsafe("the changed file would not declare the right budgets")
    except Unsafe as error:
        return source, dict.fromkeys(changes, str(error))
    reason = "its number is not written in one piece"
    return new_source, {place: reason for place in changes if place not in places}


def add(
    source: bytes, values: Mapping[Definition, Sequence[tuple[str | None, str]]]
) -> tuple[bytes, dict[Definition, str]]:
    """The source with budgets, as arguments and a value, at the end of each definition's docstring,
    which is made where there is none; and those definitions that cannot be given any, with the
    reason."""
    edits: dict[Span, str] = {}
    failures: dict[Definition, str] = {}
    try:
        file = PythonText(source)
        nodes = {(node.lineno, node.name): node for node in _definitions(file)}
        for definition, budgets_there in values.items():
            key = (definition.line, definition.qualname.rpartition(".")[2])
            try:
                if key not in nodes:
                    raise Unsafe("it has moved since it was found")
                span, text = _with_budgets(file, nodes[key], budgets_there)
                edits[span] = text
            except Unsafe as error:
                failures[definition] = str(error)
        new_source = file.edited(edits, _program)
        expected = [repr(budget) for _, budget in _declared(source)]
        expected += [
            repr((definition.qualname, (arguments, "", "", value)))
            for definition, budgets_there in values.items()
            if definition not in failures
            for arguments, value in budgets_there
        ]
        if sorted(expected) != sorted(repr(budget) for _, budget in _declared(new_source)):
            raise Unsafe("the changed file would not declare the right budgets")
    except Unsafe as error:
        return source, dict.fromkeys(values, str(error))
    return new_source, failures


# --- reading ----------------------------------------------------------------------------------


def _definitions(file: PythonText) -> list[_Definition]:
    return [node for node in ast.walk(file.tree) if isinstance(node, _Definition)]


def _docstring(node: _Definition) -> ast.Constant | None:
    first = node.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        return first.value if isinstance(first.value.value, str) else None
    return None


def _declared(source: bytes) -> list[tuple[Place, tuple[str, _Budget]]]:
    """All budgets of a file, as every other part of the program reads them."""
    facts = scan_source("", source)
    definitions = (*facts.classes, *facts.functions, *facts.methods)
    docstrings = [(item.qualname, item.docstring) for item in definitions]
    docstrings += [(f"{c.qualname}.__init__", c.init.docstring) for c in facts.classes if c.init]
    return [
        ((declared.line, declared.column), (name, _budget(declared)))
        for name, lines in docstrings
        for declared in parse_docstring(lines)[0]
    ]


# --- writing ----------------------------------------------------------------------------------


def _program(tree: ast.Module) -> str:
    """What is executed: the tree without docstrings and places."""
    for node in ast.walk(tree):
        if isinstance(node, _Definition) and _docstring(node) is not None:
            del node.body[0]
    return ast.dump(tree)


def _with_budgets(
    file: PythonText, node: _Definition, values: Sequence[tuple[str | None, str]]
) -> tuple[Span, str]:
    """What stands where, once a definition has these budgets. Raises Unsafe."""
    lines = [
        f"nparam{'' if arguments is None else f'({arguments})'}: {value}"
        for arguments, value in values
    ]
    match = NEWLINE.search(file.text)
    newline = match[0] if match else "\n"
    first, docstring = node.body[0], _docstring(node)
    start, end = file.span(first)
    indent = file.before(first)
    is_on_header = bool(indent.strip())
    if is_on_header:  # `class A(B): pass` gets a second line
        start -= len(indent) - len(indent.rstrip())
        indent = file.before(node) + file.indent()
    break_before = newline + indent if is_on_header else ""
    if docstring is not None:
        literal = _LITERAL.fullmatch(file.text[slice(*file.span(docstring))])
        if literal is None or file.span(docstring) != file.span(first):
            raise Unsafe("its docstring is not one plain literal")
        return (start, end), break_before + _with_lines(literal, lines, indent, newline)
    literal_end = newline + indent if len(lines) > 1 else ""
    new = indent + f'"""{(newline + indent).join(lines)}{literal_end}"""' + newline
    if is_on_header:
        gap = newline if isinstance(node, ast.ClassDef) else ""
        return (start, file.span(first)[0]), newline + new + gap + indent
    # Before the comments that lead to the first statement; in a class an empty line follows.
    number = min(part.lineno for part in (first, *getattr(first, "decorator_list", ())))
    while file.line(number - 1).strip()[:1] in ("", "#"):
        number -= 1
    gap = newline if isinstance(node, ast.ClassDef) and file.line(number).strip() else ""
    place = file.start_of_line(number)
    return (place, place), new + gap


# --- the text of a docstring ------------------------------------------------------------------


def budgets(literal: str, at: Place) -> dict[Place, _Budget]:
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
    return {(item.line + line - 3, item.column): _budget(item) for item in declared}


def _with_numbers(
    literal: str, at: Place, changes: Mapping[Place, Restated]
) -> tuple[str, set[Place]]:
    """A literal that begins `at` a place, with other numbers in the values that begin at those
    places of `changes` where they are written in one piece; and these places.

    Escapes and quotes may shift the value to the right of its recorded place. Of the numbers that
    look like it, the right one is the one whose change changes nothing but this value.
    """
    declared = budgets(literal, at)
    starts = line_starts(literal)
    stated_places = sorted(declared.keys() & changes.keys(), reverse=True)
    offsets = {
        (line, column): starts[line - at[0]] + column - (at[1] if line == at[0] else 1)
        for line, column in stated_places
    }
    places: set[Place] = set()
    for place in stated_places:
        change, start = changes[place], offsets[place]
        expected = declared | {place: (*declared[place][:3], change.result)}
        while (start := literal.find(change.old_number, start)) >= 0:
            new = literal[:start] + change.number + literal[start + len(change.old_number) :]
            if budgets(new, at) == expected:
                literal, declared = new, expected
                places.add(place)
                break
            start += 1
    return literal, places


def _budget(declared: Declared) -> _Budget:
    host, selector = str(declared.host or ""), str(declared.selector)
    return declared.arguments, host, selector, declared.value.text


def _with_lines(literal: re.Match[str], lines: Sequence[str], indent: str, newline: str) -> str:
    """A literal with lines at the end of its text, after an empty one, and the closing quotes on a
    line of their own.

    `indent`: that of the statement; `newline`: what ends a line.
    """
    prefix, content = literal["prefix"], literal["text"]
    # Three of the quotes cannot stand in it where it could not even hold one of them.
    quote = literal["quote"][0] * 3
    if match := NEWLINE.search(content):
        newline = match[0]
    line = f"{newline}{indent}".join(lines)
    if not content.strip():
        return f"{prefix}{quote}{line}{quote}"
    text, end, closing = content.rpartition(newline)
    if not end or closing.strip():  # the quotes follow the text
        text, closing = content.rstrip(" \t"), indent
    *_, last = NEWLINE.split(text)
    gap = newline if last.strip() else ""
    return f"{prefix}{quote}{text}{newline}{gap}{indent}{line}{newline}{closing}{quote}"
