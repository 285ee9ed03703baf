"""Stated counts that are wrong by themselves, and in doubt beside the others of their file."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.count.measured import Measured
from nparam_lint.gate import measures
from nparam_lint.gate.count_verdicts import OF_ANOTHER, WITH_ITS_CLASSES, is_about
from nparam_lint.gate.model_names import BUILT_BELOW, THE_ONLY, name_key
from nparam_lint.gate.report import StatedOutcome
from nparam_lint.ground.grouping import grouped
from nparam_lint.ground.paths import CONFIG_SUFFIXES
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from nparam_lint.ground.notation import Selector

_LINK = late_pattern(
    r"\b(?:link|download|ckpt|weights?|model|log|config|github|drive|baidu|hugging\s?face|hf)s?\b",
    re.IGNORECASE,
)
_DATA = late_pattern(r"(?:data\s*sets?|data|benchmarks?)", re.IGNORECASE)  # heads of columns
# A heading, a folder or a column that tells another version of a model.
_VERSIONS = "prun|distill|quanti|lora|changelog|legacy"
_OF_VERSION = late_pattern(
    rf"""(?<![a-z])(?:{_VERSIONS}|adapter|isotropic|slim|spars|compress|re-?param
    |deploy|fused|merged|without|w/o|reported|paper|official|original|reference|trainable|student|teacher|previous
    |old(?:er)?(?![a-z]))""",
    re.IGNORECASE | re.VERBOSE,
)
_FOLDER = late_pattern(rf"(?:^|/)(?:{_VERSIONS})", re.IGNORECASE)
_OF_SETTING = late_pattern(
    r"width|depth|rate|ratio|mult|scale|bits|spars|prun|rank|alpha|factor", re.IGNORECASE
)
_IS_NUMBER = late_pattern(
    r"[~≈<>±+−-]?\s*[\d.,:×x*%/()\s±-]*(?:[kKMGBTPms]|fps|px|GB|MB|ms|GFLOPs|h)?"
)
_SEVERAL = 3  # models in a table, numbers of a model
_MOST = 0.75  # of the numbers in a table
_ALIKE = 2  # numbers that agree on what they leave out


def doubted(of_file: Iterable[StatedOutcome]) -> list[StatedOutcome]:
    """The outcomes of one file, of which some that are wrong are only likely. A name that stands
    there with the right count, too, is that of a variant of the model: on other data, or in another
    table; below another heading nothing is said of it. A table of several models, of which none is
    right and no number is another count of its model, is about something else; of a number that is
    far from its model's, nothing is said. Beside the right count of the only model another one is
    that of another size; and in a table that names this model, that of another one."""
    outcomes = [*of_file]
    rows = [o for o in outcomes if o.count.is_name and o.model]
    tables = {table: _Table(inside) for table, inside in grouped(rows, table_of).items()}
    # Names with right counts, and the headings below which these are certain.
    right: dict[tuple[str, Selector, str], set[tuple[str, ...]]] = {}
    for o in rows:
        if o.verdict == "right" and o.model:
            headings = right.setdefault((o.model.target, o.count.selector, o.name), set())
            headings.update([o.count.above] if o.strength == "certain" else [])

    naming = {table_of(o) for o in rows if o.because != THE_ONLY}
    below = {o.count.readings for o in outcomes if o.because == BUILT_BELOW}
    is_only_told = any(o.verdict == "right" and o.because == THE_ONLY for o in outcomes)

    def told(o: StatedOutcome) -> StatedOutcome:
        is_guess = o.verdict == "wrong" and o.because == THE_ONLY and not o.explanation
        if o.verdict == "wrong" and o.because == BUILT_BELOW and len(below) > 1:
            return StatedOutcome(o.position, o.count)  # one of them may be about what is built
        if is_guess and (is_only_told or (o.count.is_name and table_of(o) in naming)):
            return StatedOutcome(o.position, o.count)
        heading = o.count.above[:1] if o.count.is_name else o.count.names[2:3]
        is_of_version = any(map(_OF_VERSION.search, heading)) or _FOLDER.search(o.position.path)
        if o.verdict == "wrong" and is_of_version and not o.count.definition:
            o = replace(o, strength="likely")
        if o.verdict != "wrong" or not (o.count.is_name and o.model):
            return o
        table, is_in_table = tables[table_of(o)], o.count.head_at is not None
        if is_in_table and (part := table.left_out):
            explanation = measures.without_part("this", part, _without_parts(o)[part])
            return replace(o, strength="likely", explanation=explanation)
        headings = right.get((o.model.target, o.count.selector, o.name))
        is_of_other_data = _data_of(o) in table.other_data
        is_of_other_data |= bool(headings and o.count.above not in headings)
        is_of_other_data &= not o.because.endswith(WITH_ITS_CLASSES)
        is_of_variant = headings is not None or table.is_fused or is_of_other_data
        is_of_variant |= is_in_table and table.tells_apart(o)
        if is_of_variant or (is_in_table and table.is_of_others):
            o = replace(o, strength="likely")
        is_other = is_in_table and not table.is_confirmed and o.strength == "likely"
        is_other &= not any(is_about(o.actual or 0, b.declared or 0) for b in o.count.bounds())
        is_left = (is_of_other_data or is_other or is_of_version) and not o.explanation
        return StatedOutcome(o.position, o.count) if is_left else o

    return [*map(told, outcomes)]


def table_of(outcome: StatedOutcome) -> tuple[str, object]:
    """What a stated count stands in: a table, or a file outside of its tables."""
    return outcome.position.path, outcome.count.head_at


class _Table:
    """What the rows of a table, of models that were counted, say of each other."""

    def __init__(self, rows: Sequence[StatedOutcome]) -> None:
        self.rows = rows
        self.wrong = [row for row in rows if row.verdict == "wrong"]

    @cached_property
    def is_confirmed(self) -> bool:
        """Whether a count shows that those beside it are of the models by whose names they stand:
        its number is one of its own model's."""
        if any(row.verdict == "right" and row.strength == "certain" for row in self.rows):
            return True
        explained = (row.explanation for row in self.rows if row.verdict != "right")
        return any(text and not text.startswith(OF_ANOTHER) for text in explained)

    @cached_property
    def is_of_others(self) -> bool:
        """Whether it is about something else."""
        return not self.is_confirmed and len({row.name for row in self.rows}) >= _SEVERAL

    @cached_property
    def is_fused(self) -> bool:
        """Whether most of several numbers are their models' fused counts, those that are right
        among them, if that is known: it states these."""
        fits: list[bool] = []
        for row in self.rows:
            measured, bounds = row.model and row.model.measurement, row.count.bounds()
            if not isinstance(measured, Measured):
                continue
            if measured.fused is not None:
                fits.append(any(measured.fused in admitted for admitted in bounds))
            elif row.verdict == "wrong":
                fits.append(measures.is_fused(bounds, measured))
        return sum(fits) >= max(_ALIKE, _MOST * len(fits))

    @cached_property
    def left_out(self) -> str:
        """The part without which the models were counted, if no wrong number is another count; of
        several the last, which is a head: `classifier`."""
        explained = (row.explanation for row in self.wrong if row.explanation)
        others = (text for text in explained if not measures.is_without_part(text))
        if not all(map(measures.is_of_other_form, others)):
            return ""
        parts = [_without_parts(row) for row in self.wrong]
        shared = parts[0] if len(parts) >= _ALIKE else {}
        return next((p for p in reversed(shared) if all(p in other for other in parts)), "")

    def tells_apart(self, row: StatedOutcome) -> bool:
        """Whether a word beside a row, or a setting, is beside none that is right for certain: it
        may be another version, `| Net-S | pruned | 1.2M |`."""
        right = (r for r in self.rows if r.verdict == "right" and r.strength == "certain")
        return not _told_by(row) <= {pair for each in right for pair in _told_by(each)}

    @cached_property
    def other_data(self) -> set[str]:
        """The data sets, of several, of which no row is right: there a model may have other
        classes."""
        by_data = grouped(self.rows, _data_of)
        if len(by_data) == 1:
            return set()
        right = {data for data, rows in by_data.items() if any(o.verdict == "right" for o in rows)}
        return by_data.keys() - right if right else set()


def _data_of(outcome: StatedOutcome) -> str:
    """The data set that a row names in a column of these."""
    cells = zip(outcome.count.heads, outcome.count.cells, strict=False)
    return next((cell for head, cell in cells if _DATA.fullmatch(head.strip(" *_`"))), "")


def _told_by(row: StatedOutcome) -> set[tuple[str, str]]:
    """What the cells of a row say of its model beside its name and numbers, with their heads."""
    called = name_key(row.name)
    return {
        (head, cell)
        for head, cell in zip(row.count.heads, row.count.cells, strict=False)
        if (key := name_key(cell)) and key not in called and cell not in row.count.names
        if not (
            _LINK.search(cell) or "(" in head or _DATA.fullmatch(head) or measures.is_data(cell)
        )
        if _OF_SETTING.search(head) or not _IS_NUMBER.fullmatch(cell.strip(" *_`"))
    }


def _without_parts(outcome: StatedOutcome) -> dict[str, int]:
    measured = outcome.model.measurement if outcome.model else None
    if not isinstance(measured, Measured):
        return {}
    return measures.parts_left_out(outcome.count.bounds(), measured)


def without_runs(outcomes: Mapping[str, list[StatedOutcome]]) -> dict[str, list[StatedOutcome]]:
    """The outcomes by file, of which those are only likely that several results or configs have of
    one model, each with another number: each run has built it in its own way."""
    numbers: dict[tuple[str, str], set[str]] = {}

    def key(outcome: StatedOutcome) -> tuple[str, str]:
        return outcome.model.bare if outcome.model else "", str(outcome.count.selector)

    def is_wrong(path: str, outcome: StatedOutcome) -> bool:
        return outcome.verdict == "wrong" and path.lower().endswith(CONFIG_SUFFIXES)

    for path, of_file in outcomes.items():
        for outcome in of_file:
            if is_wrong(path, outcome):
                numbers.setdefault(key(outcome), set()).add(outcome.count.value.text)
    return {
        path: [
            replace(o, strength="likely")
            if is_wrong(path, o) and len(numbers[key(o)]) >= _SEVERAL
            else o
            for o in of_file
        ]
        for path, of_file in outcomes.items()
    }
