"""Claims in places where budgets are not read: inside a line of prose, in comments, in the
docstrings of definitions that cannot be called from outside, in strings that are not docstrings."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from nparam_lint.discover.claims.comment_budgets import python_comments
from nparam_lint.discover.claims.docstring_budgets import budget_lines, find_stray, mentions
from nparam_lint.discover.definitions import Problem
from nparam_lint.discover.syntax import FUNCTIONS, character, docstring_lines, dotted_name, text_of
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.values import DocLine, Position

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_WHERE = "in the docstring of a class, of its `__init__`, or of a function that returns a model"
_DOC = late_pattern(r"doc|descr", re.IGNORECASE)  # names of documentation: `__doc__`, `NET_DOC`
_OPEN = late_pattern(r"[:：][\s`*_]*$")
_FORMATTED = tuple(  # f-strings, and the t-strings of Python 3.14
    getattr(ast, name) for name in ("JoinedStr", "TemplateStr") if hasattr(ast, name)
)
_INSERTED = late_pattern(r"\{[^{}\n]*\}|%[sdi]")  # in an f-string, and its like


def unread_claims(
    path: str,
    tree: ast.Module,
    lines: Sequence[str],
    docstrings: Mapping[tuple[int, int], Sequence[DocLine]],
) -> list[Problem]:
    """`docstrings`: those in which budgets are read, by where the literal begins."""
    problems: list[Problem] = []

    def look(line: DocLine, following: str, message: str, is_formatted: bool = False) -> None:
        """`following`: the next line, where a number may stand after a colon."""
        source = f"{line.text} {following}" if _OPEN.search(line.text) else line.text
        text = source
        if is_formatted:  # an inserted value counts as a number
            text = _INSERTED.sub(lambda inserted: "0" * len(inserted[0]), text)
        stray = find_stray(text, following)
        if stray and stray.offset < len(line.text):
            claim = source[stray.offset :][: len(stray.text)]
            budget = "nparam: NUMBER" if text != source else stray.line
            at = Position(path, line.line, line.column + stray.offset)
            problems.append(Problem(at, message.format(found=claim, line=budget)))

    inside = "found `{found}` inside a line, expected `{line}` on a line of its own"
    for docstring in docstrings.values():
        budgets = budget_lines(docstring)
        for index, (line, following) in enumerate(_followed(docstring)):
            if index not in budgets:
                look(line, following, inside)
    for text, place in _texts(tree):
        if (text.lineno, text.col_offset) not in docstrings:
            for line, following in _followed([*_lines(text, lines)]):
                look(line, following, _elsewhere(place), not isinstance(text, ast.Constant))
    if any("#" in line and mentions(line.encode("utf-8", "replace")) for line in lines):
        for line, following in _followed([*python_comments("\n".join(lines))]):
            look(line, following, _elsewhere("a comment"))
    return sorted(problems, key=lambda problem: (problem.position.line, problem.position.column))


def _followed(lines: Sequence[DocLine]) -> Iterator[tuple[DocLine, str]]:
    """Each line with the text of the next one that is not blank."""
    following = ""
    pairs = []
    for line in reversed(lines):
        pairs.append((line, following))
        following = line.text.strip("# \t") or following
    return reversed(pairs)


def _elsewhere(place: str) -> str:
    return f"found `{{found}}` in {place}, which is not read; expected `{{line}}` {_WHERE}"


def _texts(tree: ast.Module) -> Iterator[tuple[ast.expr, str]]:
    """Every string that documents something, and where it is."""
    pending: list[tuple[ast.AST, str]] = [(tree, "")]
    while pending:
        node, scope = pending.pop()
        if isinstance(node, (ast.ClassDef, *FUNCTIONS)):
            scope = f"{scope}.{node.name}" if scope else node.name
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        owner = f"`{scope}`" if scope else "the module"
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Expr) and _is_text(child.value):
                is_docstring = child is first and text_of(child.value) is not None
                is_docstring &= isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS))
                kind = "the docstring of" if is_docstring else "a string, not a docstring, in"
                yield child.value, f"{kind} {owner}"
            else:
                for text in _documentation(child):
                    yield text, f"a string, not a docstring, in {owner}"
            pending.append((child, scope))


def _is_text(node: ast.expr) -> bool:
    """A string, an f-string, an expression that makes one by `+`, `%` or `.format()`, or several of
    them."""
    while isinstance(node, (ast.BinOp, ast.Call, ast.Attribute)):
        if isinstance(node, ast.Call):
            node = node.func
        else:
            node = node.left if isinstance(node, ast.BinOp) else node.value
    match node:
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return any(map(_is_text, items))
        case ast.IfExp():
            return _is_text(node.body) or _is_text(node.orelse)
    return _is_literal(node)


def _is_literal(node: ast.expr) -> bool:
    is_bytes = isinstance(node, ast.Constant) and isinstance(node.value, bytes)
    return is_bytes or isinstance(node, _FORMATTED) or text_of(node) is not None


def _documentation(node: ast.AST) -> Iterator[ast.expr]:
    """The strings that are assigned to a name, or passed as an argument, whose name says that it is
    documentation."""
    match node:
        case ast.Assign(targets=targets, value=value):
            names, values = [dotted_name(target) for target in targets], [value]
        case ast.AnnAssign(target=target, value=value) | ast.AugAssign(target=target, value=value):
            names, values = [dotted_name(target)], [value] if value else []
        case ast.keyword(arg=name, value=value):
            names, values = [name or ""], [value]
        case ast.Call(func=function, args=values):
            names = [dotted_name(function)]
            names += ["__doc__" for item in values if text_of(item) == "__doc__"]
        case _:
            return
    pending: list[ast.AST] = [*values] if any(map(_DOC.search, names)) else []
    while pending:
        node = pending.pop()
        if isinstance(node, ast.expr) and _is_literal(node):
            yield node
        # From Python 3.12 on, the texts between the fields of an f-string have places of their own,
        # without quotes: they are part of its text.
        if not isinstance(node, _FORMATTED):
            pending += ast.iter_child_nodes(node)


def _lines(text: ast.expr, lines: Sequence[str]) -> Iterator[DocLine]:
    if text_of(text) is not None:
        yield from docstring_lines([ast.Expr(text)], lines)
        return
    last = text.end_lineno or text.lineno
    for number in range(text.lineno, last + 1):
        line = lines[number - 1]
        start = character(line, text.col_offset) if number == text.lineno else 0
        end = character(line, text.end_col_offset or 0) if number == last else len(line)
        yield DocLine(line[start:end], number, start + 1)
