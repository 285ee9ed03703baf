"""The rows of a table of solutions, laid out for a width."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nparam_lint.report import style
from nparam_lint.report.table import column_widths, ruled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nparam_lint.report.solved import Met
    from nparam_lint.report.style import Paint

_NUMBERS = ("parameters", "off", "")
_LEAST = 16  # of a column of arguments
_BETWEEN = 2


@dataclass(frozen=True, slots=True)
class Row:
    """`label`: what it is about, where this is not said above it; `met`: None for a heading;
    `absent`: that there is nothing."""

    label: str
    budget: int = 0
    met: Met | None = None
    absent: bool = False

    @property
    def values(self) -> Mapping[str, int]:
        return self.met.values if self.met else {}

    @property
    def numbers(self) -> list[str]:
        if self.met is None:
            return ["–" if self.absent else "", "", ""]
        off = self.met.count - self.budget
        return [f"{self.met.count:,}", f"{off:+,}" if off else "exact", _percent(off, self.budget)]


def table(rows: Sequence[Row], header: str, width: int, paint: Paint) -> list[str]:
    """A column for each argument where all rows have the same and the width allows; else one of
    `name=value`. `header`: of the labels, which are left out where it is empty."""
    names = list(dict.fromkeys(name for row in rows for name in row.values))
    if all(row.values.keys() >= {*names} for row in rows if row.met):
        headers = [header, *names, *_NUMBERS][not header :]
        cells = [
            [row.label, *(str(row.values.get(n, "")) for n in names), *row.numbers][not header :]
            for row in rows
        ]
        if _width(headers, cells) <= width:
            align = ("l" if header and header != "budget" else "r") + "r" * (len(headers) - 1)
            return ruled(headers, cells, align, paint)
    return _with_arguments(rows, header, width, paint)


def _with_arguments(rows: Sequence[Row], header: str, width: int, paint: Paint) -> list[str]:
    headers = [header, "arguments", *_NUMBERS][not header :]
    bare = [[row.label, "", *row.numbers][not header :] for row in rows]
    room = max(width - _width(headers, bare) + len("arguments") + _BETWEEN, _LEAST)
    cells = []
    for row in rows:
        text = " ".join(f"{name}={value}" for name, value in row.values.items())
        first, *more = style.wrap(text, room) if row.met else [""]
        cells.append([row.label, first, *row.numbers][not header :])
        cells += [["", line, *("" for _ in _NUMBERS)][not header :] for line in more]
    align = "l" * (len(headers) - len(_NUMBERS)) + "r" * len(_NUMBERS)
    return ruled(headers, cells, align, paint)


def _width(headers: Sequence[str], cells: Sequence[Sequence[str]]) -> int:
    return sum(column_widths(headers, cells)) + _BETWEEN * (len(headers) - 1)


def _percent(difference: int, budget: int) -> str:
    share = 100 * difference / budget
    return "" if not difference else f"{share:+,.2f} %" if abs(share) >= 0.005 else "<0.01 %"
