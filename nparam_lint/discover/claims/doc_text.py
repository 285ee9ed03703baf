"""The parts of Markdown and reStructuredText in which counts are bound: comments, paragraphs,
tables, and numbers that may be counts. What is code is read as blanks, so that places stay."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from nparam_lint.discover.claims.count_words import UNIT_WORD, UNIT_WORDS
from nparam_lint.ground.paths import is_rest
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SUFFIX = r"(?:[kKMGT]i?B|[kKMBGT])"
# A count, not a part of a name (`ViT-B/16`), of another number, of a share or of a size (224×224).
COUNT = late_pattern(
    rf"""(?P<text>(?:(?:[~≈≤≥]|<=|>=|(?<=[\w(|,;:]\s)[<>](?=\s))\s?)?(?<![\w.,/+–—^×±-])
    (?:[0-9]{{1,3}}(?:[,_][0-9]{{3}})+|[0-9]+(?:\.[0-9]+)?(?:[eE]\+?[0-9]+)?)
    (?P<suffix>\s?{_SUFFIX}(?!\w))?
    (?P<spread>\s?(?:±|\+/-)\s?[0-9][0-9.,_]*\s?(?:%|{_SUFFIX}(?!\w))?)?)
    (?:[\s-](?P<word>{UNIT_WORD})\b)?
    (?![\w%]|\s?%|[.,/]+[0-9]|[-–—×][0-9])""",
    re.VERBOSE,
)
_UNIT = late_pattern(rf"[(\[]\s*(?:in\s+)?({_SUFFIX}|{UNIT_WORD}s?)\s*[)\]]")
_REST_COMMENT = late_pattern(r"^([ \t]*)\.\. (?=[nN])(.*(?:\n\1[ \t]+\S.*)*)", re.MULTILINE)
_CODE_SPAN = late_pattern(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_FRONT = "---"
_FENCE = late_pattern(r"[ \t>]*(```+(?![^\n]*`)|~~~+)")  # ```a``` is a code span
_PRE = late_pattern(r"<(/?)pre\b", re.IGNORECASE)
_ITEM = late_pattern(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")
_RULE = late_pattern(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_LITERAL = late_pattern(r"::[ \t]*$")
_NOT_AN_END = late_pattern(r"[^\n]")


class Comment(Struct, frozen=True):
    """`body`: what stands between the signs of a comment. `line`, `column` (from 1): where it
    begins; `last`: the line on which it ends, at offset `end`. `since`: the offset in its first
    line at which the comment before ends."""

    body: str
    line: int
    column: int
    last: int
    end: int
    since: int = 0


class GridCell(Struct, frozen=True):
    """What is seen of a cell, and its `source`, with the addresses of links, which begins at
    `line` and `column`."""

    text: str
    line: int
    column: int
    source: str = ""

    @property
    def span(self) -> tuple[int, int]:
        """The offsets of its source in its line."""
        return self.column - 1, self.column - 1 + len(self.source)


Table = list[list[GridCell]]  # its rows, the first of which are heads


def unit_of(text: str) -> str:
    """The suffix that a head of a column (`Params (M)`) or a word (`million`) means; "" if none."""
    unit = _UNIT.search(text)
    word = unit[1] if unit else text
    return UNIT_WORDS.get(word.lower().removesuffix("s"), word if unit else "")


def plain(text: str) -> str:
    """What is seen of a text of Markdown, and holds: no marks, no addresses, no tags, no footnotes,
    nothing that is struck out."""
    text = re.sub(r"\[\^[^\]]*\]|(?<!10)<sup>[^<]*</sup>|~~.*?~~", "", text)
    text = re.sub(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", text)
    text = re.sub(r"</?[a-zA-Z][^>]*>", "", text).replace("\\", "")
    text = re.sub(r"[`*]|(?<!\w)_+|_+(?!\w)", "", text)
    return " ".join(text.split())


class DocText:
    """A text of Markdown or reStructuredText: its `comments`, in their order, and its `lines`, in
    which code and comments are blanks. `front`: how many of these are its front matter."""

    def __init__(self, path: str, text: str) -> None:
        raw = [line.removesuffix("\r") for line in text.split("\n")]
        self.is_rest = is_rest(path)
        marks = [n for n, line in enumerate(raw, 1) if line.strip() == _FRONT]
        self.front = marks[1] if marks[:1] == [1] and len(marks) > 1 else 0
        text = "\n".join(_outside_of_code(raw, self.is_rest))
        firsts = [0, *(match.end() for match in re.finditer("\n", text))]  # of each line
        self.comments: list[Comment] = []
        parts: list[str] = []
        since = 0
        in_rest = ((*match.span(), match[2]) for match in _REST_COMMENT.finditer(text))
        for start, end, body in in_rest if self.is_rest else _html_comments(text):
            line, last = bisect_right(firsts, start), bisect_right(firsts, end)
            first, before = firsts[line - 1], max(since - firsts[line - 1], 0)
            self.comments.append(
                Comment(body, line, start - first + 1, last, end - firsts[last - 1], before)
            )
            parts += [text[since:start], _NOT_AN_END.sub(" ", text[start:end])]
            since = end
        self.lines = "".join([*parts, text[since:]]).split("\n")

    @cached_property
    def tables(self) -> list[Table]:
        """Those of Markdown."""
        return [*filter(None, (self.table_below(below[0] - 1) for below in self.paragraphs))]

    @cached_property
    def paragraphs(self) -> list[range]:
        """The numbers (from 1) of the lines of each paragraph."""
        blanks = [n for n, line in enumerate(self.lines, 1) if not line.strip()]
        between = zip([0, *blanks], [*blanks, len(self.lines) + 1], strict=True)
        return [range(low + 1, high) for low, high in between if low + 1 < high]

    def paragraph_below(self, line: int) -> range:
        """The numbers of the lines of the first paragraph below a line."""
        at = bisect_right(self.paragraphs, line, key=lambda lines: lines[-1])
        below = self.paragraphs[at] if at < len(self.paragraphs) else range(0)
        return range(max(below.start, line + 1), below.stop)

    def table_below(self, line: int) -> Table:
        """The table of Markdown that begins the first paragraph below a line; [] if none does."""
        head, *below = [*self.paragraph_below(line), 0]
        if not head or len(below) < 2 or not _RULE.fullmatch(self.lines[below[0] - 1]):
            return []
        rows = [head, *(n for n in below[1:-1] if "|" in self.lines[n - 1])]
        return [cells(self.lines[n - 1], n) for n in rows]

    def heads_at(self, line: int, at: int) -> tuple[GridCell, GridCell] | None:
        """Of an offset in a line of a table: the head of the column, and the first cell of the
        row."""
        for head, *below in self.tables:
            for row in below:
                for top, cell in zip(head, row, strict=False) if row[0].line == line else ():
                    start, end = cell.span
                    if start <= at < end:
                        return top, row[0]
        return None


def without_code_spans(text: str) -> str:
    """The same with blanks in their place."""
    return _CODE_SPAN.sub(lambda span: " " * len(span[0]), text)


def _html_comments(text: str) -> Iterator[tuple[int, int, str]]:
    """Where each begins and ends, and what is in it; `<!---` begins one, too. Those that begin in
    code, or are never closed, are none."""
    outside, end = without_code_spans(text), 0
    while (start := outside.find("<!--", end)) >= 0 and (last := text.find("-->", start + 4)) >= 0:
        end = last + 3
        yield start, end, text[start + 4 : last].strip("-")


def is_row(line: str) -> bool:
    """Whether a line is one of a table."""
    return line.lstrip().startswith("|") or line.count("|") > 1


def cells(line: str, number: int) -> list[GridCell]:
    """Those of a row of a table, which is this line of the text."""
    start = len(line) - len(line.lstrip()) + line.lstrip().startswith("|")
    ends = [m.start() for m in re.finditer(r"(?<!\\)\|", line) if m.start() >= start]
    if line.rstrip() and not (ends and ends[-1] == len(line.rstrip()) - 1):
        ends.append(len(line))
    starts = [start, *(end + 1 for end in ends[:-1])]
    return [cell(line[low:high], number, low) for low, high in zip(starts, ends, strict=True)]


def cell(source: str, number: int, start: int) -> GridCell:
    """That of a text of Markdown, which stands at an offset of a line."""
    return GridCell(plain(source), number, start + 1, source)


def _outside_of_code(lines: Sequence[str], is_rest: bool) -> Iterator[str]:
    """A block is code between fences, in `<pre>`, or where it is indented by four and more behind a
    blank line; what is indented below an item of a list belongs to that. In reStructuredText it is
    what is indented below `::`."""
    fence, base, code, is_pre = "", 0, False, False
    was_blank, was_literal = True, False
    for line in lines:
        mark = None if is_rest else _FENCE.match(line)
        pre = [] if is_rest or fence else _PRE.findall(line)
        if pre or is_pre:
            is_pre = not pre[-1] if pre else is_pre
            yield ""
            continue
        if fence or mark:
            if mark and not fence:
                fence = mark[1]
            elif mark and mark[1].startswith(fence):
                fence = ""
            yield ""
            continue
        if not line.strip():
            was_blank = True
            yield ""
            continue
        indent = len(line) - len(line.lstrip())
        if is_rest:
            code = indent > base and (code or was_literal)
            base = base if code else indent
            was_literal = not code and _LITERAL.search(line) is not None
        else:
            item = _ITEM.match(line)
            code = indent >= base + 4 and (code or was_blank)
            if not code:
                base = item.end() if item else base if indent >= base else 0
        was_blank = False
        yield "" if code else line
