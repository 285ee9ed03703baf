"""Counts in CSV files with a column of them."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from nparam_lint.discover.claims.stated.tables import GridCell, counts_in_table

if TYPE_CHECKING:
    from collections.abc import Iterator

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
            number, at, cells = reader.line_num, 0, []
            line = lines[number - 1] if number <= len(lines) else ""
            for cell in row:
                at = max(line.find(cell, at), 0)
                cells.append(GridCell(cell, number, at + 1, cell))
                at += len(cell)
            rows.append(cells)
            if len(rows) > _MOST:
                return
    except csv.Error:
        return
    yield from counts_in_table(rows)
