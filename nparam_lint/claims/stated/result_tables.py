"""Counts in CSV files with a column of them."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from nparam_lint.claims.stated.tables import GridCell, counts_in_table
from nparam_lint.claims.stated.words import head_unit, key_unit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.claims.stated import StatedCount

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
                cells.append(GridCell(_head(cell) if not rows else cell, number, at + 1, cell))
                at += len(cell)
            rows.append(cells)
            if len(rows) > _MOST:
                return
    except csv.Error:
        return
    yield from counts_in_table(rows)


def _head(cell: str) -> str:
    """A head as tables of text have it: `param_count` is `params`."""
    if head_unit(cell) is not None or (named := key_unit(cell.strip())) is None:
        return cell
    unit, _ = named
    return f"params ({unit})" if unit else "params"
