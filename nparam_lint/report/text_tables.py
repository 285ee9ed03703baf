"""Tables of text, fitted to a width."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import TYPE_CHECKING

from nparam_lint.report import style
from nparam_lint.report.document import Cell, Row, Table
from nparam_lint.report.style import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.report.document import Step
    from nparam_lint.report.style import Paint

_COLOR = re.compile(r"\x1b\[[\d;]*m")
_BETWEEN = 2
_LEAST = {"path": 12, "formula": 12, "words": 16}  # characters of a column that is broken
_BAR = 10  # characters of a bar, where there is room
_HEADING, _SHORT = 16, 11  # the least width of a column of counts, with shares and without


def ruled(
    headers: Sequence[str], rows: Sequence[Sequence[str]], align: str, paint: Paint
) -> list[str]:
    """`align` has one letter for each column: `l` or `r`. Cells may be coloured."""
    widths = column_widths(headers, rows)
    lines = [paint("dim", _line(headers, widths, align)), paint("dim", _rule(widths))]
    return lines + [_line(row, widths, align) for row in rows]


def column_widths(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """A column is at least two wider than its header, so that a line of headers is easy to read."""
    return [max([len(h) + 2, *(_seen(row[i]) for row in rows)]) for i, h in enumerate(headers)]


def table_width(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    return sum(column_widths(headers, rows)) + _BETWEEN * (len(headers) - 1)


def _seen(cell: str) -> int:
    return len(_COLOR.sub("", cell)) if "\x1b" in cell else len(cell)


def _line(cells: Sequence[str], widths: Sequence[int], align: str) -> str:
    padded = []
    for cell, width, side in zip(cells, widths, align, strict=True):
        blank = " " * (width - _seen(cell))
        padded.append(blank + cell if side == "r" else cell + blank)
    return (" " * _BETWEEN).join(padded).rstrip()


def _rule(widths: Sequence[int]) -> str:
    return (" " * _BETWEEN).join("─" * width for width in widths)


# --- any table ------------------------------------------------------------------------------------


class _Grid:
    """The cells of a table as text, and which columns are still shown."""

    def __init__(self, table: Table) -> None:
        self.table = table
        marked = any(row.mark for row in table.rows)
        self.marks = 2 if marked else 0
        self.full = [[_cleaned(cell) for cell in row.cells] for row in table.rows]
        self.dropped: set[int] = set()
        self.short: set[int] = set()
        self.least: dict[int, int] = {}
        self.bar = _BAR
        self.fill(0)

    @property
    def shown(self) -> list[int]:
        """The first column in any case, and the others where they have something in any row."""
        columns = enumerate(self.table.columns)
        there = (i for i, c in columns if not i or c.empty or any(row[i] for row in self.cells))
        return [i for i in there if i not in self.dropped]

    @property
    def headers(self) -> list[str]:
        names = [self.table.columns[i].name for i in self.shown]
        return [" " * self.marks + names[0], *names[1:]]

    @property
    def width(self) -> int:
        return table_width(self.headers, self.rows)

    @property
    def rows(self) -> list[list[str]]:
        shown = self.shown
        rows = [[row[i] for i in shown] for row in self.cells]
        return [[" " * self.marks + first, *rest] for first, *rest in rows]

    def give_up(self, step: Step, width: int) -> None:
        at = next((i for i in self.shown if self.table.columns[i].name == step.column), None)
        if at is None:
            return
        if step.what == "drop":
            self.dropped.add(at)
            self.bar = self.bar and _BAR  # there is room again
        elif step.what == "bar":
            self.bar = step.least
        elif step.what == "short":
            self.short.add(at)
        else:
            self.least[at] = step.least
        self.fill(width)

    def fill(self, width: int) -> None:
        """What is cut is cut no more than the width demands; 0: not at all."""
        self.cells = [[self._text(cell, i) for i, cell in enumerate(row)] for row in self.full]
        for at, least in self.least.items():
            room = max(max(len(row[at]) for row in self.cells) - self.width + width, least)
            for row in self.cells:
                name = row[at].lstrip()
                indent = row[at][: len(row[at]) - len(name)]
                row[at] = indent + style.elide_middle(name, max(room - len(indent), 1))

    def _text(self, cell: Cell, column: int) -> str:
        text = cell.short or cell.text if column in self.short else cell.text
        bar = style.bar(*cell.bar, self.bar)
        return f"{bar.ljust(self.bar)} {text}" if bar and text else bar or text

    def broken(self, width: int) -> Iterator[tuple[int, list[list[str]]]]:
        """Each row with its number, and the lines that it takes where its paths, formulas and
        words are broken."""
        rooms = self._rooms(width)
        for number, row in enumerate(self.cells):
            lines = [
                self._lines(row[i], i, rooms[i]) if i in rooms else [row[i]] for i in self.shown
            ]
            yield number, [list(line) for line in zip_longest(*lines, fillvalue="")]

    def _rooms(self, width: int) -> dict[int, int]:
        """How wide each column that is broken may be. Paths come last: they take what is left."""
        widths = dict(zip(self.shown, column_widths(self.headers, self.rows), strict=True))
        broken = [i for i in self.shown if self.kind(i) in _LEAST]
        broken.sort(key=lambda i: self.kind(i) == "path")
        room = width - sum(w for i, w in widths.items() if i not in broken)
        room -= _BETWEEN * (len(self.shown) - 1)
        rooms: dict[int, int] = {}
        for place, i in enumerate(broken, 1):
            others = sum(min(widths[j], room // 2) for j in broken[place:])
            rooms[i] = max(room - others, _LEAST[self.kind(i)])
            lines = [line for row in self.cells for line in self._lines(row[i], i, rooms[i])]
            room -= max([len(self.table.columns[i].name) + 2, *map(len, lines)])
        return rooms

    def _lines(self, cell: str, column: int, room: int) -> list[str]:
        if self.kind(column) == "path":
            return style.wrap_path(cell, room)
        if self.kind(column) == "formula":
            return style.wrap_formula(cell, room, "", " " if cell.startswith("(") else "  ")
        return style.wrap(cell, room)

    def kind(self, column: int) -> str:
        return self.table.columns[column].kind


def _cleaned(cell: Cell | str) -> Cell:
    if isinstance(cell, str):
        return Cell(clean(cell))
    return Cell(clean(cell.text), cell.tone, cell.share, clean(cell.short), cell.bar)


def table_lines(table: Table, width: int, paint: Paint) -> list[str]:
    """The table in at most `width`, as far as it can be done; nothing where it has no rows."""
    if not table.rows:
        return []
    if table.bands:
        return _banded(table, width, paint)
    grid = _Grid(table)
    for step in table.steps:
        if grid.width > width:
            grid.give_up(step, width)
    if grid.width > width and table.narrow:
        return table_lines(table.narrow, width, paint)
    if grid.width > width and any(grid.kind(i) in _LEAST for i in grid.shown):
        lines = [(n, line) for n, lines in grid.broken(width) for line in lines]
    else:
        lines = [(n, [row[i] for i in grid.shown]) for n, row in enumerate(grid.cells)]
    return _written(grid, lines, width, paint)


def _written(
    grid: _Grid, lines: Sequence[tuple[int, list[str]]], width: int, paint: Paint
) -> list[str]:
    table, painted, last = grid.table, [], -1
    for number, cells in lines:
        row = table.rows[number]
        mark = paint(row.mark_tone, row.mark) if number != last else ""
        tones = [_tone(row, table, i) for i in grid.shown]
        first, *rest = [_painted(t, cell, paint) for t, cell in zip(tones, cells, strict=True)]
        lead = (f"{mark} " if mark else " " * grid.marks) if grid.marks else ""
        painted.append([lead + first, *rest])
        last = number
    align = "".join("r" if grid.kind(i) == "number" else "l" for i in grid.shown)
    head, rule, *body = ruled(grid.headers, painted, align, paint)
    text = [head, rule]
    for (number, _), line, after in zip(lines, body, [*lines[1:], (-1, [])], strict=True):
        text += [rule, line] if table.rows[number].rule and number else [line]
        if after[0] != number:
            for note in table.rows[number].below:
                wrapped = style.wrap(clean(note), width, "      ", "      ")
                text += [paint("yellow", part) for part in wrapped]
    notes = (part for note in table.notes for part in style.wrap(note, width))
    return text + [paint("dim", style.elide_middle(part, width)) for part in notes]


def _painted(tone: str, cell: str, paint: Paint) -> str:
    """`times`: dim up to the last ×; a bar is drawn in a colour of its own."""
    if tone == "times":
        times, sign, number = cell.rpartition(" × ")
        return paint("dim", times + sign) + number
    text = cell.lstrip(style.EIGHTHS)
    bar, rest = cell[: len(cell) - len(text)], text.lstrip() if text != cell else text
    return paint("cyan", bar) + text[: len(text) - len(rest)] + paint(tone, rest)


def _tone(row: Row, table: Table, column: int) -> str:
    cell = row.cells[column]
    return (cell.tone if isinstance(cell, Cell) else "") or table.columns[column].tone


# --- columns beside each other, as many as fit ----------------------------------------------------


def _banded(table: Table, width: int, paint: Paint) -> list[str]:
    """With shares where these fit beside the counts, else without; else as many tables as it
    takes, with a blank line between."""
    label = max(len(clean(row.texts[0])) for row in table.rows)
    for least in (_HEADING, _SHORT):
        columns = [
            _with_shares([row.cells[i] for row in table.rows], least == _HEADING)
            for i in range(1, len(table.columns))
        ]
        widths = [max(least, *map(len, column)) for column in columns]
        bands: list[list[int]] = []
        room = 0
        for number, wide in enumerate(widths):
            if not bands or room < wide + _BETWEEN:
                bands.append([])
                room = width - label
            bands[-1].append(number)
            room -= wide + _BETWEEN
        if len(bands) == 1:
            break
    text: list[str] = []
    for band in bands:
        names = [style.elide_end(table.columns[i + 1].name, widths[i]) for i in band]
        sizes = [label, *(widths[i] for i in band)]
        align = "l" + "r" * len(band)
        rule = paint("dim", _rule(sizes))
        text += [*([""] if text else []), paint("dim", _line(["", *names], sizes, align)), rule]
        for number, row in enumerate(table.rows):
            cells = [clean(row.texts[0]), *(columns[i][number] for i in band)]
            first = row.cells[0]
            tone = first.tone if isinstance(first, Cell) else ""
            if not tone:
                cells[0] = paint("dim", cells[0])
            line = _line(cells, sizes, align)
            line = paint(tone, line) if tone else line.replace("–", paint("dim", "–"))
            text += [rule, line] if row.rule and number else [line]
    return text


def _with_shares(cells: Sequence[Cell | str], shares: bool) -> list[str]:
    """The cells of one column; below each other, counts and shares are right-aligned."""
    pairs = [
        (clean(cell.text), cell.share) if isinstance(cell, Cell) else (clean(cell), "")
        for cell in cells
    ]
    left = max(len(count) for count, _ in pairs)
    right = max(len(share) for _, share in pairs) if shares else 0
    return [f"{count:>{left}}" + (f"  {share:>{right}}" if right else "") for count, share in pairs]
