"""A closed form as a budget in the docstring of what it counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.form_writer import factored
from nparam_lint.claims.docstring_budgets import parse_docstring
from nparam_lint.ground.values import Position
from nparam_lint.rewrite import docstring_edits
from nparam_lint.rewrite.edits import FileEdit, Unsafe, is_outside, write_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nparam_lint.analysis.closed_forms.form_records import ClosedForm
    from nparam_lint.analysis.model_builder import Model


def budget_of(cases: Sequence[ClosedForm], order: Sequence[str]) -> tuple[str, list[str]]:
    """(the formula, names of choices that it does not hold for). A choice between two values
    becomes a conditional; with more values, only the case of the call is used."""
    base, *further_cases = cases
    text = factored(base.total, order)
    switches = list(dict.fromkeys(name for case in further_cases for name in case.case))
    if len(further_cases) != 1 or len(switches) != 1:
        return text, switches
    (case,), (name,) = further_cases, switches
    value = case.case[name]
    condition = f"{name} == {value!r}"
    if isinstance(value, bool):
        condition = name if value else f"not {name}"
    return f"({factored(case.total, order)}) if {condition} else ({text})", []


def write_budget(model: Model, text: str) -> Position | None:
    """Write the formula into the docstring of what was built; where it stands, None where it stood
    there before. Raises Unsafe or CannotWrite; nothing was written then."""
    target, session, definition = model.target, model.source.session, model.definition
    if not target.is_path:
        raise Unsafe(f"{target.location} is an installed package; nothing is written there")
    if definition is None:
        places = " and ".join(model.defined_at)
        is_named = bool(model.candidate.definitions)
        where = f"; it is what {places} defines" if is_named and places else ""
        raise Unsafe(f"{target.location} does not define {target.callable} itself{where}")
    declared = (line for lines in definition.docstrings for line in parse_docstring(lines)[0])
    if any(line.arguments is None and line.value.text == text for line in declared):
        return None
    path = session.root / target.location
    if is_outside(path, session.root, session.environ):
        raise Unsafe(f"{target.location} is outside of the repository")
    old = model.source.discovery.tree.source(target.location)
    new, failures = docstring_edits.add(old, {definition: [(None, text)]})
    if definition in failures:
        raise Unsafe(failures[definition])
    write_all((FileEdit(target.location, path, old, new),))
    lines = list(enumerate(new.split(b"\n"), 1))[definition.line - 1 :]
    return Position(target.location, next(n for n, line in lines if text.encode() in line))
