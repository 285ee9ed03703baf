"""What `nparam-lint init --docs` suggests: comments for numbers in Markdown and reStructuredText
that are the count of a model which is named near them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from nparam_lint.claims import TextError, is_rest
from nparam_lint.claims.doc_comments import parse_docs
from nparam_lint.claims.doc_text import (
    COUNT,
    DocText,
    TableCell,
    plain,
    unit_of,
    written,
)
from nparam_lint.claims.grammar import parse_value
from nparam_lint.count.measured import Measured
from nparam_lint.discover.files import list_docs, reader
from nparam_lint.gate import as_the_project_builds, measure
from nparam_lint.gate.candidates import select_models
from nparam_lint.gate.reading import listed, read_source
from nparam_lint.ground.values import Position
from nparam_lint.report import Document, Page, Section, Text
from nparam_lint.report.json_records import JsonDocument, Placed, at, record
from nparam_lint.report.style import clean, plural
from nparam_lint.rewrite.new_budgets import way_budgets

if TYPE_CHECKING:
    from pathlib import Path

    from nparam_lint.config.session import Session

_SHORTEST = 3  # characters of a name
_SHORTEST_OF_ROW = 5  # of the beginning of one
_SMALLEST = 1000  # a smaller number without a suffix may be anything
_STRING = re.compile(r"""['"]([^'"]+)['"]""")


@dataclass(frozen=True, slots=True)
class _Model:
    """A model that was counted; `names`: what a text may call it."""

    target: str
    count: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Near:
    """A number, as it is written, that is the count of a target."""

    position: Position
    written: str
    target: str
    count: int


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A comment to put behind a number or, with several `numbers`, above the table that begins at
    `position`."""

    position: Position
    comment: str
    numbers: tuple[Near, ...]


def suggest(session: Session, paths: Sequence[Path]) -> tuple[list[Suggestion], str | None]:
    """The comments for the project's docs, and why nothing could be measured at all."""
    source = read_source(session, paths)
    selection = as_the_project_builds(source, select_models(source.candidates))
    report = measure(source, selection)
    models = []
    for model in report.models:
        measured = model.measurement
        if model.way is None and isinstance(measured, Measured) and measured.counts.total:
            models.append(_Model(model.target, measured.counts.total, (_tail(model.target),)))
    for budget in way_budgets(report, selection, every=True):
        if not budget.reason:
            way = budget.model.way.name if budget.model.way else ""
            arguments = _STRING.findall(budget.measured.call)  # it is called by these, too
            names = (way, *arguments, _tail(budget.model.target))
            models.append(_Model(budget.target, budget.measured.counts.total, names))
    read, suggestions = reader(session.root), list[Suggestion]()
    for path in listed(session, list_docs):
        with suppress(OSError):
            text = _Text(path, read(path).decode("utf-8", "replace"), models)
            suggestions += [*text.in_tables(), *text.in_paragraphs()]
    return suggestions, report.error


def _tail(target: str) -> str:
    return target.partition("::")[2].partition("(")[0].rpartition(".")[2]


class _Text(DocText):
    """A text, and the counts of models in it that no comment binds yet."""

    def __init__(self, path: str, text: str, models: Sequence[_Model]) -> None:
        super().__init__(path, text)
        self.path, self.models = path, models
        self.bound_places = {(number.line, number.column) for number in parse_docs(path, text)[0]}

    def in_tables(self) -> Iterator[Suggestion]:
        """The rows of a table by one comment, if there are several."""
        for head, table in self.tables:
            firsts = [plain(row[0].text) for _, row in table.rows]
            for column, cell in enumerate(table.head):
                counts = [
                    (first, near)
                    for first, (number, row) in zip(firsts, table.rows, strict=True)
                    if column < len(row)
                    for near in self.near(
                        number, row[column], self.lines[number - 1], first, unit_of(cell.text)
                    )
                ]
                rows = [(first, near) for first, near in counts if firsts.count(first) == 1]
                rows = rows if len(rows) > 1 and not self.is_rest else []
                if rows:
                    listed = "".join(f"     {first} = {near.target}\n" for first, near in rows)
                    comment = f"<!-- nparam: {plain(cell.text)}\n{listed}-->"
                    at = Position(self.path, head)
                    yield Suggestion(at, comment, tuple(near for _, near in rows))
                yield from (_behind(near) for first, near in counts if (first, near) not in rows)

    def in_paragraphs(self) -> Iterator[Suggestion]:
        in_rows = {number for _, table in self.tables for number, _ in table.rows}
        for paragraph in self.paragraphs:
            text = " ".join(self.lines[number - 1] for number in paragraph)
            for number in paragraph:
                if number not in in_rows:
                    line = TableCell(text, 0, len(self.lines[number - 1]))
                    yield from map(_behind, self.near(number, line, text))

    def near(
        self, line: int, span: TableCell, text: str, row: str = "", unit: str = ""
    ) -> Iterator[Near]:
        """The numbers in a part of a line that are the count of a model which is named in the text,
        or whose name the row begins; of several, of the one with the longest name."""
        for match in COUNT.finditer(self.lines[line - 1], span.start, span.end):
            at = Position(self.path, line, match.start("text") + 1)
            if (at.line, at.column) in self.bound_places:
                continue
            models = [
                (max(len(_letters(name)) for name in names), model)
                for model in self.models
                if (names := [n for n in model.names if _is_named(n, text, row)])
                and _is_count(match, unit, model.count)
            ]
            if models:
                _, model = max(models, key=lambda pair: pair[0])
                yield Near(at, match[0].strip(), model.target, model.count)


def _behind(near: Near) -> Suggestion:
    sign = ".. nparam: {}" if is_rest(near.position.path) else "<!-- nparam: {} -->"
    return Suggestion(near.position, sign.format(near.target), (near,))


def _letters(text: str) -> str:
    """`ViT-B/16` and `vit_b_16` are one name."""
    return re.sub(r"[\W_]", "", text).lower()


def _is_named(name: str, text: str, row: str) -> bool:
    """A row may shorten a name: `ConvNeXt-T` is `convnext_tiny`."""
    letters, short = _letters(name), _letters(row)
    is_short = len(short) >= _SHORTEST_OF_ROW and letters.startswith(short)
    return is_short or (len(letters) >= _SHORTEST and letters in _letters(text))


def _is_count(match: re.Match[str], unit: str, count: int) -> bool:
    try:
        value = parse_value("".join(written(match, unit)))
    except TextError:
        return False
    is_large = value.form != "plain" or (value.bounds().declared or 0) >= _SMALLEST
    return is_large and count in value.bounds()


# --- the document -----------------------------------------------------------------------------


def suggestions_document(suggestions: Sequence[Suggestion], error: str | None) -> Document:
    numbers = [near for suggestion in suggestions for near in suggestion.numbers]
    return Document(
        "init",
        lambda: _data(suggestions),
        lambda _: _page(suggestions),
        error=error,
        lines=tuple(
            f"{near.position}:{near.position.column}: {near.written} is the count of "
            f"{near.target} ({near.count:,})"
            for near in numbers
        ),
    )


@dataclass(kw_only=True)
class NumberRecord(Placed):
    written: str
    target: str
    count: int


@dataclass(kw_only=True)
class SuggestionRecord(Placed):
    comment: str
    numbers: Sequence[NumberRecord]


@dataclass(kw_only=True)
class SuggestionsDocument(JsonDocument):
    command: Literal["init"] = "init"
    suggestions: Sequence[SuggestionRecord]


def _data(suggestions: Sequence[Suggestion]) -> SuggestionsDocument:
    return SuggestionsDocument(
        suggestions=[
            SuggestionRecord(
                **at(suggestion.position),
                comment=suggestion.comment,
                numbers=[
                    record(NumberRecord, near, **at(near.position)) for near in suggestion.numbers
                ],
            )
            for suggestion in suggestions
        ]
    )


def _page(suggestions: Sequence[Suggestion]) -> Page:
    sections = []
    for suggestion in suggestions:
        place, first, count = suggestion.position, suggestion.numbers[0], len(suggestion.numbers)
        if count > 1:
            what = f"above this table, for {count} numbers:"
        else:
            where = "above this paragraph" if is_rest(place.path) else f"behind {first.written}"
            what = f"{first.target} has {first.count:,}; {where}:"
        head = Text(clean(f"{place}  {what}"), kind="verbatim")
        lines = suggestion.comment.split("\n")
        comment = (Text(clean(line), "green", "    ", kind="verbatim") for line in lines)
        sections.append(Section((head, *comment), always=True))
    summary = "No number in Markdown or reStructuredText is a count that is not checked."
    if suggestions:
        numbers = sum(len(suggestion.numbers) for suggestion in suggestions)
        summary = f"{plural(numbers, 'number')} could be checked · nothing was written"
    sections.append(Section((Text(summary),), always=True))
    return Page(tuple(sections), "–", summary)
