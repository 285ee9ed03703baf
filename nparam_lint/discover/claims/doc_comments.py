"""Counts in Markdown and reStructuredText that comments bind to models, and where they stand.

    It has 86.6M <!-- nparam: vit.py::vit_b_16 --> parameters.

    <!-- nparam: Params = vit.py::{Model} -->
    | Model    | Params |
    |----------|--------|
    | vit_b_16 | 86.6M  |

What begins like such a comment and cannot be read is returned as malformed, never skipped.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from nparam_lint.discover.claims.doc_text import (
    COUNT,
    DocText,
    is_row,
    plain,
    unit_of,
    without_code_spans,
)
from nparam_lint.discover.claims.docstring_budgets import Malformed
from nparam_lint.ground.nearest import did_you_mean
from nparam_lint.ground.notation import TextError, parse_selected
from nparam_lint.ground.notation.grammar import parse_value
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from nparam_lint.discover.claims.doc_text import Comment, GridCell
    from nparam_lint.ground.notation import Selector, Target
    from nparam_lint.ground.notation.grammar import Value

_WORD = late_pattern(r"[\W_]*(n[-_]?param(?:eter)?s?)(?![-\w.])\s*(:{0,2})\s*", re.IGNORECASE)
# Outside of comments: the word with a number or a target, in whatever marks.
_STRAY = late_pattern(
    r"""(?<![\w-])nparam\s*(?:\([^()]*\)\s*|\[[^\[\]]*\]\s*)?:\s*(?=\S)
    (?:[^\w\n]*[0-9]|(?:\w[^=|\n]{0,80}=\s*)?[\w./{}-]+::[\w{]).*""",
    re.VERBOSE,
)
_NOTE = late_pattern(r"\[\^[^\]]*\]|<sup>.*?</sup>")
_IGNORES = late_pattern(r"ignore\b")
_COLUMN = late_pattern(r"(?P<name>(?:(?!::)[^=])*)=(?P<target>.*)")
_NONE = "-"  # the target of a row that is not checked
_UNIT = late_pattern(r"(?<!\s)\s*[(\[][^()\[\]]*[)\]]$")
_PLACEHOLDER = late_pattern(r"\{([^{}]*)\}")
_UNCHECKED = "next: write `ROW = -` into the comment, if it is not to be checked"
_SEVERAL = "next: put the comment directly behind the number that it is about"


class Bound(Struct, frozen=True):
    """A number that is bound to a target; `line` and `column` (from 1) are those of its first
    character. `unit`: the end of its value that does not stand there, from the head of the column
    (`Params (M)`) or the word behind it (`million`)."""

    target: Target
    selector: Selector
    value: Value
    unit: str
    line: int
    column: int


class _Fault(Exception):
    """What was found and expected; at the comment, where no place is given."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.line, self.column = line, column


def parse_docs(path: str, text: str) -> tuple[list[Bound], list[Malformed]]:
    """Every number of a file that a comment binds, and every comment that cannot be read."""
    doc = DocText(path, text)
    ours = [
        (comment, word)
        for comment in doc.comments
        if (word := _WORD.match(comment.body)) and not _IGNORES.match(comment.body, word.end())
    ]
    places = {(comment.line, comment.column) for comment, _ in ours}
    numbers: list[Bound] = []
    faults: list[Malformed] = []
    for comment, word in ours:
        about = replace(comment, body=comment.body[word.end() :])
        first, *rows = about.body.strip().split("\n")
        is_of_table = bool(rows) or _COLUMN.match(first) is not None
        items: list[Bound | _Fault]
        try:
            if word[1] != "nparam" or not word[2]:
                raise _Fault(f"found `{word[0].strip()}`, expected `nparam: TARGET`")
            items = [*_in_table(about, doc, places)] if is_of_table else [_in_text(about, doc)]
        except _Fault as fault:
            items = [fault]
        for item in items:
            if isinstance(item, Bound):
                numbers.append(item)
            else:
                at = (item.line or comment.line, item.column or comment.column)
                faults.append(Malformed(str(item), *at))
    for number, line in enumerate(without_code_spans("\n".join(doc.lines)).split("\n"), 1):
        if stray := _STRAY.search(line):
            sign = ".. nparam: TARGET" if doc.is_rest else "<!-- nparam: TARGET -->"
            message = f"found `{stray[0].rstrip()}` outside of a comment, expected `{sign}`"
            faults.append(Malformed(message, number, stray.start() + 1))
    return numbers, faults


# --- a number in a line or a paragraph --------------------------------------------------------


def _in_text(comment: Comment, text: DocText) -> Bound:
    """The nearest number before the comment in its line; else the only one that follows in it or,
    where the comment stands alone, in the paragraph below."""
    lines = text.lines
    before = [*COUNT.finditer(lines[comment.line - 1], comment.since, comment.column - 1)]
    if before:
        is_in_row = is_row(lines[comment.line - 1])
        heads = text.heads_at(comment.line, before[-1].start()) if is_in_row else None
        unit = unit_of(heads[0].text) if heads else ""
        return _bound(comment.body, before[-1], comment.line, unit)
    last = lines[comment.last - 1]
    after = last[comment.end :]
    if after.strip(" |*_"):
        end = comment.end + len(after.partition("|")[0])
        where = "the line"
        numbers = [(comment.last, match) for match in COUNT.finditer(last, comment.end, end)]
    else:
        below = text.paragraph_below(comment.last)
        if below and is_row(lines[below[0] - 1]):
            expected = "expected `nparam: COLUMN = TARGET` above a table"
            raise _Fault(f"found `{comment.body.strip()}`, {expected}")
        where = "the paragraph below"
        numbers = [(n, m) for n in below for m in COUNT.finditer(lines[n - 1])]
    if not numbers:
        raise _Fault(f"found no number before the comment in its line, and none in {where}")
    if len(numbers) > 1:
        texts = ", ".join(match[0].strip() for _, match in numbers[:5])
        raise _Fault(f"found several numbers in {where} ({texts}), expected one; {_SEVERAL}")
    ((line, number),) = numbers
    return _bound(comment.body, number, line)


def _bound(target: str, number: re.Match[str], line: int, unit: str = "") -> Bound:
    """The number as a budget. Raises _Fault for a target or a number that cannot be read."""
    try:
        about, selector = parse_selected(target)
    except TextError as error:
        raise _Fault(error.message) from None
    text, column = number["text"], number.start("text") + 1
    # A suffix or a word of its own says more than the head of the column.
    unit = unit_of(number["word"] or "") or ("" if number["suffix"] else unit)
    if unit and number["spread"]:
        text = text.removesuffix(number["spread"]) + unit + number["spread"]
        unit = ""  # it stands in the middle: the number is not rewritten
    try:
        value = parse_value(f"{text}{unit}", selector.metric)
    except TextError as error:
        raise _Fault(error.message, line, column) from None
    return Bound(about, selector, value, unit, line, column)


# --- a column of a table ----------------------------------------------------------------------


def _in_table(
    comment: Comment, text: DocText, places: Collection[tuple[int, int]]
) -> Iterator[Bound | _Fault]:
    """The numbers of one column. The comment's first line names it, and says what the target of
    a row is, with `{HEAD}` for its cell in another column; each further line has the text of a
    row's first cell, and its target, or `-` if the row is not checked. `places`: those of all
    comments."""
    head, *more = (line.strip() for line in comment.body.strip().split("\n"))
    table = text.table_below(comment.last)
    if not table:
        raise _Fault("found no table of Markdown below the comment, expected one")
    top, *below = table
    match = _COLUMN.match(head)
    name, template = (match["name"].rstrip(), match["target"].strip()) if match else (head, _NONE)
    heads = [cell.text for cell in top]
    column = _place(name, heads, "column")
    _filled(template, heads, top)  # a column that does not exist is said once
    firsts = [row[0].text for row in below]
    rows: dict[str, str] = {}
    for line in filter(None, more):
        first, sign, target = line.partition("=")
        if not sign or not target.strip():
            raise _Fault(f"found `{line}`, expected `ROW = TARGET`")
        rows[plain(first)] = target.strip()
    targets = {_place(first, firsts, "row"): target for first, target in rows.items()}
    for at, row in enumerate(below):
        if len(row) <= column:
            continue
        cell = row[column]
        number, (start, end), source = cell.line, cell.span, cell.source
        if any((number, n) in places for n in range(start + 1, end + 1)):
            continue  # it has a comment of its own
        try:
            target = targets.get(at) or _filled(template, heads, row)
            if target == _NONE:
                continue
            counts = [*COUNT.finditer(text.lines[number - 1], start, end)]
            if not counts and re.search("[0-9]", _NOTE.sub("", source)):
                raise _Fault(f"found `{source.strip()}`, expected one count; {_UNCHECKED}")
            if len(counts) > 1:
                texts = ", ".join(count[0].strip() for count in counts)
                message = f"found several numbers in the cell ({texts}), expected one"
                raise _Fault(f"{message}; {_SEVERAL}")
            for count in counts:  # none where it says `–`
                yield _bound(target, count, number, unit_of(heads[column]))
        except _Fault as fault:
            begin = end - len(source.lstrip()) + 1
            yield fault if fault.line else _Fault(str(fault), number, begin)


def _filled(template: str, heads: Sequence[str], row: Sequence[GridCell]) -> str:
    def cell(match: re.Match[str]) -> str:
        column = _place(match[1], heads, "column")
        return row[column].text if column < len(row) else ""

    return _PLACEHOLDER.sub(cell, template)


def _place(name: str, names: Sequence[str], what: str) -> int:
    """Where a column or a row of this name is; what stands in brackets at its end, as a unit, may
    be left out. Raises _Fault where there is none, or more than one."""
    name = plain(name)
    for spelled in (names, [_UNIT.sub("", text) for text in names]):
        places = [i for i, text in enumerate(spelled) if text.lower() == name.lower()]
        if len(places) == 1:
            return places[0]
        if places:
            raise _Fault(f"the table has {len(places)} {what}s {name!r}, expected one")
    hint = did_you_mean(name, names, f"it has: {', '.join(names[:8])}", cutoff=0.5)
    raise _Fault(f"the table has no {what} {name!r}{hint}")
