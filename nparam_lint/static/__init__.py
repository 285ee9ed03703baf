"""The rules that need source alone: no torch, no interpreter, nothing is imported or built.

One file a rule: what it says and why, valid and invalid cases, and its visitor. `RULES_STATIC`
lists them; a new rule is a new file and a line there.
"""

from __future__ import annotations

import contextlib
import io
import tokenize
from typing import TYPE_CHECKING

import libcst as cst

from nparam_lint.discover.outside import HINTS
from nparam_lint.judge import finding
from nparam_lint.records import Position
from nparam_lint.static import (
    npl002_malformed_budget,
    npl101_plain_container,
    npl102_made_in_forward,
    npl103_super_init,
    npl104_tensor_for_parameter,
    npl105_unknown_argument,
    npl106_prose_disagrees,
)
from nparam_lint.static.source import SourceFile
from nparam_lint.static.walk import walk_classes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from nparam_lint.records import Finding
    from nparam_lint.static.walk import Found, Visitor

RULES_STATIC = (
    npl002_malformed_budget,
    npl101_plain_container,
    npl102_made_in_forward,
    npl103_super_init,
    npl104_tensor_for_parameter,
    npl105_unknown_argument,
    npl106_prose_disagrees,
)


def lint_source(source: str, path: str, modules: frozenset[str] | None = None) -> list[Finding]:
    """All static findings of one file, sorted by place.

    `modules`: the qualified names of the classes in it that are known to be an `nn.Module`; None:
    those that the file itself shows to be one. A source that cannot be parsed has no findings.
    """
    try:
        return _lint(path, encoded(source), modules)
    except (SyntaxError, UnicodeError, LookupError):
        return []


def lint_file(root: Path, path: str, modules: frozenset[str] | None = None) -> list[Finding]:
    """As `lint_source`, for the file `path` below `root`; none where it cannot be read."""
    try:
        return _lint(path, (root / path).read_bytes(), modules)
    except OSError:
        return []


def encoded(source: str) -> bytes:
    """As the file would be on disk: in the encoding that its first lines declare."""
    text = source.removeprefix("\ufeff")
    lines = io.BytesIO(text.encode("utf-8", "surrogateescape"))
    return text.encode(tokenize.detect_encoding(lines.readline)[0])


def _lint(path: str, source: bytes, modules: frozenset[str] | None) -> list[Finding]:
    if not modules and not any(hint in source for hint in HINTS):
        return []
    file = SourceFile(path, source, modules)
    if not file.is_readable:
        return []
    rules = [(module.CODE, module.Rule(file)) for module in RULES_STATIC]
    # Python takes a little more than libcst does, and nests expressions deeper than we can follow.
    with contextlib.suppress(cst.ParserSyntaxError, RecursionError):
        _visit(file, [visitor for _, visitor in rules])
        findings = [_located(file, code, item) for code, rule in rules for item in rule.found]
        return sorted(findings, key=lambda f: (f.position.line, f.position.column, f.code))
    return []


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
