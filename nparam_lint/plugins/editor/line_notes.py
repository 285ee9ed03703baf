"""What an editor shows beside lines of source: the parameters that each makes, and above the
definition of a model its count and its budgets."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from typing import TYPE_CHECKING

from nparam_lint.records import Measured, Position
from nparam_lint.report import style
from nparam_lint.report.annotate_document import annotated, covering
from nparam_lint.report.budget_outcomes import is_empty, total_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.plugins.editor.answers import FileAnswer
    from nparam_lint.records import LineRow, ModelReport
    from nparam_lint.report.annotate_document import AnnotatedModel


@dataclass(frozen=True, slots=True)
class LineNote:
    """What a line makes. `label`: beside it; `models`: what it makes of each model."""

    line: int
    label: str
    models: tuple[tuple[AnnotatedModel, LineRow], ...]


@dataclass(frozen=True, slots=True)
class DefinitionNote:
    """What is said above the definition of a class or factory. `models`: those that it makes, first
    the one that is built with its defaults. `is_declared`: whether it has a budget."""

    line: int
    target: str
    title: str
    models: tuple[ModelReport, ...] = ()
    is_declared: bool = False


@dataclass(frozen=True)
class FileNotes:
    """All notes of a file, by their lines, which count from 1 in the text that was checked."""

    answer: FileAnswer

    @cached_property
    def lines(self) -> dict[int, LineNote]:
        answer = self.answer
        root, place = answer.settings.root, answer.place
        found = [annotated(model, root, place) for model in answer.report.models]
        shown, alike = covering([one for one in found if one is not None])
        made: dict[int, list[tuple[AnnotatedModel, LineRow]]] = {}
        for one in (*shown, *alike):
            for row in one.rows:
                made.setdefault(row.line, []).append((one, row))
        return {n: LineNote(n, _label(*pairs[0]), tuple(pairs)) for n, pairs in made.items()}

    @cached_property
    def definitions(self) -> dict[int, DefinitionNote]:
        answer, found = self.answer, {}
        by_line: dict[int, list[ModelReport]] = {}
        for model in answer.report.models:
            if model.position.path == answer.place:
                by_line.setdefault(model.position.line, []).append(model)
        for line, models in by_line.items():
            # As `covering` orders them, whose first one the lines are shown of.
            order = sorted(models, key=lambda m: (m.way is not None, -(total_of(m) or 0)))
            first, *others = order
            if all(map(is_empty, models)):
                continue
            target = first.target.partition("(")[0]
            is_declared = any(model.declared for model in models)
            title = _title(first, others)
            found[line] = DefinitionNote(line, target, title, (first, *others), is_declared)
        for line, note in (*self._inside(), *self._skipped()):
            found.setdefault(line, note)
        return found

    def _inside(self) -> Iterator[tuple[int, DefinitionNote]]:
        """Classes that other models contain, and nobody builds alone."""
        for target, ways in self.answer.report.inside_by_target.items():
            one = max(ways, key=lambda way: way.times)
            at = Position.read(one.row.source)
            if at is not None and at.path == self.answer.place:
                host = style.clean(one.model.target.partition("::")[2])
                times = f"{one.times:,}× in {host}" if one.times > 1 else f"in {host}"
                title = f"{one.row.total:,} parameters · {times}"
                yield at.line, DefinitionNote(at.line, target, title)

    def _skipped(self) -> Iterator[tuple[int, DefinitionNote]]:
        """Models that could not be built."""
        places = _definition_lines(self.answer.text)
        for target, why in self.answer.report.skipped:
            path, _, name = target.partition("::")
            if path == self.answer.place and name in places:
                title = f"not counted: {style.short_reason(why.reason, name)}"
                yield places[name], DefinitionNote(places[name], target, title)

    def shifted(self, text: Sequence[str]) -> dict[int, int]:
        """Where the lines that were checked stand in the text of a buffer; those that are not
        there any more, or not yet saved, are left out. Lines count from 1."""
        return _same_lines(self.answer.text, text)


def _label(one: AnnotatedModel, row: LineRow) -> str:
    """`⟵ 21.3M · 12× · 17.1 %`; in brackets what other lines of the file count."""
    if not row.count:
        return f"⟵ ({style.rounded(row.through)})"
    times = f"{row.times:,}×" if row.times > 1 else ""
    parts = (style.rounded(row.count), times, style.share(row.count, one.total))
    return "⟵ " + " · ".join(part for part in parts if part)


def _title(first: ModelReport, others: Sequence[ModelReport]) -> str:
    """`124,439,808 parameters · budget holds`."""
    total = total_of(first)
    if isinstance(first.measurement, Measured):
        parts = [f"{total:,} parameters"]
    else:
        name = first.target.partition("::")[2]
        parts = [f"not counted: {style.short_reason(first.measurement.reason, name)}"]
    results = [result for model in (first, *others) for result in model.budgets]
    results = [result for result in results if result.origin != "prose"]
    broken = [result for result in results if not result.ok]
    if len(broken) == len(results) == 1 and broken[0].actual is not None:
        parts.append(f"budget is broken: {style.drift(broken[0])}")
    elif broken:
        parts.append(f"{len(broken)} of {style.plural(len(results), 'budget')} not met")
    elif results:
        parts.append("budget holds" if len(results) == 1 else f"{len(results)} budgets hold")
    else:
        parts.append("no budget")
    sizes = sorted({count for other in others if (count := total_of(other)) not in (None, total)})
    if sizes:
        ends = " … ".join(style.rounded(size) for size in dict.fromkeys((sizes[0], sizes[-1])))
        parts.append(f"{style.plural(len(sizes), 'other size')}: {ends}")
    return " · ".join(parts)


def _definition_lines(text: Sequence[str]) -> dict[str, int]:
    """Qualified name of each class and function → its line."""
    try:
        tree = ast.parse("\n".join(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found: dict[str, int] = {}
    todo: list[tuple[ast.AST, str]] = [(tree, "")]
    for node, prefix in todo:
        for child in ast.iter_child_nodes(node):
            named = isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
            name = f"{prefix}{child.name}" if named else prefix  # type: ignore[attr-defined]
            if named:
                found[name] = child.lineno  # type: ignore[attr-defined]
            if isinstance(child, (ast.ClassDef, ast.If, ast.Try)):
                todo.append((child, f"{name}." if named else prefix))
    return found


def _same_lines(old: Sequence[str], new: Sequence[str]) -> dict[int, int]:
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    same = {n + 1: n + 1 for n in range(start)}
    middle = SequenceMatcher(
        None, old[start : len(old) - end], new[start : len(new) - end], autojunk=False
    )
    for block in middle.get_matching_blocks():
        same |= {start + block.a + n + 1: start + block.b + n + 1 for n in range(block.size)}
    return same | {len(old) - n: len(new) - n for n in range(end)}
