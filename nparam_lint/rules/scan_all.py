"""The rules that need source alone: no torch, no interpreter, nothing is imported or built.

One file a rule: what it says and why, valid and invalid cases, and its visitor. `RULES_STATIC` in
`lint.py` lists them; a new rule is a new file and a line there. libcst is not imported before there
is a file to lint.
"""

from __future__ import annotations

import io
import tokenize
from typing import TYPE_CHECKING

from nparam_lint.cache.file_facts import Memory
from nparam_lint.cache.store import digest
from nparam_lint.discover.installed_names import is_hinted
from nparam_lint.discover.syntax import rare_collection
from nparam_lint.records import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from nparam_lint.cache.store import Store
    from nparam_lint.discover.source_tree import Tree

_Findings = tuple[Finding, ...]


def lint_source(source: str, path: str, modules: frozenset[str] | None = None) -> list[Finding]:
    """All static findings of one file, sorted by place.

    `modules`: the qualified names of the classes in it that are known to be an `nn.Module`; None:
    those that the file itself shows to be one. A source that cannot be parsed has no findings.
    """
    try:
        return _lint(path, encoded(source), modules)
    except (SyntaxError, UnicodeError, LookupError, RecursionError):
        return []


def lint_file(root: Path, path: str, modules: frozenset[str] | None = None) -> list[Finding]:
    """As `lint_source`, for the file `path` below `root`; none where it cannot be read."""
    try:
        return _lint(path, (root / path).read_bytes(), modules)
    except (OSError, RecursionError):
        return []


def lint_files(
    tree: Tree, files: Iterable[tuple[str, frozenset[str]]], store: Store | None = None
) -> list[Finding]:
    """The static findings of several files of a project, each given with its `modules`. Those of a
    content that an earlier run has linted under the same path come from the `store`."""
    memory = Memory[_Findings](store, "findings", _Findings)
    found: list[Finding] = []
    with rare_collection():
        for path, modules in files:
            found += _remembered(tree, path, modules, memory)
    memory.save(tree.room)
    return found


def encoded(source: str) -> bytes:
    """As the file would be on disk: in the encoding that its first lines declare."""
    text = source.removeprefix("\ufeff")
    lines = io.BytesIO(text.encode("utf-8", "surrogateescape"))
    return text.encode(tokenize.detect_encoding(lines.readline)[0])


def _remembered(
    tree: Tree, path: str, modules: frozenset[str], memory: Memory[_Findings]
) -> _Findings:
    if tree.facts(path).problem is not None:
        return ()
    parts = (tree.digest(path), path, *sorted(modules))
    key = digest(*(part.encode("utf-8", "surrogateescape") for part in parts))
    found = memory.get(key)
    if found is not None:
        return found
    source = tree.source(path)
    same = digest(source) == tree.digest(path)  # it was not written to meanwhile
    try:
        found = tuple(_lint(path, source, modules, tree.alone(path) if same else None))
    except RecursionError:  # which depends on how deep the stack is already
        return ()
    if same:
        memory.put(key, found)
    return found


def _lint(
    path: str, source: bytes, modules: frozenset[str] | None, tree: Tree | None = None
) -> list[Finding]:
    if not modules and not is_hinted(source):
        return []
    # libcst takes longer to import than most files take to check.
    from nparam_lint.rules.lint import findings

    return findings(path, source, modules, tree)
