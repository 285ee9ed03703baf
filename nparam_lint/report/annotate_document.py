"""The document of `annotate`: source with what each line made in the margin.

The counts of a file's lines and what was made without any of them add up to the model's total.
What a line led to, and another line of the file counts, stands in brackets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from nparam_lint.count.measured import LineRow, Measured, NotMeasured
from nparam_lint.gate.report import ModelReport, Report
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.report import Cell, Column, Document, Page, Row, Section, Step, Table, Text, style
from nparam_lint.report.json_records import (
    CountedDocument,
    MeasuredRecord,
    NotMeasuredRecord,
    Placed,
    record,
)
from nparam_lint.report.not_counted import absent
from nparam_lint.report.overview import place_of_way

if TYPE_CHECKING:
    from nparam_lint.report import Block, Options

_MODELS = 4  # of one file, without -v
_CALL = 60  # characters of a call that is only mentioned
_AROUND = 1  # lines of context before and after a line that makes something
_GAP = 2  # lines between two hunks that are shown rather than left out
_HEADER = late_pattern(r"\s*(?:class|def|async def)\b")
_COLUMNS = (
    Column("parameters", "number"),
    Column("", "number"),
    Column("share", "number"),
    Column("line", "number", "dim"),
    Column("source", "source"),
)
_STEPS = (Step("cut", "source", 32), Step("drop", "share"), Step("cut", "source", 12))


class AnnotatedModel(Struct, frozen=True):
    """What the lines of one file made of a model. `built`: what was built, and counted; where the
    target is a class inside another model, that model. `files`: what the lines of each file made
    themselves; together with what no line made, the total. `text`: the lines of the file at `path`;
    None where it cannot be read. `rows`: those that made something, in their order."""

    model: ModelReport
    built: Measured
    files: Mapping[str, int]
    path: str
    text: tuple[str, ...] | None
    rows: tuple[LineRow, ...]

    @property
    def total(self) -> int:
        """Of the model."""
        return self.built.counts.total

    @property
    def count(self) -> int:
        """What its lines made, alone or by what they called."""
        return sum(row.count for row in self.rows)

    @property
    def elsewhere(self) -> int:
        """What was made without any of its lines."""
        return self.total - self.count

    def line(self, number: int) -> str:
        text = self.text or ()
        return text[number - 1].expandtabs(4) if 0 < number <= len(text) else ""

    def table(self, whole: bool = False) -> Table:
        """The lines that made something with some around them, or all lines."""
        by_line = {row.line: row for row in self.rows}
        text = self.text or ()
        shown = range(1, len(text) + 1) if whole and text else _hunks(text, by_line.keys())
        rows, before = [], None
        for number in shown:
            if before is not None and number > before + 1:
                rows.append(Row(("", "", "", "…", "")))
            row, source, before = by_line.get(number), self.line(number), number
            if row is None:
                rows.append(Row(("", "", "", f"{number}", Cell(source, "dim"))))
                continue
            count, tone = Cell(f"{row.count:,}", "bold"), ""
            if not row.count:  # in brackets, so that the rest adds up
                count, tone = Cell(f"({row.through:,})", "dim"), "dim"
            times = Cell(f"{row.times:,}×" if row.times > 1 else "", tone)
            share = style.share(row.count, self.total)
            rows.append(Row((count, times, share, f"{number}", source)))
        return Table(_COLUMNS, tuple(rows), _STEPS, notes=tuple(self.notes()), noun="line")

    def notes(self) -> Iterable[str]:
        if self.text is None:
            yield f"{self.path} cannot be read"
        if self.elsewhere:
            share = style.share(self.elsewhere, self.total)
            yield f"made without a line of this file: {self.elsewhere:,} ({share})"


class _Answer(Struct, frozen=True):
    """`request`: as it was written. `alike`: models whose lines are those of the ones that are
    `shown`. `failed`: where none is shown, a target that could not be built."""

    report: Report
    request: str
    shown: Sequence[AnnotatedModel]
    alike: Sequence[AnnotatedModel]
    failed: tuple[str, NotMeasured] | None


def annotate_document(report: Report, root: Path, request: str, file: str | None) -> Document:
    """`request`: as it was written; `file`: the one whose lines are wanted, if that was asked for,
    otherwise it is the one of the first model."""
    models = report.models if file else report.models[:1]
    sources = [source for model in models if (source := annotated(model, root, file)) is not None]
    shown, alike = covering(sources) if file else (sources, [])
    failed = (
        (model.target, model.measurement)
        for model in models
        if not (shown or model.host) and isinstance(model.measurement, NotMeasured)
    )
    answer = _Answer(report, request, shown, alike, next(failed, None))
    lines = []
    for source in shown:
        for row in (row for row in source.rows if row.count):
            times = f" ({row.times:,}×)" if row.times > 1 else ""
            part = f"{style.share(row.count, source.total)} of {source.built.call}"
            lines.append(f"{row.place}:1: {row.count:,} parameters{times}, {part}")
    if answer.failed:
        lines.append(f"{request}: not measured: {answer.failed[1].reason}")
    return Document(
        "annotate",
        lambda: _data(answer),
        lambda options: _page(answer, options),
        report.error,
        lines=tuple(lines),
    )


def annotated(model: ModelReport, root: Path, file: str | None) -> AnnotatedModel | None:
    """What the lines of `file` made of a model; without one, those of its own file, or of the one
    whose lines made most. None where `file` made nothing, or where the model was not built. `root`:
    of the project."""
    measured = model.host or model.measurement
    if not isinstance(measured, Measured):
        return None
    sums: Counter[str] = Counter()
    for row in measured.lines:
        sums[row.path] += row.own
    files = dict(sums.most_common())
    path = file or model.position.path
    if not file and path not in files:
        path = next(iter(files), path)
    rows = tuple(row for row in measured.lines if row.path == path)
    if file and not rows:
        return None
    place = root / (rows[0].file if rows and rows[0].file else path)
    try:
        text = tuple(place.read_text("utf-8", "replace").removesuffix("\n").split("\n"))
    except (OSError, ValueError):
        text = None
    return AnnotatedModel(model, measured, files, path, text, rows)


def covering(models: Sequence[AnnotatedModel]) -> tuple[list[AnnotatedModel], list[AnnotatedModel]]:
    """The models of a file, first those that are built with their defaults, of these the one that
    its lines make most of, as far as each has a line that none before has; and the others."""
    shown: list[AnnotatedModel] = []
    alike: list[AnnotatedModel] = []
    shown_lines: set[int] = set()
    for source in sorted(models, key=lambda source: (source.model.way is not None, -source.count)):
        lines = {row.line for row in source.rows}
        (shown if lines - shown_lines else alike).append(source)
        shown_lines |= lines
    return shown, alike


# --- the lines of a file --------------------------------------------------------------------------


def _hunks(text: Sequence[str], makers: Set[int]) -> list[int]:
    """The numbers of the lines that made something, of those around them, and of the headers of
    the functions and classes that they stand in."""
    near = set(makers)
    for number in makers:
        near |= {*range(number - _AROUND, number + _AROUND + 1), *_headers(text, number)}
    ordered = sorted(n for n in near if n in makers or (0 < n <= len(text) and text[n - 1].strip()))
    shown = set(ordered)
    for number, following in pairwise(ordered):
        if following - number <= _GAP + 1:
            shown |= {*range(number, following)}
    return sorted(shown)


def _headers(text: Sequence[str], number: int) -> Iterable[int]:
    if not 0 < number <= len(text):
        return
    deep = _indent(text[number - 1])
    for above in range(number - 1, 0, -1):
        line = text[above - 1]
        if line.strip(" \t)]}:") and _indent(line) < deep and line.lstrip()[:1] not in ")]}":
            deep = _indent(line)
            if _HEADER.match(line):
                yield above
        if not deep:
            return


def _indent(line: str) -> int:
    line = line.expandtabs(4)
    return len(line) - len(line.lstrip())


# --- for people -----------------------------------------------------------------------------------


def _page(answer: _Answer, options: Options) -> Page:
    shown = answer.shown
    most = len(shown) if options.verbose else _MODELS
    sections = [section for source in shown[:most] for section in _sections(source, options)]
    if len(shown) > most:
        text = f"… and {style.plural(len(shown) - most, 'more model')} (-v lists them)"
        sections.append(Section((Text(text, "dim"),)))
    if answer.alike:
        names = [
            f"{style.elide_end(source.built.call, _CALL)} ({source.total:,})"
            for source in answer.alike
        ]
        text = f"The same lines make {', '.join(style.first(names, 3))}."
        sections.append(Section((Text(text, "dim"),)))
    if answer.failed:
        target, failure = answer.failed
        sections.append(Section((Text(target, "bold"), *absent(failure)), always=True))
    elif not shown:
        text = f"No line of {answer.request} makes a parameter of a model that could be built."
        lines = [Text(text)]
        for target, failure in answer.report.skipped[:_MODELS]:
            words = style.short_reason(failure.reason, target.partition("::")[2])
            lines.append(Text(f"– {target}  {words}", indent="  ", hang="      "))
        lines.append(Text(f"next: nparam-lint {answer.request}", "dim"))
        sections.append(Section(tuple(lines), always=True))
    return Page(tuple(sections), headline=f"lines of {answer.request}")


def _sections(source: AnnotatedModel, options: Options) -> Iterator[Section]:
    model, total = source.model, f"{source.total:,} parameters"
    way = f", as built in {place_of_way(model, model.target)}" if model.way else ""
    words = Text(f"{source.built.call}: {total}{way}", hang="  ")
    block: Block = source.table(whole=bool(options.verbose))
    if not source.rows:
        block = Text("No line of the project, or of a package, is known to make a parameter.")
    yield Section((words, block), title=source.path, always=True)
    rows = (
        Row((path, f"{count:,}", style.share(count, source.total)))
        for path, count in source.files.items()
        if count and path != source.path
    )
    columns = Column("made in", "code"), Column("parameters", "number"), Column("share", "number")
    table = Table(columns, tuple(rows), (Step("shorten", "made in", 16),), noun="file")
    if table.rows:
        yield Section((Text("Made in other files; above, at the line that led there:"), table))


# --- for programs ---------------------------------------------------------------------------------


@dataclass(kw_only=True)
class AnnotatedLine:
    line: int
    count: int
    own: int
    through: int
    times: int
    share: float
    text: str


@dataclass(kw_only=True)
class AnnotatedRecord(Placed, MeasuredRecord):
    """The counts of the lines of `file` and its `elsewhere` add up to the total; so do the sums of
    `files` and `unknown`."""

    target: str
    file: str
    lines: Sequence[AnnotatedLine]
    elsewhere: int
    files: Mapping[str, int]
    unknown: int


@dataclass(kw_only=True)
class FailedAnnotation(NotMeasuredRecord):
    target: str


@dataclass(kw_only=True)
class ModelName:
    target: str
    call: str


@dataclass(kw_only=True)
class AnnotateDocument(CountedDocument):
    given: str
    models: Sequence[AnnotatedRecord | FailedAnnotation]
    alike: Sequence[ModelName]


def _data(answer: _Answer) -> AnnotateDocument:
    models: list[AnnotatedRecord | FailedAnnotation] = []
    for source in answer.shown:
        lines = [
            record(
                AnnotatedLine,
                row,
                share=row.count / source.total if source.total else 0.0,
                text=source.line(row.line),
            )
            for row in source.rows
        ]
        model = record(
            AnnotatedRecord,
            source.model.position,
            source.built,
            target=source.model.target,
            counts=source.built.counts.by_name(),
            file=source.path,
            lines=lines,
            elsewhere=source.elsewhere,
            files=source.files,
            unknown=source.total - sum(source.files.values()),
        )
        models.append(model)
    if answer.failed:
        target, failure = answer.failed
        models = [record(FailedAnnotation, failure, target=target)]
    return record(
        AnnotateDocument,
        answer.report,
        given=answer.request,
        models=models,
        alike=[record(ModelName, same.model, same.built) for same in answer.alike],
    )
