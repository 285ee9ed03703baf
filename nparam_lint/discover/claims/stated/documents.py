"""Counts in Markdown, reStructuredText and HTML: tables, sentences, front matter of model cards."""

from __future__ import annotations

import re
from contextlib import suppress
from html.parser import HTMLParser
from typing import TYPE_CHECKING

from nparam_lint.discover.claims.doc_text import DocText, GridCell, cell, cells, is_row, plain
from nparam_lint.discover.claims.stated.config_keys import counts_in_keys
from nparam_lint.discover.claims.stated.result_tables import cells_of_csv
from nparam_lint.discover.claims.stated.sentences import counts_in_text
from nparam_lint.discover.claims.stated.tables import counts_in_table
from nparam_lint.ground.paths import is_doc
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.values import DocLine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.discover.claims.stated import StatedCount

_HEADING = late_pattern(r"\s{0,3}(#{1,6})\s+(.+?)\s*#*\s*$")
_UNDERLINE = late_pattern(r"([=\-~^\"'+*#])\1{2,}\s*$")
_RULE = late_pattern(
    r"\s*(?:\|?[\s:|+=-]*-{2,}[\s:|+=-]*|\+[-=+]+\+|\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)+\|?)\s*$"
)
_UNSEEN = late_pattern(  # emphasis, but no product: `2 * 7M`, `2*7M`
    r"""\]\([^)]{0,2000}\)|~~.{0,2000}?~~|<[^>]{0,2000}>|`
    |(?<![\w)*])\*{1,3}(?=[^\s*])|(?<=[^\s*])\*{1,3}(?![\w(*])
    |(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)""",
    re.VERBOSE,
)
_BADGE = late_pattern(
    r"""(?:\]\([^)\s]{0,99}|<img\b[^>]{0,200})/badge/[^-)\s/]{0,40}?param(?:eter)?s?-(?P<number>[0-9.]+[kmb]?)-
    (?:[^)\s]{0,200}\)|[^>]{0,200}>)""",
    re.IGNORECASE | re.VERBOSE,
)
_LEVELS = {"=": 1, "-": 2}  # of headings that are underlined
_SIMPLE = late_pattern(r"\s*=+(?:\s+=+)+\s*$")
_MOST_COLUMNS = 200
_DIRECTIVE = late_pattern(r"([ \t]*)\.\. (list|csv)-table::")
_LIST_ITEM = late_pattern(r"([ \t]*(?:[*+-][ \t]+)?[*+-](?:[ \t]+|$))(.*)")
# A line that is a heading in all but its sign.
_BOLD_LINE = late_pattern(r"\s*(?:\*\*([^*|]{2,80})\*\*:?|<summary>([^<|]{2,80})</summary>)\s*")
_BELOW_ALL = 7  # as a level of headings
_CSV_HEAD = late_pattern(r"[ \t]*:header:[ \t]*")


def stated_counts(path: str, text: str) -> Iterator[StatedCount]:
    if not is_doc(path):
        yield from _html_tables(text)
        return
    raw = [line.removesuffix("\r") for line in text.split("\n")]
    doc = DocText(path, text)
    lines = [line.replace("\r", "") for line in doc.lines]
    if doc.front:
        yield from counts_in_keys(raw[: doc.front - 1])
        lines[: doc.front] = [""] * doc.front
    headings = _headings(lines)
    for first, last, rows in _directives(raw) if doc.is_rest else ():
        yield from counts_in_table(rows, headings[first])
        lines[first:last] = [""] * (last - first)
    number = 0
    while number < len(lines):
        stop = number + 1
        if _SIMPLE.match(lines[number]):
            stop = _simple_end(lines, number)
            yield from counts_in_table(_simple_rows(lines, number, stop), headings[number])
        elif _is_table(lines, number):
            while stop < len(lines) and (
                "|" in lines[stop] or _RULE.match(lines[stop]) or _is_group(lines, stop)
            ):
                stop += 1
            rows = [
                cells(lines[n], n + 1)
                for n in range(number, stop)
                if lines[n].strip()
                and not (_RULE.match(lines[n]) or _BOLD_LINE.fullmatch(lines[n]))
            ]
            yield from counts_in_table(_filled_up(rows), headings[number])
        elif lines[number].strip():
            heading = _HEADING.match(lines[number])
            if heading:
                lines[number] = lines[number].replace("#", " ", len(heading[1]))
            while (
                not heading
                and stop < len(lines)
                and lines[stop].strip()
                and not (_is_table(lines, stop) or _HEADING.match(lines[stop]))
            ):
                stop += 1
            part = [DocLine(_seen(lines[n]), n + 1, 1) for n in range(number, stop)]
            yield from counts_in_text(part, headings[number])
        number = stop
    if "<t" in text:
        yield from _html_tables("\n".join(lines))


def _is_table(lines: Sequence[str], number: int) -> bool:
    """Whether a table begins on a line: one of two columns needs no sign at its ends."""
    line, following = lines[number], lines[number + 1] if number + 1 < len(lines) else ""
    if line.count("|") > _MOST_COLUMNS:
        return False
    is_head = "|" in line and "|" in following and _RULE.match(following) is not None
    return is_head or is_row(line) or line.lstrip().startswith("+-")


def _is_group(lines: Sequence[str], number: int) -> bool:
    """Whether a line stands over some rows of a table, which goes on below it."""
    below = lines[number + 1] if number + 1 < len(lines) else ""
    return _BOLD_LINE.fullmatch(lines[number]) is not None and "|" in below


def _filled_up(rows: Sequence[Sequence[GridCell]]) -> list[list[GridCell]]:
    """Rows that lack cells at their ends, which are empty."""
    width = max((len(row) for row in rows[:1]), default=0)
    return [[*row, *[GridCell("", row[0].line, 1)] * (width - len(row))] for row in rows]


def _headings(lines: Sequence[str]) -> list[tuple[str, ...]]:
    """For each line the headings that it stands below, nearest first; of "RepViT: a mobile CNN" the
    name, too."""
    open_headings: list[tuple[int, str]] = []
    above: list[tuple[str, ...]] = []
    for n, line in enumerate(lines):
        level, heading = 0, ""
        if match := _HEADING.match(line):
            level, heading = len(match[1]), plain(match[2])
        elif n and (rule := _UNDERLINE.match(line)) and "|" not in lines[n - 1]:
            level, heading = _LEVELS.get(rule[1], 3), plain(lines[n - 1])
        elif match := _BOLD_LINE.fullmatch(line):
            level, heading = _BELOW_ALL, plain(match[1] or match[2])
        elif "</details>" in line and open_headings and open_headings[-1][0] == _BELOW_ALL:
            open_headings.pop()
            above.append(tuple(text for _, text in reversed(open_headings)))
            continue
        if heading:
            open_headings = [h for h in open_headings if h[0] < level] + [(level, heading)]
            texts = [text for _, text in reversed(open_headings)]
            names = (text.partition(":")[0] for text in texts if ":" in text)
            above.append((*texts, *names))
        else:
            above.append(above[-1] if above else ())
    return above


def _seen(line: str) -> str:
    """A line of text, in which addresses of links and marks are blanks, so that places stay; of a
    badge it shows what that does, `params: 1.9M`."""

    def shown(badge: re.Match[str]) -> str:
        at, end = badge.start("number") - badge.start(), badge.end() - badge.start("number")
        return f"{'; params:':>{at}}{badge['number']:{end}}"

    line = _BADGE.sub(shown, line)
    return _UNSEEN.sub(lambda m: " " * len(m[0]), line)


def _directives(lines: Sequence[str]) -> Iterator[tuple[int, int, list[list[GridCell]]]]:
    """The tables that directives of reStructuredText write as lists and as CSV; each with its first
    line and the one behind its last."""
    for first, line in enumerate(lines):
        if (directive := _DIRECTIVE.match(line)) is None:
            continue
        depth, last = len(directive[1]), first + 1
        while last < len(lines) and re.match(rf"[ \t]{{{depth + 1}}}|[ \t]*$", lines[last]):
            last += 1
        rows: list[list[GridCell]] = []
        for number, text in enumerate(lines[first + 1 : last], first + 2):
            if directive[2] == "list":
                item = _LIST_ITEM.match(text)
                if item and item[1].split()[1:]:  # `* - `, a new row
                    rows.append([])
                if item and rows:
                    rows[-1].append(cell(item[2], number, item.end(1)))
            elif (head := _CSV_HEAD.match(text)) or not text.lstrip().startswith(":"):
                rows.append(cells_of_csv(text, number, head.end() if head else 0))
        yield first, last, [row for row in rows if row]


def _simple_end(lines: Sequence[str], start: int) -> int:
    rules = [n for n in range(start, len(lines)) if _SIMPLE.match(lines[n])]
    inside = [n for n in rules[:3] if all(lines[k].strip() for k in range(start, n))]
    return inside[-1] + 1 if inside else start + 1


def _simple_rows(lines: Sequence[str], start: int, stop: int) -> list[list[GridCell]]:
    """Those of a simple table of reStructuredText, whose columns the first line draws."""
    spans = [match.start() for match in re.finditer("=+", lines[start])]
    ends = [*spans[1:], None]
    return [
        [cell(lines[n][low:high], n + 1, low) for low, high in zip(spans, ends, strict=True)]
        for n in range(start, stop)
        if not _SIMPLE.match(lines[n])
    ]


class _Tables(HTMLParser):
    """The tables of some HTML; what is never closed ends with the text."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[list[list[GridCell]]] = []
        self.text: list[str] | None = None
        self.place = (1, 1)
        self.span = (1, 1)  # rows and columns of the open cell
        self.spanning: dict[int, tuple[int, GridCell]] = {}  # of a column: rows to come, the cell

    def handle_starttag(self, tag: str, attributes: Sequence[tuple[str, str | None]]) -> None:
        if tag == "table":
            self._end_cell()
            self.tables.append([])
            self.spanning = {}
        elif tag == "br" and self.text is not None:
            self.text.append(" ")
        elif tag == "tr" and self.tables:
            self._end_cell()
            self.tables[-1].append([])
            self._add_spanning()
        elif tag in ("td", "th") and self.tables:
            self._end_cell()
            if not self.tables[-1]:  # a head without a row around it
                self.tables[-1].append([])
            self.text = []
            given = dict(attributes)
            rows, columns = (given.get(name) or "1" for name in ("rowspan", "colspan"))
            self.span = _span(rows), _span(columns)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th", "tr", "table"):
            self._end_cell()

    def handle_data(self, data: str) -> None:
        if self.text is not None:
            if not "".join(self.text).strip():
                line, offset = self.getpos()
                blank = len(data) - len(data.lstrip())
                skipped = data[:blank]
                newline = skipped.rfind("\n")
                self.place = (
                    line + skipped.count("\n"),
                    (offset + blank if newline < 0 else blank - newline - 1) + 1,
                )
            self.text.append(data)

    def _end_cell(self) -> None:
        if self.text is not None:
            text = plain(" ".join("".join(self.text).split()))
            cell, row, (rows, columns) = GridCell(text, *self.place), self.tables[-1][-1], self.span
            self.text = None
            for _ in range(columns):
                if rows > 1:
                    self.spanning[len(row)] = rows - 1, cell
                row.append(cell)
            self._add_spanning()

    def _add_spanning(self) -> None:
        """The cells of rows above that go on at the end of the last row."""
        row = self.tables[-1][-1]
        while len(row) in self.spanning:
            rows, cell = self.spanning.pop(len(row))
            if rows > 1:
                self.spanning[len(row)] = rows - 1, cell
            row.append(cell)


def _span(text: str) -> int:
    return min(int(text), _MOST_COLUMNS) if text.isdecimal() else 1


def _html_tables(text: str) -> Iterator[StatedCount]:
    parser = _Tables()
    with suppress(AssertionError):  # so it tells of a declaration that is none
        parser.feed(text)
        parser.close()
    for rows in parser.tables:
        yield from counts_in_table(rows)
