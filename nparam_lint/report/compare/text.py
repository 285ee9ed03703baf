"""The comparison for people: the models, their counts side by side by role, and notes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nparam_lint.records import NotMeasured
from nparam_lint.report import style
from nparam_lint.report.compare.rows import Entry, Row, entries, grouped, letter, notes_of, rows_of
from nparam_lint.report.style import Paint, clean
from nparam_lint.report.table import column_widths, ruled
from nparam_lint.report.text import NARROWEST

if TYPE_CHECKING:
    from nparam_lint.report import Options
    from nparam_lint.report.compare import Column, Comparison

_LABEL = 13  # of the longest, non-embedding
_HEADING, _SHORT = 16, 11  # the least width of a column, with shares and without
_BETWEEN = 2


def render(comparison: Comparison, options: Options) -> str:
    """Nothing where nothing could be measured at all."""
    options = replace(options, width=max(options.width, NARROWEST))
    paint = Paint(options.color)
    if comparison.error is not None:
        return ""
    models = entries(comparison.columns)
    sections = [_legend(comparison, options, paint), *_tables(models, options, paint)]
    if not options.quiet:
        sections.append(_notes(models, options, paint))
    if options.verbose:
        sections += [_parts(model, options, paint) for model in models]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _legend(comparison: Comparison, options: Options, paint: Paint) -> list[str]:
    lines = []
    for number, column in enumerate(comparison.columns):
        name = letter(number)
        hang = " " * (len(name) + 2)
        first, *more = _target(clean(column.given), options.width - len(hang))
        lines += [f"{paint('bold', name)}  {first}", *(hang + line for line in more)]
        lines += _absent(column, hang, options, paint)
    return lines


def _target(target: str, width: int) -> list[str]:
    """In full: the file on a line of its own where the call does not fit behind it."""
    if len(target) <= width:
        return [target]
    path, sep, call = target.partition("::")
    return [path + sep, *style.wrap(call, width, hang="  ")]


def _absent(column: Column, hang: str, options: Options, paint: Paint) -> list[str]:
    measured = column.model.measurement
    if not isinstance(measured, NotMeasured):
        return []
    reason = f"– not measured: {clean(measured.reason)}"
    lines = [paint("red", line) for line in style.wrap(reason, options.width, hang, f"{hang}  ")]
    if measured.source:
        lines.append(f"{hang}  at {clean(measured.source)}")
    if measured.hint:
        lines += style.wrap(clean(measured.hint), options.width, f"{hang}  ", f"{hang}  ")
    return lines


# --- counts -----------------------------------------------------------------------------------


def _tables(models: list[Entry], options: Options, paint: Paint) -> list[list[str]]:
    """One with shares, else one without, else as many as it takes."""
    if not models:
        return []
    rows = rows_of(models)
    for shares in (True, False):
        columns = [_column(rows, number, shares) for number in range(len(models))]
        least = _HEADING if shares else _SHORT
        widths = [max(least, *map(len, column)) for column in columns]
        bands = _bands(widths, options.width)
        if len(bands) == 1:
            break
    return [
        _table(
            rows,
            [models[i] for i in band],
            [columns[i] for i in band],
            [widths[i] for i in band],
            paint,
        )
        for band in bands
    ]


def _column(rows: list[Row], number: int, shares: bool) -> list[str]:
    """The cells of one model; below each other, counts and shares are right-aligned."""
    cells = [row.cells[number] for row in rows]
    left = max(len(count) for count, _ in cells)
    right = max(len(share) for _, share in cells) if shares else 0
    return [f"{count:>{left}}" + (f"  {share:>{right}}" if right else "") for count, share in cells]


def _bands(widths: list[int], width: int) -> list[list[int]]:
    """Which columns stand beside each other: as many as fit, at least one."""
    bands: list[list[int]] = []
    room = 0
    for number, wide in enumerate(widths):
        if not bands or room < wide + _BETWEEN:
            bands.append([])
            room = width - _LABEL
        bands[-1].append(number)
        room -= wide + _BETWEEN
    return bands


def _table(
    rows: list[Row], models: list[Entry], columns: list[list[str]], widths: list[int], paint: Paint
) -> list[str]:
    names = [f"{model.letter} {model.name}" for model in models]
    heads = [style.elide_end(name, room) for name, room in zip(names, widths, strict=True)]
    head = _line("", heads, widths).rstrip()
    rule = paint("dim", _line("─" * _LABEL, ["─" * width for width in widths], widths))
    text = [paint("dim", head), rule]
    for number, row in enumerate(rows):
        line = _line(row.label, [column[number] for column in columns], widths).rstrip()
        label, cells = line[:_LABEL], line[_LABEL:]
        if row.label == "total":
            line = paint("bold", line)
        else:
            line = paint("dim", label) + cells.replace("–", paint("dim", "–"))
        text += [rule, line] if row.rule else [line]
    return text


def _line(label: str, cells: list[str], widths: list[int]) -> str:
    padded = [cell.rjust(width) for cell, width in zip(cells, widths, strict=True)]
    return (" " * _BETWEEN).join([label.ljust(_LABEL), *padded])


# --- words ------------------------------------------------------------------------------------


def _notes(models: list[Entry], options: Options, paint: Paint) -> list[str]:
    lines = []
    for model in models:
        hang = " " * (len(model.letter) + 2)
        for note in notes_of(model):
            text = style.wrap(f"{model.letter}  {note}", options.width, hang=hang)
            lines += [paint("dim", line) for line in text]
    return lines


def _parts(model: Entry, options: Options, paint: Paint) -> list[str]:
    """Which modules have which role, and why."""
    rows = [
        [
            group.role,
            clean(group.path) or "(root)",
            clean(group.type),
            f"{group.times:,} ×" if group.times > 1 else "",
            f"{group.count:,}",
            clean(group.because),
        ]
        for group in grouped(model.roles.parts)
    ]
    headers, align = ["role", f"module of {model.letter}", "type", "", "parameters"], "lllrr"
    if _excess([*headers, "because"], rows, options) <= 0:
        return ruled([*headers, "because"], rows, f"{align}l", paint)
    rows = [cells[:-1] for cells in rows]
    for column, least in ((1, 24), (2, 8), (1, 8)):
        excess, widths = _excess(headers, rows, options), column_widths(headers, rows)
        if excess > 0:
            for cells in rows:
                cells[column] = style.elide_middle(
                    cells[column], max(widths[column] - excess, least)
                )
    return ruled(headers, rows, align, paint)


def _excess(headers: list[str], rows: list[list[str]], options: Options) -> int:
    return sum(column_widths(headers, rows)) + _BETWEEN * (len(headers) - 1) - options.width
