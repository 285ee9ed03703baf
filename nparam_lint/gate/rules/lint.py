"""Runs the static rules, which need only source: no torch, no interpreter, nothing is imported or
built.

A file is first looked at as if each of its classes that has a base were an `nn.Module`, with the
syntax tree that finds its models: where the rules find nothing then, they find nothing at all.
Whether a base in another file makes it one is known later, and the few files that are left are
parsed once more.
"""

from __future__ import annotations

import io
import tokenize
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.discover.claims import suppressions
from nparam_lint.discover.claims.docstring_budgets import parse_docstring
from nparam_lint.discover.name_resolution import is_hinted
from nparam_lint.discover.scan import Parsed, parse_source, parse_text
from nparam_lint.discover.syntax import rare_collection
from nparam_lint.gate.rules import source_codes, source_file, values
from nparam_lint.ground.findings import Finding, finding
from nparam_lint.ground.rule_catalogue import RULES
from nparam_lint.ground.time_limit import TooSlow, time_limit
from nparam_lint.ground.values import Position

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nparam_lint.discover.scan import FileFacts
    from nparam_lint.discover.source_tree import SourceTree
    from nparam_lint.gate.rules import Found
    from nparam_lint.ground.rule_catalogue import Rule

_UNREADABLE_BUDGET = "NPL002"


def lint_source(source: str, path: str) -> list[Finding]:
    """All static findings of one file that no comment silences, sorted by place, and its budgets
    that cannot be read. Its modules are the classes that it shows to be one itself. A source that
    cannot be parsed has no findings, and neither has one that cannot be about models."""
    if not is_hinted(source.encode("utf-8", "replace")):
        return []
    text = source.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    try:
        parsed = parse_text(path, text)
    except ValueError:  # half of a surrogate pair, a null byte
        return []
    findings = _findings(parsed, None, [_UNREADABLE_BUDGET, *source_codes()])
    return suppressions.apply(findings, lambda _: _encoded(text))


def _encoded(text: str) -> bytes:
    """As on disk: in the encoding that its first lines declare."""
    lines = io.BytesIO(text.encode("utf-8", "surrogateescape"))
    return text.encode(tokenize.detect_encoding(lines.readline)[0])


def lint_files(
    tree: SourceTree, files: Iterable[tuple[str, frozenset[str]]], timeout: float = 60.0
) -> list[Finding]:
    """The static findings of several files of a project, each given with its `modules`. `timeout`:
    seconds for one file."""
    findings: list[Finding] = []
    with rare_collection():
        for path, modules in files:
            facts = tree.facts(path)
            if facts.suspect is False or facts.problem is not None:
                continue
            source = tree.source(path)
            try:
                with time_limit(timeout):
                    findings += _findings(parse_source(path, source), modules, source_codes())
            except TooSlow:
                why = f"the rules took longer than the {timeout:g} s of --timeout"
                late = finding("NPL003", Position(path), f"not checked: {why}", "")
                findings.append(replace(late, timed_out=True))
    return findings


def scan_and_lint(path: str, source: bytes) -> FileFacts:
    """The facts of the file, and whether the rules may find something in it."""
    parsed = parse_source(path, source)
    subclasses = frozenset(item.qualname for item in parsed.facts.classes if item.bases)
    suspect = is_hinted(source) and bool(_findings(parsed, subclasses, source_codes()))
    return replace(parsed.facts, suspect=suspect)


def _findings(
    parsed: Parsed, modules: frozenset[str] | None, codes: Sequence[str]
) -> list[Finding]:
    if parsed.facts.problem is not None:
        return []
    file = source_file.SourceFile(parsed, modules)
    constants = values.Values(file)
    path = parsed.facts.path
    findings = []
    if _UNREADABLE_BUDGET in codes:
        for definition in file.declared:
            target = f"{path}::{definition.qualname}"
            for lines in definition.docstrings:
                for fault in parse_docstring(lines)[1]:
                    at = Position(path, fault.line, fault.column)
                    findings.append(finding(_UNREADABLE_BUDGET, at, fault.message, target))
        for problem in parsed.facts.unread:
            findings.append(finding(_UNREADABLE_BUDGET, problem.position, problem.message, ""))
    for code in codes:
        with suppress(RecursionError):  # expressions that are nested deeper than can be followed
            for target, (node, message, remedy) in _faults(RULES[code], file, constants):
                at = Position(path, *file.place(node))
                findings.append(finding(code, at, message, target, [remedy]))
    return sorted(findings, key=lambda f: (f.position.line, f.position.column, f.code))


def _faults(
    rule: Rule, file: source_file.SourceFile, constants: values.Values
) -> Iterator[tuple[str, Found]]:
    """What a rule finds, each with the class that it is about, if any."""
    if rule.check_file:
        yield from (("", fault) for fault in rule.check_file(file))
    if rule.check:
        for owner in file.module_classes:
            target = f"{file.parsed.facts.path}::{owner.qualname}"
            yield from ((target, fault) for fault in rule.check(owner, constants))
