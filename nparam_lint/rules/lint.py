"""The rules, run over one file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from nparam_lint.judge.budgets import finding
from nparam_lint.records import Position
from nparam_lint.rules import (
    npl002_malformed_budget,
    npl101_plain_container,
    npl102_made_in_forward,
    npl103_super_init,
    npl104_tensor_for_parameter,
    npl105_unknown_argument,
    npl106_prose_disagrees,
)
from nparam_lint.rules.source import SourceFile
from nparam_lint.rules.walk import walk_classes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nparam_lint.discover.source_tree import Tree
    from nparam_lint.records import Finding
    from nparam_lint.rules.walk import Found, Visitor

RULES_STATIC = (
    npl002_malformed_budget,
    npl101_plain_container,
    npl102_made_in_forward,
    npl103_super_init,
    npl104_tensor_for_parameter,
    npl105_unknown_argument,
    npl106_prose_disagrees,
)


def findings(
    path: str, source: bytes, modules: frozenset[str] | None, tree: Tree | None = None
) -> list[Finding]:
    """All findings of one file, sorted by place; none where it cannot be parsed.

    Raises RecursionError where expressions are nested deeper than can be followed.
    """
    file = SourceFile(path, source, modules, tree)
    if not file.is_readable:
        return []
    rules = [(module.CODE, module.Rule(file)) for module in RULES_STATIC]
    try:
        _visit(file, [visitor for _, visitor in rules])
    except cst.ParserSyntaxError:  # Python takes a little more than libcst does
        return []
    found = [_located(file, code, item) for code, rule in rules for item in rule.found]
    return sorted(found, key=lambda f: (f.position.line, f.position.column, f.code))


def _visit(file: SourceFile, visitors: Sequence[Visitor]) -> None:
    for definition in file.declared if b"nparam" in file.source else ():
        for lines in definition.docstrings:
            for visitor in visitors:
                visitor.visit_docstring(definition, lines)
    if file.modules:
        walk_classes([owner for owner in file.classes if owner.is_module], visitors)


def _located(file: SourceFile, code: str, item: Found) -> Finding:
    at = item.at if isinstance(item.at, Position) else file.position(item.at)
    remedy = [item.remedy] if item.remedy else []
    return finding(code, at, item.message, f"{file.path}::{item.qualname}", remedy)
