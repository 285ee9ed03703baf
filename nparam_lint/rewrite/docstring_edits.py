"""Writes budgets into docstrings, with libcst: replaces a number, or adds a line.

Quotes, escapes, prefixes, line endings, encodings and all other text stay byte for byte.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import libcst as cst

from nparam_lint.discover.claims.docstring_budgets import parse_docstring
from nparam_lint.discover.scan import scan_source
from nparam_lint.discover.syntax import docstring_lines
from nparam_lint.rewrite.cst_file import NEWLINE, CstFile, line_starts, parsed
from nparam_lint.rewrite.edits import FileEdit, Place, Unsafe, write_all

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nparam_lint.discover.claims.docstring_budgets import Declared
    from nparam_lint.discover.definitions import Definition
    from nparam_lint.gate.candidates import ProjectSource
    from nparam_lint.rewrite.cst_file import TextEdit
    from nparam_lint.rewrite.number_style import Restated

_Definition = cst.ClassDef | cst.FunctionDef
_String = cst.SimpleString | cst.ConcatenatedString
_Budget = tuple[str | None, str, str, str]  # arguments, host, selector, value


def restate(source: bytes, changes: Mapping[Place, Restated]) -> tuple[bytes, dict[Place, str]]:
    """The source with other numbers in the values that begin at these places; and those that were
    not changed, with the reason."""
    places: set[Place] = set()
    try:
        file = CstFile(source)
        edits: list[TextEdit] = []
        for docstring in filter(None, map(_docstring, _definitions(file))):
            start, literal = file.spans[docstring].start, file.text(docstring)
            new, inside = _with_numbers(literal, (start.line, start.column + 1), changes)
            begin = file.offset(docstring)
            edits.append((begin, begin + len(literal), new))
            places |= inside
        expected = [
            (name, (*budget[:3], changes[place].result) if place in places else budget)
            for place, (name, budget) in _declared(source)
        ]
        new_source = file.edited(edits)
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
    edits: list[TextEdit] = []
    failures: dict[Definition, str] = {}
    try:
        file = CstFile(source)
        nodes = {
            (file.spans[node].start.line, node.name.value): node for node in _definitions(file)
        }
        for definition, value in values.items():
            key = (definition.line, definition.qualname.rpartition(".")[2])
            try:
                if key not in nodes:
                    raise Unsafe("it has moved since it was found")
                edits += _with_budgets(file, nodes[key], value)
            except Unsafe as error:
                failures[definition] = str(error)
        new_source = file.edited(edits)
        expected = [repr(budget) for _, budget in _declared(source)]
        expected += [
            repr((definition.qualname, (arguments, "", "", value)))
            for definition, budgets in values.items()
            if definition not in failures
            for arguments, value in budgets
        ]
        if sorted(expected) != sorted(repr(budget) for _, budget in _declared(new_source)):
            raise Unsafe("the changed file would not declare the right budgets")
    except Unsafe as error:
        return source, dict.fromkeys(values, str(error))
    return new_source, failures


def budget_line(arguments: str | None, value: str) -> str:
    """A budget as it stands in a docstring; `arguments`: of the call, None for the default one."""
    return f"nparam{'' if arguments is None else f'({arguments})'}: {value}"


def write_formula(
    text: str, arguments: str | None, definition: Definition, source: ProjectSource
) -> str:
    """Write it into the docstring of a definition of `source`, as the budget of a call with these
    arguments; the line and its place, nothing where it stood there before. Raises Unsafe or
    CannotWrite; nothing was written then."""
    declared = (line for lines in definition.docstrings for line in parse_docstring(lines)[0])
    if any(line.arguments == arguments and line.value.text == text for line in declared):
        return ""
    name = definition.path
    path = source.session.root / name
    if source.session.is_outside(path):
        raise Unsafe(f"{name} is outside of the repository")
    old = source.discovery.tree.source(name)
    new, failures = add(old, {definition: [(arguments, text)]})
    if definition in failures:
        raise Unsafe(failures[definition])
    write_all((FileEdit(name, path, old, new),))
    written = budget_line(arguments, text)
    lines = list(enumerate(new.split(b"\n"), 1))[definition.line - 1 :]
    number = next(n for n, line in lines if written.encode() in line)
    return f"{name}:{number}: {written}"


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


def _with_budgets(
    file: CstFile, node: _Definition, values: Sequence[tuple[str | None, str]]
) -> list[TextEdit]:
    """The edits that give a definition budgets. Raises Unsafe."""
    lines = [budget_line(*budget) for budget in values]
    docstring, suite, newline = _docstring(node), node.body, file.module.default_newline
    indent = file.before(node) + file.module.default_indent
    new_line, first = f"{newline}{indent}", file.offset(suite.body[0])
    edits: list[TextEdit] = []
    if isinstance(suite, cst.SimpleStatementSuite):  # `class A(B): pass` gets two lines
        edits.append((first - len(suite.leading_whitespace.value), first, new_line))
    if docstring is None:
        literal = f'"""{new_line.join(lines if len(lines) == 1 else [*lines, ""])}"""{newline}'
        is_apart = False
        if isinstance(suite, cst.IndentedBlock):
            first, is_apart = _behind_header(file, suite)
            literal, indent = file.before(suite.body[0]) + literal, ""
        # In a class, an empty line follows it.
        gap = newline if isinstance(node, cst.ClassDef) and not is_apart else ""
        return [*edits, (first, first, f"{literal}{gap}{indent}")]
    if isinstance(docstring, cst.ConcatenatedString) or docstring.lpar:
        raise Unsafe("its docstring is not one plain literal")
    if not edits:
        indent = file.before(docstring)
    begin, literal = file.offset(docstring), file.text(docstring)
    return [*edits, (begin, begin + len(literal), _with_lines(docstring, lines, indent, newline))]


def _behind_header(file: CstFile, block: cst.IndentedBlock) -> tuple[int, bool]:
    """Where the line behind a definition's header begins, and whether it is empty; comments may
    stand before the first statement."""
    first: cst.CSTNode = block.body[0]
    if isinstance(first, _Definition) and first.decorators:
        first = first.decorators[0]
    number = file.spans[first].start.line
    while (above := file.lines[number - 2].strip()) == "" or above.startswith("#"):
        number -= 1
    return file.starts[number - 1], not file.lines[number - 1].strip()


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
    declared, starts = budgets(literal, at), line_starts(literal)
    places: set[Place] = set()
    # From the end, so that what is before stays where it is.
    for place in sorted(declared.keys() & changes.keys(), reverse=True):
        change, (line, column) = changes[place], place
        start = starts[line - at[0]] + column - (at[1] if line == at[0] else 1)
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


def _with_lines(node: cst.SimpleString, lines: Sequence[str], indent: str, newline: str) -> str:
    """A literal with lines at the end of its text, after an empty one, and the closing quotes on a
    line of their own.

    `indent`: that of the statement; `newline`: what ends a line.
    """
    prefix, content = node.prefix, node.raw_value
    # Three of the quotes cannot stand in it where it could not even hold one of them.
    quote = node.quote[0] * 3
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
