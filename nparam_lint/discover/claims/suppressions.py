"""`# nparam: ignore[NPL101]`: comments that silence findings on their line, and those left unused.

In a docstring, which can hold no comment, the line on which the docstring ends counts for all of
its lines. In TOML the comment stands on the line of the key; in Markdown it is one of HTML.
"""

from __future__ import annotations

import io
import re
import tokenize
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct, field

from nparam_lint.discover.claims.doc_text import DocText
from nparam_lint.ground.config_outline import comment_sign
from nparam_lint.ground.findings import finding
from nparam_lint.ground.nearest import did_you_mean
from nparam_lint.ground.paths import is_doc
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.rule_catalogue import RULES
from nparam_lint.ground.values import Position

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from nparam_lint.ground.findings import Finding

_IGNORE = r"\s*nparam:\s*ignore\b(?:\[([^\]#]*)\])?"
_COMMENT = late_pattern(f"#{_IGNORE}")
_HINT = late_pattern(rb"nparam:\W*ignore")  # which nearly no file holds
UNUSED = "NPL015"


class _Comment(Struct):
    """A comment at `position`, which holds for `lines`; `hits`: codes that silenced something."""

    position: Position
    lines: Collection[int]
    codes: tuple[str, ...]
    hits: set[str] = field(default_factory=set)


def apply(
    findings: Iterable[Finding],
    reader: Callable[[str], bytes],
    files: Collection[str] = (),
    is_complete: Callable[[str], bool] = lambda _: False,
    not_judged: Collection[tuple[str, int]] = (),
) -> list[Finding]:
    """The findings that no comment silences, and NPL015 for each comment in `files` that silences
    nothing. `reader` gives a file's content or raises OSError. `is_complete`: whether all findings
    of a code are among these: a run that builds no models cannot call a comment about them unused.
    `not_judged`: path and line of the budgets that the run is not about.
    """
    findings = list(findings)
    paths = {*files, *(f.position.path for f in findings)}
    comments = {path: list(_comments(path, reader)) for path in paths}
    standing = []
    for item in findings:
        silencing = [
            comment
            for comment in comments[item.position.path]
            if item.position.line in comment.lines and item.code in comment.codes
        ]
        for comment in silencing:
            comment.hits.add(item.code)
        if not silencing:
            standing.append(item)
    for path in files:
        for comment in comments[path]:
            if not any((path, line) in not_judged for line in comment.lines):
                standing += _faults(comment, is_complete)
    return standing


def _faults(comment: _Comment, is_complete: Callable[[str], bool]) -> Iterator[Finding]:
    messages = []
    if not comment.codes:
        messages = ["the comment names no code; expected one such as # nparam: ignore[NPL010]"]
    for code in comment.codes:
        if code not in RULES:
            messages.append(f"there is no rule {code!r} to ignore{did_you_mean(code, RULES)}")
        elif code not in comment.hits and is_complete(code):
            messages.append(f"this line has no {code}, so there is nothing to ignore")
    for message in messages:
        yield finding(UNUSED, comment.position, message, "", [RULES[UNUSED].remedy])


def _comments(path: str, reader: Callable[[str], bytes]) -> Iterator[_Comment]:
    try:
        content = reader(path)
    except OSError:
        return
    if not _HINT.search(content):
        return
    text = content.decode("utf-8", "replace")
    rows: Iterable[tuple[str, int, int, Collection[int]]] = ()
    if is_doc(path):
        for html in DocText(path, text).comments:
            if match := re.match(_IGNORE, html.body):
                yield _Comment(Position(path, html.line, html.column), (html.line,), _codes(match))
    elif path.endswith(".py"):
        rows = _python_comments(content)
    else:
        numbered = enumerate(text.splitlines(), 1)
        signs = ((line, n, comment_sign(line)) for n, line in numbered if "nparam" in line)
        rows = ((line[s.start() :], n, s.start(), (n,)) for line, n, s in signs if s)
    for comment, line, column, lines in rows:
        for match in _COMMENT.finditer(comment):
            at = Position(path, line, column + match.start() + 1)
            yield _Comment(at, lines, _codes(match))


def _python_comments(content: bytes) -> Iterator[tuple[str, int, int, range]]:
    """Each with its line, its column from 0, and the lines that it holds for. A string that
    contains such text is no comment."""
    ends: dict[int, int] = {}  # the line on which texts of several lines end → the first of it
    with suppress(SyntaxError, tokenize.TokenError):  # reported as such elsewhere
        for token in tokenize.tokenize(io.BytesIO(content).readline):
            line, column = token.start
            if token.type == tokenize.STRING and line < token.end[0]:
                ends[token.end[0]] = line
            elif token.type == tokenize.COMMENT:
                yield token.string, line, column, range(ends.get(line, line), line + 1)


def _codes(match: re.Match[str]) -> tuple[str, ...]:
    return tuple(code.strip() for code in (match[1] or "").split(",") if code.strip())
