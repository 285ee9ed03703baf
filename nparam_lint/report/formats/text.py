"""For people on a terminal: as wide as the terminal, with findings next to the summary at the
end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.ground.printable import clean
from nparam_lint.report import (
    Facts,
    Listing,
    Parts,
    Table,
    Text,
    findings,
    lines_by_file,
    style,
)
from nparam_lint.report.budget_outcomes import ModelBudgets
from nparam_lint.report.style import PLAIN, WIDTH, Paint

if TYPE_CHECKING:
    from nparam_lint.report import Block, Cell, Document, Options, Section, Step

NARROWEST = 40
_Spec = tuple[int, str]  # how wide a column is, and at which side its texts are (`<`, `>`)
_BETWEEN = 2  # columns
_LEAST = {"path": 12, "formula": 12, "words": 16}  # characters of a column that is broken
_BAR = 10  # characters of a bar, where there is room
_HEADING, _SHORT = 16, 11  # the least width of a column of counts, with shares and without


def render(document: Document, options: Options) -> str:
    options = replace(options, width=max(options.width, NARROWEST))
    page, paint = document.page(options), Paint(options.color)
    if page.nothing:
        return "\n".join(style.wrap(clean(page.nothing), options.width)) + "\n"
    shown = [s for s in page.sections if s.only != "page" and (s.always or not options.quiet)]
    parts = [_section(s, options.width, paint) for s in shown if not s.closing]
    if document.report and document.report.findings:
        lines = findings.findings_lines(
            document.report.findings,
            options.width,
            paint,
            brief=options.is_brief,
            in_full=bool(options.verbose),
            heaviest=options.quiet and document.command != "show",
        )
        parts.append(lines)
    parts += [_section(section, options.width, paint) for section in shown if section.closing]
    parts.append([line for block in page.summary for line in _joined(block, options.width, paint)])
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n" if any(parts) else ""


def _section(section: Section, width: int, paint: Paint) -> list[str]:
    lines = [line for block in section.blocks for line in _block(block, width, paint)]
    if not section.title or (section.blocks and not lines):
        return lines
    note = f"  {clean(section.note)}" if section.note else ""
    title = style.elide_target(clean(section.title), width - len(note))
    return [paint("bold", title) + paint("dim", note), *lines]


def _block(block: Block, width: int, paint: Paint) -> Sequence[str]:
    if isinstance(block, Text):
        return _text(block, width, paint)
    if isinstance(block, Facts):
        return _facts(block, width, paint)
    if isinstance(block, Parts):
        return _joined(block, width, paint)
    if isinstance(block, ModelBudgets):
        return lines_by_file.verdict_lines(block, width, paint)
    if isinstance(block, Listing):
        return lines_by_file.listing_lines(block, width, paint)
    return table_lines(block if isinstance(block, Table) else block.table, width, paint)


def _text(block: Text, width: int, paint: Paint) -> list[str]:
    text = clean(block.text)
    if block.kind == "verbatim":
        return [block.indent + paint(block.tone, text)]
    wrap = style.wrap_formula if block.kind == "formula" else style.wrap
    return [paint(block.tone, line) for line in wrap(text, width, block.indent, block.hang)]


def _facts(block: Facts, width: int, paint: Paint) -> list[str]:
    """Names, then numbers where there are any, then words that hang below their start."""
    names = max(style.columns(clean(fact.name)) for fact in block.facts)
    numbers = max(len(fact.count or "") for fact in block.facts)
    hang = len(block.indent) + names + 2
    lines = []
    for fact in block.facts:
        head = f"{block.indent}{paint(block.tone, style.padded(clean(fact.name), names))}  "
        if fact.count is not None:
            number = paint(fact.tone, fact.count.rjust(numbers))
            lines.append(f"{head}{number}  {paint('dim', clean(fact.text))}".rstrip())
            continue
        first, *more = _WRAPS[fact.kind](clean(fact.text), width - hang)
        lines.append(head + paint(fact.tone, first))
        lines += [" " * hang + paint(fact.tone, line) for line in more]
        lines += [line for text in fact.below for line in _text(text, width, paint)]
    return lines


_WRAPS: dict[str, Callable[[str, int], list[str]]] = {
    "words": style.wrap,
    "formula": style.wrap_formula,
    "target": style.wrap_target,
}


def _joined(block: Parts, width: int, paint: Paint) -> list[str]:
    """On as few lines as hold the parts whole where they can."""
    parts = [(tone, clean(text)) for tone, text in block.parts]
    if block.plain:
        return ["  ".join(paint(tone, text) for tone, text in parts)]
    lines: list[str] = []
    column = 0
    for tone, text in parts:
        if lines and column + 3 + style.columns(text) <= width:
            lines[-1] += paint(block.tone, " · ") + paint(tone, text)
            column += 3 + style.columns(text)
        else:
            pieces = style.wrap(text, width)
            lines += [paint(tone, piece) for piece in pieces]
            column = style.columns(pieces[-1])
    return lines


# --- tables ---------------------------------------------------------------------------------------


def table_lines(table: Table, width: int = WIDTH, paint: Paint = PLAIN) -> list[str]:
    """The table in at most `width` if possible; nothing if it has no rows."""
    if not table.rows:
        return []
    if table.bands:
        return _banded(table, width, paint)
    grid = _Grid(table, width)
    for step in table.steps:
        if grid.excess > 0:
            grid.give_up(step)
    if grid.excess > 0 and table.narrow:
        return table_lines(table.narrow, width, paint)
    rooms = grid.rooms() if grid.excess > 0 else {}
    rows = [grid.lines(row, rooms) for row in grid.cells]
    widths = _widths(grid.headers, [line for lines in rows for line in lines])
    sides = (">" if table.columns[i].kind == "number" else "<" for i in grid.shown)
    specs = [*zip(widths, sides, strict=True)]
    text = _head(grid.headers, specs, paint)
    for number, (row, lines) in enumerate(zip(table.rows, rows, strict=True)):
        tones = [row.full[i].tone or table.columns[i].tone for i in grid.shown]
        texts = [_line(cells, specs, tones, paint) for cells in lines]
        if row.mark:
            texts[0] = paint(style.MARK_TONES.get(row.mark, ""), row.mark) + texts[0][1:]
        text += [text[1], *texts] if row.rule and number else texts
        for note in row.below:
            wrapped = style.wrap(clean(note), width, "      ", "      ")
            text += [paint("yellow", part) for part in wrapped]
    notes = (part for note in table.notes for part in style.wrap(clean(note), width))
    return text + [paint("dim", style.elide_middle(part, width)) for part in notes]


class _Grid:
    """The cells of a table as text, and which columns are still shown."""

    def __init__(self, table: Table, width: int) -> None:
        self.table, self.width = table, width
        self.lead = "  " if any(row.mark for row in table.rows) else ""  # room for marks
        self.dropped: set[int] = set()
        self.short: set[int] = set()
        self.cut: dict[int, Step] = {}
        self.bar = _BAR
        self.fill()

    def fill(self) -> None:
        """What is cut is cut no more than the width demands."""
        rows = self.table.rows
        self.cells = [[self._text(cell, i) for i, cell in enumerate(row.full)] for row in rows]
        self.measure()
        for at, step in self.cut.items():
            cut = style.elide_end if step.what == "cut" else style.elide_middle
            room = max(max(style.columns(row[at]) for row in self.cells) - self.excess, step.least)
            for row in self.cells:
                name = row[at].lstrip()
                indent = row[at][: len(row[at]) - len(name)]
                row[at] = indent + cut(name, max(room - len(indent), 1))
            self.measure()

    def _text(self, cell: Cell, column: int) -> str:
        text = clean(cell.short or cell.text if column in self.short else cell.text)
        bar = style.bar(*cell.bar, self.bar)
        return f"{bar.ljust(self.bar)} {text}" if bar and text else bar or text

    def measure(self) -> None:
        """`shown`: the first column in any case, and the others where they have something in any
        row. `excess`: how much too wide it is."""
        columns = enumerate(self.table.columns)
        there = (i for i, c in columns if not i or c.empty or any(row[i] for row in self.cells))
        self.shown = [i for i in there if i not in self.dropped]
        self.headers = [clean(self.table.columns[i].name) for i in self.shown]
        self.headers[0] = self.lead + self.headers[0]
        self.widths = _widths(self.headers, [self.lines(row, {})[0] for row in self.cells])
        self.excess = sum(self.widths) + _BETWEEN * (len(self.widths) - 1) - self.width

    def give_up(self, step: Step) -> None:
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
            self.cut[at] = step
        self.fill()

    def rooms(self) -> dict[int, int]:
        """How wide each column that can be broken may be. Paths come last: they take what is
        left."""
        widths = dict(zip(self.shown, self.widths, strict=True))
        broken = [i for i in self.shown if self.table.columns[i].kind in _LEAST]
        broken.sort(key=lambda i: self.table.columns[i].kind == "path")
        room = sum(widths[i] for i in broken) - self.excess
        rooms: dict[int, int] = {}
        for place, i in enumerate(broken, 1):
            reserve = sum(min(widths[j], room // 2) for j in broken[place:])
            rooms[i] = max(room - reserve, _LEAST[self.table.columns[i].kind])
            lines = [line for row in self.cells for line in self._broken(row[i], i, rooms[i])]
            room -= _width(self.table.columns[i].name, lines)
        return rooms

    def lines(self, row: Sequence[str], rooms: Mapping[int, int]) -> list[list[str]]:
        """The lines that a row takes, with room for a mark before each."""
        cells = [self._broken(row[i], i, rooms[i]) if i in rooms else [row[i]] for i in self.shown]
        lines = (list(line) for line in zip_longest(*cells, fillvalue=""))
        return [[self.lead + first, *cells] for first, *cells in lines]

    def _broken(self, cell: str, column: int, room: int) -> list[str]:
        kind = self.table.columns[column].kind
        if kind == "path":
            return style.wrap_path(cell, room)
        if kind == "formula":
            return style.wrap_formula(cell, room, "", " " if cell.startswith("(") else "  ")
        return style.wrap(cell, room)


def _widths(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    return [_width(header, [row[i] for row in rows]) for i, header in enumerate(headers)]


def _width(header: str, cells: Sequence[str]) -> int:
    """A column is at least two wider than its header, so that a line of headers is easy to read."""
    return max([style.columns(header) + 2, *map(style.columns, cells)])


def _head(headers: Sequence[str], specs: Sequence[_Spec], paint: Paint) -> list[str]:
    """The headers, and the line below them."""
    names = _line(headers, specs, [""] * len(headers), paint)
    rule = (" " * _BETWEEN).join("─" * width for width, _ in specs)
    return [paint("dim", names), paint("dim", rule)]


def _line(cells: Sequence[str], specs: Sequence[_Spec], tones: Sequence[str], paint: Paint) -> str:
    padded = (style.padded(cell, *spec) for cell, spec in zip(cells, specs, strict=True))
    texts = (_painted(tone, cell, paint) for tone, cell in zip(tones, padded, strict=True))
    return (" " * _BETWEEN).join(texts).rstrip()


def _painted(tone: str, cell: str, paint: Paint) -> str:
    """`times`: dim up to the last ×; a bar is drawn in a colour of its own, blanks in none."""
    core = cell.strip()
    if not paint.enabled or not core:
        return cell
    before, _, after = cell.partition(core)
    if tone == "times":
        times, sign, number = core.rpartition(" × ")
        return before + paint("dim", times + sign) + number + after
    beside = core.lstrip(style.EIGHTHS)
    text = beside.lstrip()
    bar = paint("cyan", core[: len(core) - len(beside)]) + beside[: len(beside) - len(text)]
    return before + bar + paint(tone, text) + after


# --- columns beside each other, as many as fit ----------------------------------------------------


def _banded(table: Table, width: int, paint: Paint) -> list[str]:
    """With shares where these fit beside the counts, else without; else as many tables as it
    takes, with a blank line between."""
    labels = [clean(row.texts[0]) for row in table.rows]
    label = max(map(style.columns, labels))
    for least in (_HEADING, _SHORT):
        columns = [
            _with_shares([row.full[i] for row in table.rows], least == _HEADING)
            for i in range(1, len(table.columns))
        ]
        widths = [max(least, *map(style.columns, column)) for column in columns]
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
        names = [style.elide_middle(clean(table.columns[i + 1].name), widths[i]) for i in band]
        specs = [(label, "<"), *((widths[i], ">") for i in band)]
        head = _head(["", *names], specs, paint)
        text += ["", *head] if text else head
        for number, row in enumerate(table.rows):
            cells = [labels[number], *(columns[i][number] for i in band)]
            tone = row.full[0].tone
            tones = [tone or ("dim" if cell.strip() == "–" else "") for cell in cells]
            tones[0] = tone or "dim"
            line = _line(cells, specs, tones, paint)
            text += [head[1], line] if row.rule and number else [line]
    return text


def _with_shares(cells: Sequence[Cell], shares: bool) -> list[str]:
    """The cells of one column; below each other, counts and shares are right-aligned."""
    texts = [clean(cell.text) for cell in cells]
    left = max(map(style.columns, texts))
    right = max(len(cell.share) for cell in cells) if shares else 0
    columns = zip(texts, cells, strict=True)
    return [
        style.padded(t, left, ">") + (f"  {c.share:>{right}}" if right else "") for t, c in columns
    ]
