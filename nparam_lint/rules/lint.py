"""The rules that need source alone: no torch, no interpreter, nothing is imported or built.

A file is first looked at as if each of its classes that has a base were an `nn.Module`, with the
syntax tree that finds its models: where the rules find nothing then, they find nothing at all.
Whether a base in another file makes it one is known later, and the few files that are left are
parsed once more.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nparam_lint.cache.file_facts import FactCache
from nparam_lint.cache.store import digest
from nparam_lint.discover.name_resolution import is_hinted
from nparam_lint.discover.scan import Parsed, parse_source, parse_text
from nparam_lint.discover.syntax import rare_collection
from nparam_lint.judge import finding
from nparam_lint.records import Finding, Position
from nparam_lint.rules.catalogue import RULES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from nparam_lint.cache.store import Store
    from nparam_lint.discover.scan import FileFacts
    from nparam_lint.discover.source_tree import SourceTree

_Findings = tuple[Finding, ...]
_UNREADABLE_BUDGET = "NPL002"


def source_codes() -> list[str]:
    """The codes of the rules that look at the classes of a source."""
    return [code for code in RULES if code.startswith("NPL1")]


def lint_source(source: str, path: str, modules: frozenset[str] | None = None) -> list[Finding]:
    """All static findings of one file, sorted by place, and its budgets that cannot be read.

    `modules`: the qualified names of the classes in it that are known to be an `nn.Module`; None:
    those that the file itself shows to be one. A source that cannot be parsed has no findings.
    """
    text = source.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    try:
        return _lint_alone(parse_text(path, text), modules)
    except ValueError:  # half of a surrogate pair, a null byte
        return []


def lint_file(root: Path, path: str, modules: frozenset[str] | None = None) -> list[Finding]:
    """As `lint_source`, for the file `path` below `root`; none where it cannot be read."""
    try:
        return _lint_alone(parse_source(path, (root / path).read_bytes()), modules)
    except OSError:
        return []


def lint_files(
    tree: SourceTree, files: Iterable[tuple[str, frozenset[str]]], store: Store | None = None
) -> list[Finding]:
    """The static findings of several files of a project, each given with its `modules`. Those of a
    content that an earlier run has linted come from the `store`."""
    memory = FactCache[_Findings](store, "findings", _Findings)
    found: list[Finding] = []
    with rare_collection():
        for path, modules in files:
            if modules and tree.facts(path).suspect is not False:
                found += _remembered(tree, path, modules, memory)
    memory.save(tree.room)
    return found


def scan_and_lint(path: str, source: bytes) -> FileFacts:
    """What a scan of the file says, with whether the rules may find something in it."""
    parsed = parse_source(path, source)
    heirs = frozenset(item.qualname for item in parsed.facts.classes if item.bases)
    suspect = bool(heirs and is_hinted(source) and _findings(parsed, heirs, source_codes()))
    return replace(parsed.facts, suspect=suspect)


def _lint_alone(parsed: Parsed, modules: frozenset[str] | None) -> list[Finding]:
    return _findings(parsed, modules, [_UNREADABLE_BUDGET, *source_codes()])


def _remembered(
    tree: SourceTree, path: str, modules: frozenset[str], memory: FactCache[_Findings]
) -> _Findings:
    if tree.facts(path).problem is not None:
        return ()
    parts = (tree.digest(path), path, *sorted(modules))
    key = digest(*(part.encode("utf-8", "surrogateescape") for part in parts))
    found = memory.get(key)
    if found is None:
        source = tree.source(path)
        found = tuple(_findings(parse_source(path, source), modules, source_codes()))
        if digest(source) == tree.digest(path):  # it was not written to meanwhile
            memory.put(key, found)
    return found


def _findings(
    parsed: Parsed, modules: frozenset[str] | None, codes: Sequence[str]
) -> list[Finding]:
    from nparam_lint.rules.source_file import SourceFile

    if parsed.facts.problem is not None:
        return []
    found, path = [], parsed.facts.path
    file = SourceFile(parsed, modules)
    for code in codes:
        visitor_type = RULES[code].visitor
        if visitor_type is None:
            continue
        visitor = visitor_type(file)
        try:
            visitor.visit_file()
        except RecursionError:  # expressions that are nested deeper than can be followed
            return []
        for item in visitor.found:
            at, remedy = (
                Position(path, item.line, item.column),
                [item.remedy] if item.remedy else [],
            )
            found.append(finding(code, at, item.message, f"{path}::{item.qualname}", remedy))
    return sorted(found, key=lambda f: (f.position.line, f.position.column, f.code))
