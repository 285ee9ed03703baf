"""The rows of a sweep as lines, of JSON or of CSV."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal

import msgspec

from nparam_lint.analysis.varied import value_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nparam_lint.analysis.closed_forms.observations import Value
    from nparam_lint.analysis.sweep.sweep import SweepRow


@dataclass(kw_only=True)
class SweepLine:
    """What a line of JSON has beside the values of the arguments."""

    nparam: int | None
    by: Literal["form", "built"]
    reason: str | msgspec.UnsetType = msgspec.UNSET


COLUMNS = tuple(field.name for field in fields(SweepLine))  # after those of the arguments


def json_line(row: SweepRow) -> str:
    line = SweepLine(
        nparam=row.count, by=row.by, reason=msgspec.UNSET if row.reason is None else row.reason
    )
    return msgspec.json.encode(row.point | msgspec.to_builtins(line)).decode() + "\n"


def csv_head(names: Sequence[str]) -> str:
    return _csv_line([*names, *COLUMNS])


def csv_line(names: Sequence[str], row: SweepRow) -> str:
    """A cell has a value as Python writes it, and texts without quotes."""
    cells = [_cell(row.point[name]) for name in names]
    count = "" if row.count is None else str(row.count)
    return _csv_line([*cells, count, row.by, row.reason or ""])


def _cell(value: Value) -> str:
    is_plain = isinstance(value, str) and value.strip() == value and value_of(value) == value
    return str(value) if is_plain and value and "\n" not in str(value) else repr(value)


def _csv_line(cells: Sequence[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()
