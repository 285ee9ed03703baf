"""Counts in CSV files with a column of them."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from nparam_lint.discover.claims.doc_text import GridCell
from nparam_lint.discover.claims.stated.tables import counts_in_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.discover.claims.stated import StatedCount

_MOST = 5000  # rows: a longer table is data


def stated_counts(path: str, text: str) -> Iterator[StatedCount]:
    head, _, _ = text.partition("\n")
    separator = max("\t;,", key=head.count)
    rows: list[list[GridCell]] = []
    lines = text.split("\n")
    try:
        reader = csv.reader(io.StringIO(text), delimiter=separator)
        for row in reader:
            number = reader.line_num
            rows.append(_placed(row, lines[number - 1] if number <= len(lines) else "", number))
            if len(rows) > _MOST:
                return
    except csv.Error:
        return
    yield from counts_in_table(rows)


def cells_of_csv(line: str, number: int, start: int) -> list[GridCell]:
    """Those of one line, from an offset on; of what is not CSV none."""
    try:
        row = next(csv.reader([line[start:]], skipinitialspace=True), [])
    except csv.Error:
        return []
    return _placed(row, line, number, start)


def _placed(row: Sequence[str], line: str, number: int, start: int = 0) -> list[GridCell]:
    at, cells = start, []
    for cell in row:
        at = max(line.find(cell, at), 0)
        cells.append(GridCell(cell, number, at + 1, cell))
        at += len(cell)
    return cells
