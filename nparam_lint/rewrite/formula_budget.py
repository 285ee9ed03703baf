"""A formula as a budget in the docstring of what it counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nparam_lint.discover.claims.docstring_budgets import parse_docstring
from nparam_lint.rewrite import docstring_edits
from nparam_lint.rewrite.edits import FileEdit, Unsafe, write_all

if TYPE_CHECKING:
    from nparam_lint.discover.definitions import Definition
    from nparam_lint.gate.candidates import ProjectSource


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
    new, failures = docstring_edits.add(old, {definition: [(arguments, text)]})
    if definition in failures:
        raise Unsafe(failures[definition])
    write_all((FileEdit(name, path, old, new),))
    written = docstring_edits.budget_line(arguments, text)
    lines = list(enumerate(new.split(b"\n"), 1))[definition.line - 1 :]
    number = next(n for n, line in lines if written.encode() in line)
    return f"{name}:{number}: {written}"
