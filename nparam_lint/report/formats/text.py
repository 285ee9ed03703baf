"""For people on a terminal: as wide as that is, findings next to the summary at the end."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from nparam_lint.report import style
from nparam_lint.report.budget_outcomes import ModelBudgets
from nparam_lint.report.document import Facts, Listing, Parts, Table, Text
from nparam_lint.report.folded_modules import Modules
from nparam_lint.report.style import Paint, clean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nparam_lint.report.document import Block, Document, Options, Section

NARROWEST = 40


def render(document: Document, options: Options) -> str:
    options = replace(options, width=max(options.width, NARROWEST))
    page, paint = document.page(options), Paint(options.color)
    if page.nothing:
        return "\n".join(style.wrap(page.nothing, options.width)) + "\n"
    shown = [s for s in page.sections if s.only != "page" and (s.always or not options.quiet)]
    parts = [_section(s, options.width, paint) for s in shown if not s.closing]
    if document.report and document.report.findings:
        from nparam_lint.report.findings_text import findings_lines

        parts.append(findings_lines(document.report.findings, options.width, paint))
    parts += [_section(section, options.width, paint) for section in shown if section.closing]
    parts.append([line for block in page.summary for line in _joined(block, options.width, paint)])
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n" if any(parts) else ""


def _section(section: Section, width: int, paint: Paint) -> list[str]:
    lines = [line for block in section.blocks for line in _block(block, width, paint)]
    if not section.title or (section.blocks and not lines):
        return lines
    note = f"  {section.note}" if section.note else ""
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
        from nparam_lint.report.model_lines import verdict_lines, verdict_lines_of

        if block.alone:
            return verdict_lines_of(block.models[0], width, paint)
        return verdict_lines(block.models, width, paint)
    if isinstance(block, Listing):
        from nparam_lint.report.model_lines import listing_lines

        return listing_lines(block, width, paint)
    return (
        _modules(block, width, paint) if isinstance(block, Modules) else _table(block, width, paint)
    )


def _table(block: Table | Modules, width: int, paint: Paint) -> list[str]:
    from nparam_lint.report.text_tables import table_lines

    return table_lines(block if isinstance(block, Table) else block.table, width, paint)


_modules = cache(_table)  # an answer that is kept for the next run is laid out twice


def _text(block: Text, width: int, paint: Paint) -> list[str]:
    text = clean(block.text)
    if block.kind == "verbatim":
        return [block.indent + paint(block.tone, text)]
    wrap = style.wrap_formula if block.kind == "formula" else style.wrap
    return [paint(block.tone, line) for line in wrap(text, width, block.indent, block.hang)]


def _facts(block: Facts, width: int, paint: Paint) -> list[str]:
    """Names, then numbers where there are any, then words that hang below their start."""
    names = max(len(fact.name) for fact in block.facts)
    numbers = max(len(fact.count or "") for fact in block.facts)
    hang = len(block.indent) + names + 2
    lines = []
    for fact in block.facts:
        head = f"{block.indent}{paint(block.tone, fact.name.ljust(names))}  "
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
    if block.plain:
        return ["  ".join(paint(tone, clean(text)) for tone, text in block.parts)]
    lines: list[str] = []
    used = 0
    for tone, text in block.parts:
        if lines and used + 3 + len(text) <= width:
            lines[-1] += paint(block.tone, " · ") + paint(tone, text)
            used += 3 + len(text)
        else:
            pieces = style.wrap(text, width)
            lines += [paint(tone, piece) for piece in pieces]
            used = len(pieces[-1])
    return lines
