"""Counts in the tables and the text of LaTeX."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nparam_lint.discover.claims.doc_text import GridCell
from nparam_lint.discover.claims.stated.sentences import counts_in_paragraphs
from nparam_lint.discover.claims.stated.tables import counts_in_table
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.values import DocLine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.discover.claims.stated import StatedCount

_TABULAR = late_pattern(r"\\begin\{(tabular[xy*]?|longtable)\}(.*?)(?:\\end\{\1\}|\Z)", re.DOTALL)
_COMMENT = late_pattern(r"(?<!\\)%.*")
_RULES = late_pattern(
    r"\\(?:hline|toprule|midrule|bottomrule|cmidrule\S*|cline\S*|specialrule\S*|addlinespace\S*)"
)
_COLOUR = late_pattern(r"\\(?:row|cell|text)?color(?:\[[^\]]*\])?\{[^{}]*\}")
_WRAPPER = late_pattern(r"\\[a-zA-Z]+\*?(?:\[[^\]]*\])?\{([^{}]*)\}")
_COMMAND = late_pattern(r"\\[a-zA-Z]+\*?\s?")
_SPACE = late_pattern(r"\\[,;:!> ]")
_RAISED = late_pattern(  # but for the 6 of `10^6`
    r"\\textsuperscript\{[^{}]*\}|(?<![0-9])\^(?:\{[^{}]*\}|\\[a-zA-Z]+|\w)"
)
_COLUMNS = late_pattern(r"\\multicolumn\{\s*([0-9]{1,2})\s*\}")
_ROW = late_pattern(r"\\\\(?:\[[^\]]*\])?|\\tabularnewline\b")
_CELL = late_pattern(r"(?<!\\)&")


def stated_counts(path: str, text: str) -> Iterator[StatedCount]:
    text = _COMMENT.sub(lambda match: " " * len(match[0]), text)
    for table in _TABULAR.finditer(text):
        rows = []
        for row, at in _parts(_ROW, table[2], table.start(2)):
            cells = []
            for cell, start in _parts(_CELL, row, at):
                columns = _COLUMNS.search(cell)
                cells += [_cell(text, start, cell)] * (int(columns[1]) if columns else 1)
            if any(cell.text for cell in cells):
                rows.append(cells)
        if rows:  # what defines the columns stands before the first cell
            first = rows[0][0]
            rows[0][0] = GridCell(first.text.rpartition("}")[2].strip(), first.line, first.column)
        yield from counts_in_table(rows)
    outside = _TABULAR.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    lines = [DocLine(_blanked(line), n, 1) for n, line in enumerate(outside.split("\n"), 1)]
    yield from counts_in_paragraphs(lines)


def _parts(sign: re.Pattern[str], text: str, at: int) -> Iterator[tuple[str, int]]:
    start = 0
    for match in sign.finditer(text):
        yield text[start : match.start()], at + start
        start = match.end()
    yield text[start:], at + start


def _seen(cell: str) -> str:
    """What is seen of a cell."""
    cell = _RAISED.sub("", _SPACE.sub(" ", _RULES.sub(" ", cell)))
    cell = _COLOUR.sub("", cell)
    cell = re.sub(r"\\multi(?:column|row)\{[^{}]*\}\{[^{}]*\}", r"\\multi", cell)
    for _ in range(4):  # commands around commands
        cell = _WRAPPER.sub(r"\1", cell)
    cell = re.sub(r"\\([#%&_$])", r"\1", cell)
    cell = _COMMAND.sub("", cell)
    return " ".join(re.sub(r"[${}~]", " ", cell).split())


def _blanked(line: str) -> str:
    """A line of text with blanks in place of commands, so that places stay."""
    return re.sub(r"\\[a-zA-Z]+\*?|\\[,;:!>]|[\\${}~]", lambda match: " " * len(match[0]), line)


def _cell(text: str, start: int, source: str) -> GridCell:
    """The cell at an offset; its place is that of its first digit, as it may begin lines above."""
    first = re.search("[0-9]", source)
    skipped = first.start() if first else 0
    at = start + skipped
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    return GridCell(_seen(source), line, column, source[skipped:])
