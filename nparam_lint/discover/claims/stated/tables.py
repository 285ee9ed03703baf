"""Counts in the columns of a table, whatever it is written in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.discover.claims.count_words import selector_of
from nparam_lint.discover.claims.prose import claims_in
from nparam_lint.discover.claims.stated import StatedCount
from nparam_lint.discover.claims.stated.words import (
    head_unit,
    is_of_another,
    readings_of,
    says_bytes,
    without_remark,
)
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.values import DocLine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.discover.claims.doc_text import GridCell
    from nparam_lint.ground.notation.grammar import Value

# Of what a row is about.
_NAMED = late_pattern(
    r"(?:the\s+)?(?:model|student|method|name|arch|architecture|network|net|variant|config|configuration|version|size|class)s?"
    r"(?:[\s_-]*(?:names?|size|id|variant|type|config))?"
    r"|模型(?:名称?)?|模型名稱?|网络|方法|名称|モデル名?|모델|модель|modelo|mod[eè]le?|modell",
    re.IGNORECASE,
)
_RESOLUTION = late_pattern(r"[0-9]{2,4}(?:\s*[x×*^²]\s*[0-9]{0,4})?")
_METHOD = late_pattern(r"(?:the\s+)?method", re.IGNORECASE)
# The count is that of a larger model, of which the row names a part, or of a part of one; "Layers"
# and "Heads" say how many there are.
_PART = late_pattern(
    r"(?:(?:backbone|neck|detector|segmentor|framework|decoder|encoder|pre-?trained\s+model"
    r"|component)s?|head|module|layer|block|stage)(?:[\s_-]*names?)?(?:\s+(?:of|in|for)\s.*)?",
    re.IGNORECASE,
)
# Over columns of models: their parts of this kind are counted.
_KIND_OF_PART = late_pattern(
    r"\w+[\s-]+(?:encoder|decoder|backbone|neck|head)s?|(?:enc|dec)oder\s*only", re.IGNORECASE
)
_BACKBONE = late_pattern(r"(?:backbone|encoder)s?(?:[\s_-]*names?)?", re.IGNORECASE)
# Measures of detectors and segmenters, with what their raised letters say.
_DOWNSTREAM = late_pattern(
    r"""(?i:iou)|(?<![a-zA-Z])(?:[bm]?AP|map(?=[@0-9])|PQ)
    (?:b+|m|bbox|box|mask|kp|val|test|dev|[SML])?(?![a-zA-Z])""",
    re.VERBOSE,
)
# A row is one of several variants of the model that it names.
_VARIED = late_pattern(
    r"(?:(?:fine-?)?tuning(?: method)?|method|adapter|peft|sparsity|prun\w+|ratio|bits?|rank"
    r"|compression|quanti\w+|precision)s?(?:\s*\(.*\))?",
    re.IGNORECASE,
)
# The count that is this project's, alone or beside that of the paper.
_OWN = late_pattern(
    r"""(?P<head>.+?)[\s,(\[]+(?:
    (?:paper|official|original|reported)(?:\s+model)?\s*[/,]\s*(?P<last>my|ours?|here|this)(?:\s+model)?
    |(?P<first>my|ours?|here|this)(?:\s+model)?\s*[/,]\s*
    (?:paper|official|original|reported)(?:\s+model)?
    |ours)[)\]]?""",
    re.IGNORECASE | re.VERBOSE,
)
_BESIDE = late_pattern(r"/|,\s+")  # `4.5 / 28.6`, `8.30M, -`
_SETTING = late_pattern(r"[A-Za-z_]\w*=[\w.]+(?:,\s*[A-Za-z_]\w*=[\w.]+)*")  # `width_mult=2.0`
_CALLED = late_pattern(r"[A-Za-z][\w.-]*[0-9_][\w.-]*")
_USAGE = late_pattern(
    r"(?:usage|code|call|function|factory|constructor|builder|api|example)s?", re.IGNORECASE
)
_CALL = late_pattern(r"(?:\w+\s*=\s*)?(?:\w+\.)*(\w+)\([^()]*\)")
_MARKS = " *_`$^†‡§¶"  # around a number
_LINK = late_pattern(r"\]\(([^)\s]+)\)|href=[\"']([^\"']+)")


def counts_in_table(
    rows: Sequence[Sequence[GridCell]], above: tuple[str, ...] = ()
) -> Iterator[StatedCount]:
    """The counts of a table whose first rows are heads; or its first column, where the columns are
    models. `above`: the heading over it."""
    width = len(rows[0]) if rows else 0
    columns = [*zip(*(row for row in rows if len(row) == width), strict=True)]
    turned = [*columns[:1], *(column for column in columns[1:] if column[0].text.strip())]
    counts: list[StatedCount] = []
    for grid in (rows, turned):
        heads = (n for n, row in enumerate(grid[:3]) if _is_head(row))
        if not counts and (start := next(heads, None)) is not None:
            counts = [*_Table(grid[start], grid[start + 1 :], above).counts()]
    yield from counts or [*_settings(rows, above)] or _in_words(rows, above)


def _in_words(rows: Sequence[Sequence[GridCell]], above: tuple[str, ...]) -> list[StatedCount]:
    """The count in a table that one of its cells states in words: `| Width | 384 (9M parameters)
    |`. Of several each may be that of a part."""
    counts: list[StatedCount] = []
    for row in rows:
        for cell in row[1:]:
            line = DocLine(re.sub("[*`]", " ", cell.source), cell.line, cell.column)
            for count in claims_in([line]):
                sentence = f"{row[0].text}: {count.sentence[0]}", count.sentence[1]
                names = *sentence, *above
                counts.append(replace(count, names=names, above=above, sentence=sentence))
    return counts if len(counts) == 1 else []


def _settings(rows: Sequence[Sequence[GridCell]], above: tuple[str, ...]) -> Iterator[StatedCount]:
    """The counts in the rows of a table of settings and properties of one model: `| Parameters |
    51,813,376 |`."""
    for name, value, *others in (row for row in rows if len(row) > 1):
        unit, text = head_unit(name.text), without_remark(value.text.strip(_MARKS))
        is_of_several = any(readings_of(cell.text) for cell in others)
        readings = readings_of(text, unit) if unit is not None and not is_of_several else ()
        if readings and not re.fullmatch("[0-9]{1,3}", text):
            sentence = f"{name.text}: ", text
            count = _count(value, text, readings, name, (*sentence, *above), above)
            yield replace(count, is_name=False, head_at=None, sentence=sentence)


def _is_head(row: Sequence[GridCell]) -> bool:
    is_of_counts = any(_count_parts(cell.text) for cell in row)
    return is_of_counts and not any(readings_of(cell.text) for cell in row)


class _Table:
    """The rows below the head of a table; `above`: the heading over it."""

    def __init__(
        self, head: Sequence[GridCell], rows: Sequence[Sequence[GridCell]], above: tuple[str, ...]
    ) -> None:
        self.head = head
        self.above = above
        self.rows = [row for row in rows if len(row) == len(head)]
        self.labels = [cell.text.strip(" *_`") for cell in head]
        self.counted = [
            (n, *part) for n, cell in enumerate(head) for part in _count_parts(cell.text)
        ]
        self.is_downstream = any(_DOWNSTREAM.search(cell.text) for cell in head)
        self.of_parts = [
            n
            for n, label in enumerate(self.labels)
            if _is_of_part(label, [row[n] for row in self.rows])
        ]
        named = _name_columns(self.labels, self.rows)
        self.naming = named or self._other_naming()
        if not (named or self.of_parts):  # the head may name the family of the rows
            self.above = (*above, *(self.labels[n] for n in self.naming))

    def _other_naming(self) -> list[int]:
        """The columns that name the models, where no head says so."""
        if self.of_parts:
            backbones = (n for n in self.of_parts if _BACKBONE.fullmatch(self.labels[n]))
            return [] if self.is_downstream else [*backbones]
        columns = {n for n, *_ in self.counted}
        free = (n for n, label in enumerate(self.labels) if n not in columns)
        naming = [n for n in free if not is_of_another(self.labels[n])][:1]
        return [n for n in naming if not _KIND_OF_PART.fullmatch(self.labels[n])]

    def _named_rows(self) -> Iterator[tuple[Sequence[GridCell], list[str]]]:
        """Each row with the names of its model, the first of which is what it is called by."""
        together = self.naming
        if len(together) == 1:  # "Slow | R50" may be a name, too
            behind = together[0] + 1
            is_word = behind < len(self.head)
            is_word = is_word and all(row[behind].text[:1].isalpha() for row in self.rows)
            together = [*together, behind] if is_word else []
        last = ""  # a cell over several rows names the model once
        for row in self.rows:
            names: list[str] = []
            for n in self.naming:
                names += [row[n].text, *_links(row[n])]
            if len(together) > 1 and row[together[0]].text:
                names.append(" ".join(row[n].text for n in together))
            names = [name for name in names if name.strip()] or [last]
            last = names[0]
            if not last:
                continue
            if setting := next(filter(_SETTING.fullmatch, (cell.text for cell in row)), ""):
                names[0] += f" ({setting})"
            # In a column of its own a link may lead to the config: `[config](configs/a.yaml)`; or
            # it is called as the model is: `[resnet18_k3](https://…)`. Or it has the call itself.
            for n, cell in enumerate(row):
                if n not in self.naming and (links := _links(cell)):
                    names += [*links, *([cell.text] if _CALLED.fullmatch(cell.text) else [])]
                call = _CALL.fullmatch(cell.text.strip(_MARKS))
                if call and _USAGE.fullmatch(self.labels[n]):
                    names.append(call[1])
            yield row, names

    def _stated(self) -> Iterator[tuple[int, StatedCount]]:
        """The counts, each with its column."""
        for row, names in self._named_rows():
            cells = tuple(cell.text for cell in row)
            for n, part, of, unit in self.counted:
                texts = _BESIDE.split(cells[n]) if of > 1 else [cells[n]]
                text = without_remark(texts[part].strip(_MARKS)) if len(texts) == of else ""
                if readings := readings_of(text, unit):
                    count = _count(row[n], text, readings, self.head[n], names, self.above)
                    yield n, replace(count, cells=cells)

    def counts(self) -> Iterator[StatedCount]:
        stated = [*self._stated()]
        values: dict[tuple[int, str], set[object]] = {}
        for n, count in stated:
            values.setdefault((n, count.names[0]), set()).add(count.readings)
        # Functions and methods have a few parameters.
        few = {n for n, _, _, unit in self.counted if not unit}
        few -= {n for n, count in stated if not re.match("[0-9] ", count.text)}
        others = (label for n, label in enumerate(self.labels) if n not in self.naming[:1])
        is_varied = any(map(_VARIED.fullmatch, others))
        is_of_part = bool(self.of_parts) or self.is_downstream
        heads = tuple(cell.text for cell in self.head)
        for n, count in stated:
            if n not in few:
                is_shared = is_varied or len(values[n, count.names[0]]) > 1
                yield replace(count, shares_name=is_shared, of_larger=is_of_part, heads=heads)


def _name_columns(labels: Sequence[str], below: Sequence[Sequence[GridCell]]) -> list[int]:
    """Those whose heads say that they name the models."""
    named = [
        n
        for n, label in enumerate(labels)
        if _NAMED.fullmatch(label) and not _names_nothing(label, [row[n] for row in below])
    ]
    # Beside a model a method is how it was trained.
    return [n for n in named if not _METHOD.match(labels[n])] or named


def _is_of_part(label: str, cells: Sequence[GridCell]) -> bool:
    """Whether a column names parts of models; one of links has the weights: "Pretrained Model"."""
    are_links = all(_links(cell) or not cell.text.strip("- ") for cell in cells)
    return _PART.fullmatch(label) is not None and not are_links


def _names_nothing(label: str, cells: Sequence[GridCell]) -> bool:
    """Whether a column has the sizes of the images, or the same word with a link in each row."""
    if label.lower().endswith("size"):
        return all(_RESOLUTION.fullmatch(cell.text) for cell in cells)
    filled = [cell for cell in cells if cell.text.strip()]
    return len({cell.text for cell in filled}) == 1 < len(cells) and all(map(_links, filled))


def _links(cell: GridCell) -> list[str]:
    return [markdown or html for markdown, html in _LINK.findall(cell.source)]


def _count_parts(head: str) -> list[tuple[int, int, str]]:
    """Which parts of a head are counts: the second of two in `FLOPs / params`; with their units."""
    if (unit := head_unit(head)) is not None:
        return [(0, 1, unit)]
    if own := _OWN.fullmatch(head.strip()):
        unit, of = head_unit(own["head"]), 2 if own["first"] or own["last"] else 1
        return [] if unit is None else [(1 if own["last"] else 0, of, unit)]
    parts = head.split("/")
    return [(n, len(parts), u) for n, p in enumerate(parts) if (u := head_unit(p)) is not None]


def _count(
    cell: GridCell,
    text: str,
    readings: tuple[Value, ...],
    head: GridCell,
    names: Sequence[str],
    above: tuple[str, ...],
) -> StatedCount:
    """The count that a text in a cell is, which `head` calls one."""
    blanks = len(head.source) - len(head.source.lstrip())
    return StatedCount(
        f"{text} ({head.text.strip()})",
        readings,
        selector_of(head.text),
        cell.line,
        cell.column + max(cell.source.find(text), 0),
        tuple(names),
        above,
        is_name=True,
        head_at=(head.line, head.column + blanks),
        in_bytes=says_bytes(head.text),
    )
