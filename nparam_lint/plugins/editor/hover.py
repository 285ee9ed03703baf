"""What is told of a line when the mouse rests on it: a table of modules, in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nparam_lint.records import Measured
from nparam_lint.report import Document, Fact, Facts, Options, Page, Section, Text, style
from nparam_lint.report.findings import details
from nparam_lint.report.folded_modules import Modules
from nparam_lint.report.formats import render
from nparam_lint.report.style import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.plugins.editor.line_notes import DefinitionNote, FileNotes, LineNote
    from nparam_lint.records import Finding, LineRow
    from nparam_lint.report.annotate_document import AnnotatedModel

_DEPTH, _ROWS = 2, 24


def line_text(notes: FileNotes, number: int) -> str:
    """What is known of a line; empty where that is nothing."""
    found: list[str] = []
    if definition := notes.definitions.get(number):
        found.append(_definition(definition))
    if line := notes.lines.get(number):
        found.append(_line(line, notes.answer.place))
    return "\n\n".join(found)


def finding_text(finding: Finding) -> str:
    """What made the difference, and what to do, as it is laid out in a terminal."""
    lines = [clean(line) for line in details(finding)]
    return "\n".join(("```text", *lines, "```")) if lines else ""


def _definition(note: DefinitionNote) -> str:
    name = clean(note.target.partition("::")[2])
    measured = note.models[0].measurement if note.models else None
    if not isinstance(measured, Measured):
        return f"**{name}**: {note.title}"
    facts = [
        Fact(metric.label, clean(measured.no_routing or "") if count is None else f"{count:,}")
        for metric, count in style.shown_metrics(measured)
    ]
    table = Modules(measured.modules, _DEPTH, _ROWS, measured.parameters, name)
    call = Text(f"{clean(measured.call)}: {note.title}")
    page = Page((Section((call, table, Facts(tuple(facts)))),))
    document = Document("hover", dict, lambda _: page)
    return render("markdown", document, Options(depth=_DEPTH, rows=_ROWS)).strip()


def _line(note: LineNote, place: str) -> str:
    return "\n\n".join(
        part for one, row in note.models for part in _of_model(one, row, f"{place}:{note.line}")
    )


def _of_model(one: AnnotatedModel, row: LineRow, at: str) -> Iterator[str]:
    call = f"`{style.elide_end(clean(one.built.call), 60)}`"
    times = f", {row.times:,} times" if row.times > 1 else ""
    if row.count:
        share = style.share(row.count, one.total)
        yield f"**{row.count:,} parameters**{times}: {share} of {call}"
    else:
        yield f"leads to **{row.through:,} parameters** of {call}, which other lines make"
    made = [module for module in one.built.modules if module.source == at and module.path]
    if made:
        shown = made[:_ROWS]
        rows = [f"| `{clean(m.path)}` | {clean(m.type)} | {m.total:,} |" for m in shown]
        more = [f"| … {len(made) - _ROWS:,} more | | |"] if len(made) > _ROWS else []
        yield "\n".join(("| module | type | parameters |", "|---|---|---:|", *rows, *more))
