"""What an editor shows beside lines of source: the parameters that each makes, and above the
definition of a model its count and its budgets."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from nparam_lint.count.measured import LineRow, Measured
from nparam_lint.gate.lookup import definition_lines
from nparam_lint.ground.grouping import grouped
from nparam_lint.ground.lines import lines_now
from nparam_lint.ground.printable import clean
from nparam_lint.ground.values import Position
from nparam_lint.report import Document, Fact, Facts, Options, Page, Section, Text, style
from nparam_lint.report.annotate_document import AnnotatedModel, annotated, covering
from nparam_lint.report.budget_outcomes import is_empty, total_of
from nparam_lint.report.findings import details
from nparam_lint.report.folded_modules import Modules
from nparam_lint.report.formats import render

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.api.editor.answers import FileAnswer
    from nparam_lint.gate.report import ModelReport
    from nparam_lint.ground.findings import Finding

_DEPTH, _ROWS = 2, 24  # of a table


class DefinitionNote(Struct, frozen=True):
    """What is said above the definition of a class or factory. `models`: those that it makes, first
    the one that is built with its defaults. `is_declared`: whether it has a budget."""

    target: str
    title: str
    models: tuple[ModelReport, ...] = ()
    is_declared: bool = False


class FileNotes(Struct, frozen=True, dict=True):
    """All notes of a file, by their lines, which count from 1 in the text that was checked."""

    answer: FileAnswer

    @cached_property
    def lines(self) -> dict[int, list[tuple[AnnotatedModel, LineRow]]]:
        """What a line makes of each model."""
        answer = self.answer
        root, place = answer.session.root, answer.place
        models = [annotated(model, root, place) for model in answer.report.models]
        shown, alike = covering([model for model in models if model is not None])
        pairs = ((model, row) for model in (*shown, *alike) for row in model.rows)
        return grouped(pairs, lambda pair: pair[1].line)

    @cached_property
    def definitions(self) -> dict[int, DefinitionNote]:
        """Of the models that were counted, of the classes that others contain and nobody builds
        alone, and of the models that could not be built."""
        answer, notes = self.answer, dict[int, DefinitionNote]()
        here = [model for model in answer.report.models if model.position.path == answer.place]
        for line, models in grouped(here, lambda model: model.position.line).items():
            if all(map(is_empty, models)):
                continue
            # As `covering` orders them, whose first one the lines are shown of.
            models.sort(key=lambda m: (m.way is not None, -(total_of(m) or 0)))
            target = models[0].bare
            is_declared = any(model.declared for model in models)
            notes[line] = DefinitionNote(target, _title(models), tuple(models), is_declared)
        for target, ways in answer.report.inside_by_target.items():
            most = max(ways, key=lambda way: way.times)
            at = Position.read(most.row.source)
            if at is not None and at.path == answer.place:
                host = clean(most.model.target.partition("::")[2])
                times = f"{most.times:,}× in {host}" if most.times > 1 else f"in {host}"
                title = f"{most.row.total:,} parameters · {times}"
                notes.setdefault(at.line, DefinitionNote(target, title))
        prefix = f"{answer.place}::"
        skipped = [(target, why) for target, why in answer.report.skipped if prefix in target]
        text = "\n".join(answer.text).encode()
        lines = definition_lines(answer.place, text) if skipped else {}
        for target, why in skipped:
            if target in lines:
                reason = style.short_reason(why.reason, target.removeprefix(prefix))
                notes.setdefault(lines[target], DefinitionNote(target, f"not counted: {reason}"))
        return notes

    def shifted(self, text: Sequence[str]) -> dict[int, int]:
        """Where the lines that were checked stand in the text of a buffer; those that are not
        there any more, or not yet saved, are left out. Lines count from 1."""
        old, places = self.answer.text, lines_now(self.answer.text, text)
        return {line: now for line, now in places.items() if old[line - 1] == text[now - 1]}


def label(model: AnnotatedModel, row: LineRow) -> str:
    """`⟵ 21.3M · 12× · 17.1 %`; in brackets what other lines of the file count."""
    if not row.count:
        return f"⟵ ({style.rounded(row.through)})"
    times = f"{row.times:,}×" if row.times > 1 else ""
    parts = (style.rounded(row.count), times, style.share(row.count, model.total))
    return "⟵ " + " · ".join(part for part in parts if part)


def _title(models: Sequence[ModelReport]) -> str:
    """`124,439,808 parameters · budget holds`: of the first, and the sizes of the others."""
    first = models[0]
    total = total_of(first)
    if isinstance(first.measurement, Measured):
        parts = [f"{total:,} parameters"]
    else:
        name = first.target.partition("::")[2]
        parts = [f"not counted: {style.short_reason(first.measurement.reason, name)}"]
    results = [b for model in models for b in model.budgets]
    broken = [result for result in results if not result.ok]
    if len(broken) == len(results) == 1 and broken[0].actual is not None:
        parts.append(f"budget is broken: {style.drift(broken[0])}")
    elif broken:
        parts.append(f"{len(broken)} of {style.plural(len(results), 'budget')} not met")
    elif results:
        parts.append("budget holds" if len(results) == 1 else f"{len(results)} budgets hold")
    else:
        parts.append("no budget")
    sizes = sorted({count for model in models if (count := total_of(model)) not in (None, total)})
    if sizes:
        ends = " … ".join(style.rounded(size) for size in dict.fromkeys((sizes[0], sizes[-1])))
        parts.append(f"{style.plural(len(sizes), 'other size')}: {ends}")
    return " · ".join(parts)


# --- what is told when the mouse rests on a line: Markdown ---------------------------------------


def line_text(notes: FileNotes, number: int) -> str:
    """What is known of a line; empty where that is nothing."""
    definition = notes.definitions.get(number)
    parts = [_definition_text(definition)] if definition else []
    at = f"{notes.answer.place}:{number}"
    for model, row in notes.lines.get(number, ()):
        parts += _of_model(model, row, at)
    return "\n\n".join(parts)


def finding_text(finding: Finding) -> str:
    """What made the difference, and what to do, as it is laid out in a terminal."""
    lines = [clean(line) for line in details(finding)]
    return "\n".join(("```text", *lines, "```")) if lines else ""


def _definition_text(note: DefinitionNote) -> str:
    name = clean(note.target.partition("::")[2])
    measured = note.models[0].measurement if note.models else None
    if not isinstance(measured, Measured):
        return f"**{name}**: {note.title}"
    facts = [
        Fact(metric.label, measured.no_routing or "" if count is None else f"{count:,}")
        for metric, count in style.shown_metrics(measured)
    ]
    table = Modules(measured, _DEPTH, _ROWS, name)
    call = Text(f"{measured.call}: {note.title}")
    page = Page((Section((call, table, Facts(tuple(facts)))),))
    document = Document("hover", dict, lambda _: page)
    return render("markdown", document, Options(depth=_DEPTH, rows=_ROWS)).strip()


def _of_model(model: AnnotatedModel, row: LineRow, at: str) -> Iterator[str]:
    call = f"`{style.elide_end(clean(model.built.call), 60)}`"
    times = f", {row.times:,} times" if row.times > 1 else ""
    if row.count:
        share = style.share(row.count, model.total)
        yield f"**{row.count:,} parameters**{times}: {share} of {call}"
    else:
        yield f"leads to **{row.through:,} parameters** of {call}, which other lines make"
    modules = [module for module in model.built.modules if module.source == at and module.path]
    if modules:
        rows = [
            f"| `{clean(module.path)}` | {clean(module.type)} | {module.total:,} |"
            for module in modules[:_ROWS]
        ]
        if len(modules) > _ROWS:
            rows.append(f"| … {len(modules) - _ROWS:,} more | | |")
        yield "\n".join(("| module | type | parameters |", "|---|---|---:|", *rows))
