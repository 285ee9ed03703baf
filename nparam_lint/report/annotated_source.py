"""The source of a file with what each of its lines made of a model, as a table.

The counts of a file's lines and what was made without any of them add up to the model's total.
What a line led to, and another line of the file counts, stands in brackets.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from nparam_lint.report import Cell, Column, Row, Step, Table, style

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence, Set
    from pathlib import Path

    from nparam_lint.records import LineRow, Measured

AROUND = 1  # lines of context before and after a line that makes something
GAP = 2  # lines between two hunks that are shown rather than left out
_HEADER = re.compile(r"\s*(?:class|def|async def)\b")
_COLUMNS = (
    Column("parameters", "number"),
    Column("", "number"),
    Column("share", "number"),
    Column("line", "number", "dim"),
    Column("source", "source"),
)
_STEPS = (Step("cut", "source", 32), Step("drop", "share"), Step("cut", "source", 12))


@dataclass(frozen=True, slots=True)
class AnnotatedFile:
    """What the lines of one file made of a model. `text`: its lines; None where it cannot be
    read. `rows`: those that made something, in their order. `total`: of the model."""

    path: str
    text: tuple[str, ...] | None
    rows: tuple[LineRow, ...]
    total: int

    @property
    def count(self) -> int:
        """What its lines made, alone or by what they called."""
        return sum(row.count for row in self.rows)

    @property
    def elsewhere(self) -> int:
        """What was made without any of its lines."""
        return self.total - self.count

    def line(self, number: int) -> str:
        there = self.text is not None and 0 < number <= len(self.text)
        return self.text[number - 1].expandtabs(4) if self.text and there else ""

    def table(self, whole: bool = False) -> Table:
        """The lines that made something with some around them, or all lines."""
        made = {row.line: row for row in self.rows}
        text = self.text or ()
        shown = range(1, len(text) + 1) if whole and text else _hunks(text, made.keys())
        rows, before = [], None
        for number in shown:
            if before is not None and number > before + 1:
                rows.append(Row(("", "", "", "…", "")))
            rows.append(_row(number, made.get(number), self.line(number), self.total))
            before = number
        return Table(_COLUMNS, tuple(rows), _STEPS, notes=tuple(self.notes()), noun="line")

    def notes(self) -> Iterable[str]:
        if self.text is None:
            yield f"{self.path} cannot be read"
        if self.elsewhere:
            share = style.share(self.elsewhere, self.total)
            yield f"made without a line of this file: {self.elsewhere:,} ({share})"


def annotated_file(found: Measured, path: str, root: Path) -> AnnotatedFile:
    """One of the files whose lines made something; `root`: of the project."""
    rows = tuple(row for row in found.lines if row.path == path)
    place = root / (rows[0].file if rows and rows[0].file else path)
    try:
        text = tuple(place.read_text("utf-8", "replace").removesuffix("\n").split("\n"))
    except (OSError, ValueError):
        text = None
    return AnnotatedFile(path, text, rows, found.counts.total)


def sums_by_file(found: Measured) -> dict[str, int]:
    """What the lines of each file made themselves; together with what no line made, the total."""
    sums: dict[str, int] = {}
    for row in found.lines:
        sums[row.path] = sums.get(row.path, 0) + row.own
    return dict(sorted(sums.items(), key=lambda item: -item[1]))


def main_file(found: Measured, wanted: str) -> str:
    """The file that is wanted where its lines made something; else the one whose own made most."""
    sums = sums_by_file(found)
    return wanted if wanted in sums else next(iter(sums), wanted)


def other_files(found: Measured, path: str) -> Table:
    """What the lines of the files other than `path` made themselves."""
    total = found.counts.total
    others = {other: count for other, count in sums_by_file(found).items() if other != path}
    rows = (
        Row((style.clean(other), f"{count:,}", style.share(count, total)))
        for other, count in others.items()
        if count
    )
    columns = Column("made in", "code"), Column("parameters", "number"), Column("share", "number")
    return Table(columns, tuple(rows), (Step("shorten", "made in", 16),), noun="file")


def _row(number: int, made: LineRow | None, text: str, total: int) -> Row:
    if made is None:
        return Row(("", "", "", f"{number}", Cell(text, "dim")))
    times = f"{made.times:,}×" if made.times > 1 else ""
    if not made.count:  # in brackets, so that the rest adds up
        return Row((Cell(f"({made.through:,})", "dim"), Cell(times, "dim"), "", f"{number}", text))
    share = style.share(made.count, total)
    return Row((Cell(f"{made.count:,}", "bold"), times, share, f"{number}", text))


def _hunks(text: Sequence[str], made: Set[int]) -> list[int]:
    """The numbers of the lines that made something, of those around them, and of the headers of
    the functions and classes that they stand in."""
    wanted = set(made)
    for number in made:
        wanted |= {*range(number - AROUND, number + AROUND + 1), *_headers(text, number)}
    ordered = sorted(n for n in wanted if n in made or (0 < n <= len(text) and text[n - 1].strip()))
    for one, other in pairwise(ordered):
        if other - one <= GAP + 1:
            wanted |= {*range(one, other)}
        else:
            wanted -= {*range(one + 1, other)}
    first, last = (ordered[0], ordered[-1]) if ordered else (0, 0)
    return sorted(n for n in wanted if first <= n <= last)


def _headers(text: Sequence[str], number: int) -> Iterable[int]:
    if not 0 < number <= len(text):
        return
    deep = _indent(text[number - 1])
    for above in range(number - 1, 0, -1):
        line = text[above - 1]
        if line.strip(" \t)]}:") and _indent(line) < deep and line.lstrip()[:1] not in ")]}":
            deep = _indent(line)
            if _HEADER.match(line):
                yield above
        if not deep:
            return


def _indent(line: str) -> int:
    line = line.expandtabs(4)
    return len(line) - len(line.lstrip())
