"""Tables for people: the modules of a model, fitted to a width."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tabulate import DataRow, Line, TableFormat, tabulate

from nparam_lint.report import style
from nparam_lint.report.tree import TreeRow, make_tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nparam_lint.records import ModuleRow
    from nparam_lint.report.style import Paint

_RULED = TableFormat(
    lineabove=None,
    linebelowheader=Line("", "─", "  ", ""),
    linebetweenrows=None,
    linebelow=None,
    headerrow=DataRow("", "  ", ""),
    datarow=DataRow("", "  ", ""),
    padding=0,
    with_header_hide=None,
)
_BLANK = "\u2800"  # tabulate strips cells: an indent must not be white space until it is done
_FOOTNOTES = 4
_NUMBERS = ("own", "parameters", "share")
_COLUMNS = {  # and how each is painted
    "module": "",
    "type": "dim",
    "own": "",
    "parameters": "",
    "share": "",
    "bar": "cyan",
    "marks": "yellow",
    "source": "dim",
}


def ruled(
    headers: Sequence[str], rows: Sequence[Sequence[str]], align: str, paint: Paint
) -> list[str]:
    """`align` has one letter for each column: `l` or `r`. Cells may be coloured."""
    indented = [[_indent(cell) for cell in row] for row in rows]
    text = tabulate(
        indented,
        headers=headers,
        tablefmt=_RULED,
        disable_numparse=True,
        colalign=["right" if letter == "r" else "left" for letter in align],
    )
    lines = [line.rstrip().replace(_BLANK, " ") for line in text.splitlines()]
    return [paint("dim", line) for line in lines[:2]] + lines[2:]


def _indent(cell: str) -> str:
    start = len(cell) - len(cell.lstrip(" "))
    return _BLANK * start + cell[start:]


def module_table(
    modules: Sequence[ModuleRow], width: int, depth: int | None, limit: int, paint: Paint
) -> list[str]:
    """The table and its footnotes; nothing where the total is all that there is to say."""
    tree = make_tree(modules, depth, limit)
    if len(tree.rows) < 2:
        return []
    rows, notes = tree.rows, []
    if depth is None and len(rows) > 2 * limit:  # a flat model of hundreds of layers
        rows, left = rows[:limit], rows[limit:]
        count = sum(row.counted for row in left)
        notes.append(f"… and {style.plural(len(left), 'row')} with {count:,} parameters")
    lines = _fit(rows, width, paint)
    if tree.empty:
        notes.append(f"… and {style.plural(tree.empty, 'module')} without parameters")
    if tree.deeper:
        notes.append("--depth shows more")
    if notes:
        lines.append(paint("dim", " · ".join(notes)))
    lines += [paint("dim", style.elide_middle(note, width)) for note in _footnotes(modules)]
    return lines


def _footnotes(modules: Sequence[ModuleRow]) -> list[str]:
    """What is counted once though it has two names."""
    shared: dict[str, list[str]] = {}
    notes = []
    again = {row.path for row in modules if row.shared_with is not None}
    for row in modules:
        prefix = f"{row.path}." if row.path else ""
        if row.shared_with is None:
            notes += [f"tied: {style.clean(prefix + tie)}" for tie in row.tied]
        elif row.path.rpartition(".")[0] not in again:
            shared.setdefault(row.shared_with, []).append(row.path)
    notes += [
        f"shared: {style.clean(' = '.join([first or '(total)', *others]))}"
        for first, others in shared.items()
    ]
    if len(notes) > _FOOTNOTES:
        notes[_FOOTNOTES - 1 :] = [f"… and {len(notes) - _FOOTNOTES + 1:,} more tied or shared"]
    return notes


def _fit(rows: Sequence[TreeRow], width: int, paint: Paint) -> list[str]:
    """All columns where they fit; else without sources, then with shorter types and names."""
    cells = [_cells(row, rows[0].total, 10 if width >= 100 else 6) for row in rows]
    shown = [column for column in _COLUMNS if any(row[column] for row in cells)]
    if "source" in shown and _wide(cells, shown) > width:
        shown.remove("source")
    steps = (("type", 18), ("bar", 0), ("type", 14), ("module", 20), ("type", 6), ("module", 8))
    for column, least in steps:
        excess = _wide(cells, shown) - width
        longest = max(len(row[column]) for row in cells)
        if excess > 0 and column == "bar":
            shown.remove("bar")
        elif excess > 0:
            for row in cells:
                row[column] = _elide(row[column], max(longest - excess, least))
    painted = [
        [_paint(cell[column], column, row, paint) for column in shown]
        for row, cell in zip(rows, cells, strict=True)
    ]
    align = "".join("r" if column in _NUMBERS else "l" for column in shown)
    return ruled([_header(column) for column in shown], painted, align, paint)


def _paint(cell: str, column: str, row: TreeRow, paint: Paint) -> str:
    if row.level == 0:
        return paint("bold" if column in ("module", "parameters") else _COLUMNS[column], cell)
    times, sign, number = cell.rpartition(" × ")
    if sign and column in _NUMBERS:
        return paint("dim", times + sign) + number
    return paint(_COLUMNS[column], cell)


def _header(column: str) -> str:
    return "" if column in ("bar", "marks") else column


def _elide(cell: str, width: int) -> str:
    indent = len(cell) - len(cell.lstrip(" "))
    return cell[:indent] + style.elide_middle(cell[indent:], max(width - indent, 1))


def _wide(cells: list[dict[str, str]], shown: list[str]) -> int:
    widths = [max(len(_header(c)), *(len(row[c]) for row in cells)) for c in shown]
    return sum(widths) + 2 * (len(shown) - 1)


def _cells(row: TreeRow, whole: int, bar_width: int) -> dict[str, str]:
    times = f"{row.times:,} × " if row.times > 1 else ""
    counted = row.times * row.new
    # What is counted elsewhere stands in brackets, so that the rest adds up.
    total = f"{row.total:,}" if row.new or not row.total else f"({row.total:,})"
    return {
        "module": "  " * max(row.level - 1, 0) + style.clean(row.label),
        "type": style.clean(row.type),
        "own": f"{times}{row.own:,}" if row.own not in (0, row.total) else "",
        "parameters": f"{times}{total}",
        "share": style.share(counted, whole),
        "bar": style.bar(counted, whole, bar_width),
        "marks": ", ".join(row.marks),
        "source": style.clean(row.source or ""),
    }
