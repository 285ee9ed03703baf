"""GitHub's Markdown: a comment for a pull request, the page of a job's summary, a table to keep.

Names are written as code, so that they mention nobody and link to nothing; other text is escaped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from nparam_lint.count.measured import Measured
from nparam_lint.ground.findings import Finding
from nparam_lint.ground.printable import clean
from nparam_lint.report import Facts, Parts, Table, Text, style
from nparam_lint.report.budget_outcomes import ModelBudgets, budgets_of, failing_table, worst
from nparam_lint.report.findings import details, joined, ranked
from nparam_lint.report.folded_modules import Modules
from nparam_lint.report.formats.text import table_lines
from nparam_lint.report.style import plural

if TYPE_CHECKING:
    from nparam_lint.report import Block, Document, Options, Page, Section

COMMENT = 65_536  # characters that GitHub takes for a comment; counted in bytes, to be safe
SUMMARY = 1_000_000  # bytes: GitHub drops a step's summary above 1,024 KiB as a whole
NOTE = 200  # bytes at most, for the words on what was cut
_MESSAGE = 1_000  # characters of a message
EMOJI = {"✓": "✅", "✗": "❌", "!": "⚠️", "–": "➖", "Δ": "Δ"}
_ROWS = 40
_LONGEST = 500  # characters of the foot, and of a cell


def render(document: Document, options: Options) -> str:
    """The comment, which a bot finds again by its first line; of what passes, one line. What gives
    no verdict has neither."""
    page = _page(document, options)
    if not page.mark:
        return summary(document, options, COMMENT).lstrip("\n")
    marker = f"<!-- {_name(document)} -->\n"
    if page.mark == "✓":
        return marker + _passed(document, page)
    return marker + summary(document, options, COMMENT - len(marker))


def summary(document: Document, options: Options, limit: int = SUMMARY) -> str:
    """The page for `$GITHUB_STEP_SUMMARY`, in no more than `limit` bytes of UTF-8. What does not
    fit is cut between rows and counted in a last line; empty where not even the verdict fits."""
    page = _page(document, options)
    if page.mark == "✓" and not page.sections and page.nothing:
        line = _passed(document, page)
        return line if size(line) <= limit else ""
    head = ""
    if page.mark:
        head = f"### {EMOJI[page.mark]} {_name(document)}: {plain_text(page.headline)}\n"
    text = page.foot or " · ".join(block.text for block in page.summary)
    foot = f"\n<sub>{plain_text(style.elide_end(text, _LONGEST))}</sub>\n" if text else ""
    room = limit - NOTE - size(head) - size(foot)
    if room < 0:
        return ""
    return head + fitted(_pieces(document, page), room) + foot


def _page(document: Document, options: Options) -> Page:
    return document.page(replace(options, rows=options.rows or _ROWS, quiet=False))


def _name(document: Document) -> str:
    is_check = document.command in ("check", "show")
    return "nparam-lint" if is_check else f"nparam-lint {document.command}"


def _passed(document: Document, page: Page) -> str:
    return f"{EMOJI[page.mark]} **{_name(document)}**: {plain_text(page.headline)}\n"


def _pieces(document: Document, page: Page) -> Iterator[Pieces]:
    if document.error is not None:
        yield fenced("line", document.error.splitlines())
        return
    before, after = page.around_findings
    for block in (block for section in after for block in section.blocks):
        if isinstance(block, ModelBudgets) and not block.alone:
            yield _table(failing_table(block.models))
    for section in before:
        yield from _section(section)
    if document.report and document.report.findings:
        items = [finding_item(finding) for finding in joined(ranked(document.report))]
        yield Pieces("finding", "**Findings**\n\n", items)
    for section in after:
        yield from _section(section)


def _section(section: Section) -> Iterator[Pieces]:
    pieces = [piece for block in section.blocks for piece in _block(block) if piece.rows]
    if not section.fold:
        if section.title:
            yield Pieces("title", "", [f"**{plain_text(section.title)}**\n"])
        yield from pieces
    elif pieces:
        title = f" <code>{style.escape(section.title)}</code>" if section.title else ""
        head = "\n".join([*map(whole, pieces[:-1]), pieces[-1].head])
        fold = folded(style.escape(section.fold) + title, replace(pieces[-1], head=head))
        noun = f"table of {fold.noun}s"
        yield Pieces(noun, "", [whole(fold)]) if section.title else fold


def _block(block: Block) -> Iterator[Pieces]:
    if isinstance(block, Text):
        text = plain_text(block.text) if block.kind == "words" else code(block.text)
        yield Pieces("line", "", [f"{text}\n"] if text else [])
    elif isinstance(block, Parts):
        yield Pieces("line", "", [f"{plain_text(block.text)}\n"])
    elif isinstance(block, Facts):
        rows = []
        for fact in block.facts:
            value = plain_text(fact.text) if fact.kind == "words" else code(fact.text)
            name = f"**{plain_text(fact.name)}**" if fact.name else ""
            below = "; ".join(plain_text(text.text.removeprefix("– ")) for text in fact.below)
            line = " ".join(filter(None, (name, fact.count, value)))
            rows.append(f"- {line}{f': {below}' if below else ''}\n")
        yield Pieces("line", "", rows)
    elif isinstance(block, Modules) or (isinstance(block, Table) and block.is_source):
        table = block.table if isinstance(block, Modules) else block
        yield fenced(table.noun, table_lines(table))
    elif isinstance(block, ModelBudgets) and not block.alone:
        for model in block.models:
            measured = model.measurement
            broken = any(claim.state == "broken" for claim in budgets_of(model))
            if broken and isinstance(measured, Measured):
                total = f"{measured.counts.total:,} parameters"
                title = f"Modules of <code>{style.escape(model.target)}</code>: {total}"
                (piece,) = _block(Modules(measured, block.depth, _ROWS))
                yield Pieces(
                    "module table", "", [whole(folded(title, piece))] if piece.rows else []
                )
        title = f"{plural(len(block.models), 'model')} with what is declared"
        yield folded(title, _table(block.table))
    else:
        yield _table(block if isinstance(block, Table) else block.table)


def _table(table: Table) -> Pieces:
    marks = [""] if any(row.mark for row in table.rows) else []
    names = [*marks, *(plain_text(column.name) for column in table.columns)]
    ends = ["---:" if column.kind == "number" else "---" for column in table.columns]
    head = _line(names).replace("|  |", "| |") + f"|{'|'.join([*('---' for _ in marks), *ends])}|\n"
    rows = []
    for row in table.rows:
        cells = [EMOJI.get(row.mark, row.mark)] if marks else []
        for cell, column in zip(row.full, table.columns, strict=True):
            notes = row.below if column.notes else ()
            text = clean("; ".join(part for part in (cell.text, *notes) if part))
            text = style.elide_end(text, _LONGEST)
            text = code(text).replace("|", "\\|") if column.is_code else plain_text(text)
            text = f"**{text}**" if cell.tone == "bold" and text else text
            cells.append(f"{text} ({plain_text(cell.share)})" if cell.share else text)
        rows.append(_line(cells))
    for note in table.notes:
        rows.append(_line([*marks, plain_text(note), *[""] * (len(ends) - 1)]))
    return Pieces(table.noun, head, rows)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


class Pieces(Struct, frozen=True):
    """A part of the page that may be cut between its `rows`; `noun`: what one of them is."""

    noun: str
    head: str
    rows: Sequence[str]
    tail: str = ""


# --- fitting ----------------------------------------------------------------------------------


def fitted(blocks: Iterable[Pieces], room: int) -> str:
    """All that fits; what must be cut leaves half of the room to what comes after it."""
    text = ""
    cuts: Counter[str] = Counter()
    for block in blocks:
        fitting = _that_fit(block, room)
        if fitting < len(block.rows):
            fitting = _that_fit(block, room // 2)
            cuts[block.noun] += len(block.rows) - fitting
        if fitting:
            part = f"\n{block.head}{''.join(block.rows[:fitting])}{block.tail}"
            text, room = text + part, room - size(part)
    if cuts:
        what = ", ".join(plural(count, noun) for noun, count in cuts.items())
        text += f"\n*Cut to what fits here: {what} left out.*\n"
    return text


def whole(block: Pieces) -> str:
    return f"{block.head}{''.join(block.rows)}{block.tail}"


def _that_fit(block: Pieces, room: int) -> int:
    room -= 1 + size(block.head) + size(block.tail)
    for fitting, row in enumerate(block.rows):
        room -= size(row)
        if room < 0:
            return fitting
    return len(block.rows)


def size(text: str) -> int:
    return len(text.encode("utf-8"))


# --- notation ---------------------------------------------------------------------------------


def folded(title: str, block: Pieces) -> Pieces:
    """`title` is HTML. The blank lines let Markdown begin again."""
    head = f"<details>\n<summary>{title}</summary>\n\n{block.head}"
    return Pieces(block.noun, head, block.rows, f"{block.tail}\n</details>\n")


def fenced(noun: str, lines: Sequence[str]) -> Pieces:
    cleaned = [f"{clean(line)}\n" for line in lines]
    fence = "`" * max(3, 1 + _longest_run("".join(cleaned)))
    return Pieces(noun, f"{fence}text\n", cleaned, f"{fence}\n")


def _longest_run(text: str) -> int:
    """Of backticks."""
    return max(map(len, re.findall("`+", text)), default=0)


def code(text: str) -> str:
    cleaned = clean(text)
    if not cleaned.strip():
        return ""
    ticks = "`" * (1 + _longest_run(cleaned))
    blank = " " if cleaned.startswith(("`", " ")) or cleaned.endswith(("`", " ")) else ""
    return f"{ticks}{blank}{cleaned}{blank}{ticks}"


def plain_text(text: str) -> str:
    """As it is, whatever Markdown or GitHub would make of it: a mention is cut by a blank of no
    width, since an escaped one still notifies."""
    inert = re.sub(r"([@#]|\bGH-)(?=\w)", "\\1\u200b", clean(text))
    return re.sub(r"([\\`*_{}\[\]<>|~$&])", r"\\\1", inert)


def finding_item(finding: Finding) -> str:
    at = finding.position
    mark = EMOJI[worst([finding])]
    place = code(f"{at.path}:{at.line}")
    message = plain_text(style.elide_end(clean(finding.message), _MESSAGE))
    line = f"- {mark} {place} **{finding.code}** {message}\n"
    below = details(finding)
    if not below:
        return line
    detail = whole(fenced("line", [style.elide_end(text, _MESSAGE) for text in below]))
    return line + "".join(f"  {text}\n" for text in detail.splitlines())
