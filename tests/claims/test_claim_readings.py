"""What is read of each text in the books `readings/`: budgets, counts, and what is wrong."""

from __future__ import annotations

import re

import pytest
from case_books import Case, ProjectBook, cases_beside

from nparam_lint.discover.claims.doc_comments import parse_docs
from nparam_lint.discover.claims.docstring_budgets import find_stray, parse_docstring
from nparam_lint.discover.claims.prose import split_claims
from nparam_lint.discover.claims.stated import stated_counts
from nparam_lint.ground.values import DocLine

Said = list[tuple[int, int, str]]  # by line and column


def budgets_in(text: str) -> Said:
    """What is read, what is refused, and else what is a claim inside a line."""
    lines = text.split("\n")
    doc = [DocLine(line, n, 8 if n == 1 else 1) for n, line in enumerate(lines, 1)]
    declared, malformed = parse_docstring(doc)
    said = [(fault.line, fault.column, fault.message) for fault in malformed]
    for one in declared:
        called = "" if one.arguments is None else f"({one.arguments})"
        inside = f"(in {one.host})" if one.host else ""
        what = f"[{one.selector}]" * bool(str(one.selector))
        said.append((one.line, one.column, f"nparam{called}{inside}{what}: {one.value.text}"))
    for number, line in enumerate(lines if not said else (), 1):
        if stray := find_stray(line):
            assert line[stray.offset :].startswith(stray.text)
            what = f"stray `{stray.text}`, as in `{stray.line}`"
            said.append((number, stray.offset + 1, what))
    return sorted(said)


def docstring(_: str, text: str) -> Said:
    """No budget below it is swallowed."""
    assert budgets_in(f"{text}\n\nnparam: 7")[-1][2] == "nparam: 7"
    return budgets_in(text)


def prose(_: str, text: str) -> Said:
    lines = [DocLine(line, number, 5) for number, line in enumerate(text.split("\n"), 1)]
    claims, _ = split_claims(lines)
    assert all(" ".join(claim.text.split()) in " ".join(text.split()) for claim in claims)
    return [(one.line, one.column, f"[{one.selector}] {one.value.text}") for one in claims]


def comments(path: str, text: str) -> Said:
    found, faults = parse_docs(path, text)
    said = [(one.line, one.column, one.message) for one in faults]
    for one in found:
        selector = f"[{one.selector}]" if str(one.selector) else ""
        said.append((one.line, one.column, f"{one.target}{selector} {one.value.text}"))
    return sorted(said)


def sources(path: str, text: str) -> Said:
    said = []
    for one in stated_counts(path, text.encode()):
        names = " | ".join(" ".join(name.split()) for name in one.names[:2])
        said.append((one.line, one.column, f"{one.value.text} [{one.selector}] {names}".rstrip()))
    return said


READ = {"docstrings": docstring, "prose": prose, "comments": comments, "sources": sources}


@pytest.mark.parametrize(("book", "case"), cases_beside(__file__, "readings"))
def test_what_is_read_of_claims(
    book: ProjectBook, case: Case, request: pytest.FixtureRequest
) -> None:
    ((path, content),) = case.files.items()
    said = READ[book.path.stem](path, content.decode().removesuffix("\n"))
    lines = [f"{line}:{column} {what}" for line, column, what in said]
    # What the parser of Python says, it changes.
    text = re.sub(r"(?m) a Python call: .*", " a Python call", "\n".join(lines))
    book.check(case.number, text or "nothing", update=request.config.getoption("update"))
