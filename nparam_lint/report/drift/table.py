"""The modules of a model that changed, fitted to a width."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nparam_lint.analysis.diff.fold_changes import lines_of
from nparam_lint.report import style
from nparam_lint.report.drift.words import signed
from nparam_lint.report.style import clean
from nparam_lint.report.table import column_widths, ruled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nparam_lint.analysis.diff import ModelDiff
    from nparam_lint.analysis.diff.fold_changes import Line
    from nparam_lint.report.style import Paint

MARKS = {"added": "+", "removed": "−", "changed": "~", "renamed": "→"}
COLORS = {"+": "green", "−": "red", "~": "yellow", "→": "cyan"}
_COLUMNS = ("module", "type", "before", "after", "change", "source")
_SHORT = 24  # characters of a note that stands in the place of a change
_LEAST = 24  # of a module's path


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table, in text. `notes`: what stands below it."""

    mark: str
    module: str
    type: str
    before: str
    after: str
    change: str
    source: str
    notes: tuple[str, ...] = ()


def rows_of(model: ModelDiff, limit: int, depth: int | None) -> tuple[list[Row], list[Line]]:
    """The rows, and the lines that are left out: those that weigh least."""
    lines = list(lines_of(model.modules, limit, depth))
    heaviest = sorted(lines, key=lambda line: -abs(line.sum))
    kept = heaviest if depth is not None else heaviest[:limit]
    left = [line for line in lines if not any(line is one for one in kept)]
    return [_row(line) for line in lines if any(line is one for one in kept)], left


def _row(line: Line) -> Row:
    notes = [clean(note) for note in line.notes]
    told = ""
    if line.delta:
        told = f"{line.times:,} × {signed(line.delta)}" if line.times > 1 else signed(line.delta)
    elif line.kind != "changed":
        told = "renamed" if line.kind == "renamed" else "±0"
    elif notes and len(notes[0]) <= _SHORT:
        told = notes.pop(0)
    before, after = _counts(line)
    return Row(
        MARKS[line.kind],
        _module(line),
        _type(line),
        before,
        after,
        told,
        clean(line.change.row.source or "") if line.change else "",
        tuple(notes),
    )


def _module(line: Line) -> str:
    path, was = clean(line.path), clean(line.path_before)
    if was != path:  # beside where it was, the name is enough
        beside = line.was[:-1] == line.parts[:-1]
        return f"{was} → {path.rpartition('.')[2] if beside else path}"
    return path or ("(root)" if line.delta else "(total)")


def _type(line: Line) -> str:
    if line.change is None:
        return f"{line.modules:,} changes"
    old, new = line.change.before, line.change.after
    types = dict.fromkeys(clean(row.type) for row in (old, new) if row)
    return " → ".join(types)


def _counts(line: Line) -> tuple[str, str]:
    if line.change is None:
        return "", ""
    was, now = line.change.count_before, line.change.count_after
    return (
        "" if line.kind == "added" else f"{was:,}",
        "" if line.kind == "removed" else f"{now:,}",
    )


def change_table(
    model: ModelDiff, width: int, depth: int | None, limit: int, paint: Paint
) -> list[str]:
    rows, left = rows_of(model, limit, depth)
    if not rows:
        return []
    cells = [_cells(row) for row in rows]
    shown = _fit(cells, width)
    painted = [
        [_paint(row[name], name, row["module"][0], paint) for name in shown] for row in cells
    ]
    align = "".join("r" if name in ("before", "after", "change") else "l" for name in shown)
    head, rule, *body = ruled(_headers(shown), painted, align, paint)
    text = [head, rule]
    for row, line in zip(rows, body, strict=True):
        text.append(line)
        for note in row.notes:
            text += [paint("yellow", part) for part in style.wrap(note, width, "      ", "      ")]
    if left:
        total = signed(sum(line.sum for line in left))
        more = style.plural(sum(line.modules * line.times for line in left), "more change")
        text.append(paint("dim", f"… and {more}, {total} together: --depth and -v show more"))
    return text


def _cells(row: Row) -> dict[str, str]:
    return {
        "module": f"{row.mark} {row.module}",
        "type": row.type,
        "before": row.before,
        "after": row.after,
        "change": row.change,
        "source": row.source,
    }


def _fit(cells: list[dict[str, str]], width: int) -> list[str]:
    """What is given up for the width: the directories of the source, the type, the count before,
    the middle of the paths, the source, the count after. The change always stands."""
    shown = [name for name in _COLUMNS if any(row[name] for row in cells)]
    for step in ("nothing", "folders", "type", "before", "module", "source", "after", "module"):
        if step == "folders":
            for row in cells:
                row["source"] = row["source"].rpartition("/")[2]
        elif step == "module":
            _shorten(cells, _excess(cells, shown, width))
        elif step in shown:
            shown.remove(step)
        if _excess(cells, shown, width) <= 0:
            break
    return shown


def _headers(shown: Sequence[str]) -> list[str]:
    """The first above the paths, behind their marks."""
    return [f"  {name}" if name == "module" else name for name in shown]


def _shorten(cells: list[dict[str, str]], excess: int) -> None:
    longest = max(len(row["module"]) for row in cells)
    room = max(longest - max(excess, 0), _LEAST)
    for row in cells:
        mark, path = row["module"][:2], row["module"][2:]
        row["module"] = mark + style.elide_middle(path, room - 2)


def _excess(cells: list[dict[str, str]], shown: Sequence[str], width: int) -> int:
    widths = column_widths(_headers(shown), [[row[name] for name in shown] for row in cells])
    return sum(widths) + 2 * (len(shown) - 1) - width


def _paint(cell: str, column: str, mark: str, paint: Paint) -> str:
    if column == "module":
        return paint(COLORS[mark], cell[0]) + cell[1:]
    if column == "change":
        return paint(COLORS[mark], cell)
    return paint("dim" if column in ("type", "source", "before") else "", cell)
