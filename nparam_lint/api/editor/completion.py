"""What may stand next in a budget that is being written: `nparam`, a metric or a module between its
brackets, and the count after its colon."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from nparam_lint.count.measured import Measured
from nparam_lint.gate.judge import selected
from nparam_lint.gate.report import ModelReport
from nparam_lint.ground.metrics import METRICS
from nparam_lint.ground.notation import TextError, parse_selector
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.rewrite.number_style import rounded

_SELECTOR = late_pattern(r"\bnparam\[(?:[^\]]*,)?\s*(?P<word>[^\s\],]*)$")
_VALUE = late_pattern(r"\bnparam(?:\[(?P<selector>[^\]]*)\])?:\s*(?P<word>[\w.]*)$")
_KEYWORD = late_pattern(r"^\s*(?P<word>n\w*)$")
_HEADER = late_pattern(r"(?P<indent>\s*)(?:class|def|async\s+def)\s+(?P<name>\w+)")


class Proposal(Struct, frozen=True):
    """One way to go on: `text` instead of what stands from `start` on; `note`: what it means."""

    text: str
    start: int
    note: str
    kind: Literal["metric", "module", "count", "budget"]


def proposals(
    before: str, above: Sequence[str], place: str, models: Sequence[ModelReport]
) -> list[Proposal]:
    """`before`: the line up to the cursor; `above`: the lines above it; `place`: the file."""
    target = f"{place}::{_definition(before, above)}"
    results = (model.measurement for model in models if model.bare == target)
    measured = next((result for result in results if isinstance(result, Measured)), None)
    if match := _SELECTOR.search(before):
        return [*_selectors(match.start("word"), measured)]
    if match := _VALUE.search(before):
        return [*_values(match.start("word"), match["selector"] or "", measured)]
    match = _KEYWORD.match(before)
    if match and "nparam".startswith(match["word"]) and measured and _in_docstring(above):
        start, text = match.start("word"), f"{measured.counts.total:_}"
        return [Proposal(f"nparam: {text}", start, f"the count of {measured.call}", "budget")]
    return []


def _selectors(start: int, measured: Measured | None) -> Iterator[Proposal]:
    for metric in METRICS.values():
        if metric.name != "total":
            yield Proposal(metric.name, start, metric.note or metric.words, "metric")
    patterns: dict[str, int] = {}
    for row in measured.modules[1:] if measured else ():
        yield Proposal(row.path, start, f"{row.type}, {row.total:,} parameters", "module")
        glob = ".".join("*" if part.isdecimal() else part for part in row.path.split("."))
        if glob != row.path:
            patterns[glob] = patterns.get(glob, 0) + 1
    for glob, times in patterns.items():
        yield Proposal(glob, start, f"each of {times} modules", "module")


def _values(start: int, selector: str, measured: Measured | None) -> Iterator[Proposal]:
    """The count that the model has now, exact and rounded."""
    try:
        parts = parse_selector(selector)
    except TextError:
        return
    rows = selected(parts, measured.modules) if measured else []
    counts = {row.of(parts.metric) for row in rows}
    count = counts.pop() if len(counts) == 1 else None
    if count is None or measured is None:
        return
    now = f"what {measured.call} has now"
    short = rounded(count)
    yield Proposal(f"{count:_}", start, f"exactly {now}", "count")
    if short != f"{count:_}":
        yield Proposal(short, start, f"{now}, rounded", "count")
        yield Proposal(f"{short} ± 1%", start, f"{now}, with a tolerance", "count")
    yield Proposal(f"<= {count:_}", start, f"at most {now}", "count")


def _definition(before: str, above: Sequence[str]) -> str:
    """The qualified name of the class or function around a line, by the indents, since what is
    being written need not be valid; of a constructor, its class."""
    names: list[str] = []
    deep = len(before) - len(before.lstrip())
    for line in reversed(above):
        header = _HEADER.match(line)
        if header and len(header["indent"]) < deep:
            deep = len(header["indent"])
            names.insert(0, header["name"])
    return ".".join(names[:-1] if names[-1:] == ["__init__"] else names)


def _in_docstring(above: Sequence[str]) -> bool:
    """Whether the docstring of the nearest definition is open."""
    quotes = 0
    for line in reversed(above):
        if _HEADER.match(line):
            return quotes % 2 == 1
        quotes += line.count('"""') + line.count("'''")
    return False
