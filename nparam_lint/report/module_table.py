"""The modules of a model as a table of text, fitted to a width."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from nparam_lint.report import style
from nparam_lint.report.folded_modules import TreeRow, make_tree, total_cell
from nparam_lint.report.text_tables import ruled, table_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nparam_lint.records import ModuleRow
    from nparam_lint.report.style import Paint

_FULL = 1_000
_FOOTNOTES = 4
_NUMBERS = ("own", "total", "share")
_COLUMNS = {  # and how each is painted
    "module": "",
    "type": "dim",
    "own": "",
    "total": "",
    "share": "",
    "": "",
    "source": "dim",
}


@dataclass(frozen=True, slots=True)
class _Layout:
    """What is given up to fit a width. `bar`: its width; `type` and `module`: to what they may be
    cut; `short`: the last name of folded blocks is its number."""

    bar: int
    type: int = _FULL
    source: bool = False
    share: bool = True
    short: bool = False
    module: int = _FULL


_LAYOUTS = (
    _Layout(10, source=True),
    _Layout(6, source=True),
    _Layout(10),
    _Layout(6),
    _Layout(4),
    _Layout(4, type=12),
    _Layout(4, type=12, short=True),
    _Layout(0, type=12, short=True),
    _Layout(0, type=12, short=True, module=28),
    _Layout(0, type=8, short=True, module=28),
    _Layout(0, type=8, short=True, share=False, module=28),
    _Layout(0, type=6, short=True, share=False, module=24),
    _Layout(0, type=4, short=True, share=False, module=8),
)


@cache
def module_table(
    modules: tuple[ModuleRow, ...], width: int, depth: int | None, limit: int, paint: Paint
) -> tuple[str, ...]:
    """The table and its footnotes; nothing where the total is all that there is to say. An answer
    that is kept for the next run is laid out twice."""
    tree = make_tree(modules, depth, limit)
    if len(tree.rows) < 2:
        return ()
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
    return tuple(lines)


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
    """In the first layout that fits; `own` and `total` always stand."""
    for layout in _LAYOUTS:
        cells = [_cells(row, rows[0].total, layout) for row in rows]
        shown = [c for c in _COLUMNS if c in ("own", "total") or any(row[c] for row in cells)]
        for column, least in (("type", layout.type), ("module", layout.module)):
            _shorten(cells, column, least, _wide(cells, shown) - width)
        if _wide(cells, shown) <= width:
            break
    painted = [
        [_paint(cell[column], column, row, paint) for column in shown]
        for row, cell in zip(rows, cells, strict=True)
    ]
    align = "".join("r" if column in _NUMBERS else "l" for column in shown)
    return ruled(shown, painted, align, paint)


def _shorten(cells: list[dict[str, str]], column: str, least: int, excess: int) -> None:
    """Cut a column by `excess`, but to no less than `least`."""
    room = max(max(len(row[column]) for row in cells) - excess, least)
    for row in cells:
        indent = len(row[column]) - len(row[column].lstrip())
        name = style.elide_middle(row[column][indent:], max(room - indent, 1))
        row[column] = row[column][:indent] + name


def _wide(cells: list[dict[str, str]], shown: list[str]) -> int:
    return table_width(shown, [[row[column] for column in shown] for row in cells])


def _paint(cell: str, column: str, row: TreeRow, paint: Paint) -> str:
    if column == "":
        bar = cell.removesuffix(marks) if (marks := ", ".join(row.marks)) else cell
        return paint("cyan", bar.rstrip()) + bar[len(bar.rstrip()) :] + paint("yellow", marks)
    if row.level == 0:
        return paint("bold" if column in ("module", "total") else _COLUMNS[column], cell)
    times, sign, number = cell.rpartition(" × ")
    if sign and column == "total":
        return paint("dim", times + sign) + number
    return paint(_COLUMNS[column], cell)


def _cells(row: TreeRow, whole: int, layout: _Layout) -> dict[str, str]:
    """`own` is that of one module, `total` that of all that the row stands for."""
    times = f"{row.times:,} × " if row.times > 1 else ""
    counted = row.times * row.new
    bar, marks = style.bar(counted, whole, layout.bar), ", ".join(row.marks)
    return {
        "module": "  " * max(row.level - 1, 0) + _name(row, layout.short),
        "type": style.clean(row.type),
        "own": f"{row.own:,}" if row.own else "",
        "total": times + total_cell(row),
        "share": style.share(counted, whole) if layout.share else "",
        "": f"{bar.ljust(layout.bar)} {marks}" if bar and marks else bar or marks,
        "source": style.clean(row.source or "") if layout.source else "",
    }


def _name(row: TreeRow, short: bool) -> str:
    first, fold, last = style.clean(row.label).partition(" … ")
    return first + fold + (last.rpartition(".")[2] if short else last)
