"""Stated counts that are wrong by themselves, and in doubt beside the others of their file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.count.measured import Measured
from nparam_lint.gate import measures
from nparam_lint.gate.count_verdicts import OF_ANOTHER, is_about
from nparam_lint.gate.report import StatedOutcome
from nparam_lint.ground.grouping import grouped
from nparam_lint.ground.paths import CONFIG_SUFFIXES
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from nparam_lint.ground.notation import Selector

_DATA = late_pattern(r"(?:data\s*sets?|data|benchmarks?)", re.IGNORECASE)  # heads of columns
_SEVERAL = 3  # models in a table, numbers of a model
_ALIKE = 2  # numbers that agree on what they leave out


def doubted(of_file: Iterable[StatedOutcome]) -> list[StatedOutcome]:
    """The outcomes of one file, of which some that are wrong are only likely. A name that stands
    there with the right count, too, is that of a variant of the model: on other data, or in another
    table; below another heading nothing is said of it. A table of several models, of which none is
    right and no number is another count of its model, is about something else; of a number that is
    far from its model's, nothing is said. One whose numbers are all fused counts states these; and
    below a data set of which none is right, a model may have other classes."""
    outcomes = [*of_file]
    rows = [o for o in outcomes if o.count.is_name and o.model]
    by_table = grouped(rows, table_of)
    fused = {table for table, inside in by_table.items() if _are_fused(inside)}
    of_other_data = {
        (table, data)
        for table, inside in by_table.items()
        for data in {_data_of(o) for o in inside}
        if any(_data_of(o) != data for o in inside)
        and not any(_data_of(o) == data and o.verdict == "right" for o in inside)
    }
    # Names with right counts, and the headings below which these are certain.
    right: dict[tuple[str, Selector, str], set[tuple[str, ...]]] = {}
    for o in rows:
        if o.verdict == "right" and o.model:
            headings = right.setdefault((o.model.target, o.count.selector, o.name), set())
            headings.update([o.count.above] if o.strength == "certain" else [])
    tables = grouped(rows, lambda outcome: outcome.count.head_at)
    of_others = {
        head: len({o.name for o in inside}) >= _SEVERAL
        for head, inside in tables.items()
        if head and not any(map(_confirms, inside))
    }
    left_out = {
        head: _left_out([o for o in inside if o.verdict == "wrong"])
        for head, inside in tables.items()
        if head
    }

    def told(o: StatedOutcome) -> StatedOutcome:
        if o.verdict != "wrong" or not (o.count.is_name and o.model):
            return o
        head = o.count.head_at
        if head and (part := left_out.get(head)):
            explanation = measures.without_part("this", part, _without_parts(o)[part])
            return replace(o, strength="likely", explanation=explanation)
        headings = right.get((o.model.target, o.count.selector, o.name))
        is_of_other_data = (table_of(o), _data_of(o)) in of_other_data
        is_of_other_data |= bool(headings and o.count.above not in headings)
        is_of_variant = headings is not None or table_of(o) in fused or is_of_other_data
        if is_of_variant or (head and of_others.get(head)):
            o = replace(o, strength="likely")
        is_other = head in of_others and o.strength == "likely"
        is_other &= not any(is_about(o.actual or 0, b.declared or 0) for b in o.count.bounds())
        is_left = (is_of_other_data or is_other) and not o.explanation
        return StatedOutcome(o.position, o.count) if is_left else o

    return [*map(told, outcomes)]


def table_of(outcome: StatedOutcome) -> tuple[str, object]:
    """What a stated count stands in: a table, or a file outside of its tables."""
    return outcome.position.path, outcome.count.head_at


def _data_of(outcome: StatedOutcome) -> str:
    """The data set that a row names in a column of these."""
    cells = zip(outcome.count.heads, outcome.count.cells, strict=False)
    return next((cell for head, cell in cells if _DATA.fullmatch(head.strip(" *_`"))), "")


def _are_fused(inside: Sequence[StatedOutcome]) -> bool:
    """Whether each of several numbers in a table is its model's fused count, those that are right
    among them, if that is known."""
    fits: list[bool] = []
    for outcome in inside:
        measured, bounds = outcome.model and outcome.model.measurement, outcome.count.bounds()
        if not isinstance(measured, Measured):
            continue
        if measured.fused is not None:
            fits.append(any(measured.fused in admitted for admitted in bounds))
        elif outcome.verdict == "wrong":
            fits.append(measures.is_fused(bounds, measured))
    return len(fits) >= _ALIKE and all(fits)


def _left_out(wrong: Sequence[StatedOutcome]) -> str:
    """The part without which the models of a table were counted, if no wrong number in it is
    another count; of several the last, which is a head: `classifier`."""
    if any(o.explanation and not measures.is_of_other_form(o.explanation) for o in wrong):
        return ""
    parts = [_without_parts(o) for o in wrong]
    shared = parts[0] if len(parts) >= _ALIKE else {}
    return next((p for p in reversed(shared) if all(p in other for other in parts)), "")


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


def _confirms(outcome: StatedOutcome) -> bool:
    """Whether a count shows that those beside it are of the models by whose names they stand: its
    number is one of its own model's."""
    if outcome.verdict == "right":
        return outcome.strength == "certain"
    return bool(outcome.explanation) and not outcome.explanation.startswith(OF_ANOTHER)
