"""Results as text: a table for the terminal, and the page that is kept."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from speed.measure import Bench, Result, Row

HEADS = ("benchmark", "compared", "ours", "theirs", "ratio", "target", "met")

_PAGE = """\
# Benchmarks: the results

Written by `benchmarks/run.py --write`; times are medians of whole processes, ratios are medians of
the ratios of runs next to each other, and the sides of a ratio take turns in one run.

{machine}

Reproduce it, in the environment that has nparam-lint, on a machine that does nothing else:

    python benchmarks/run.py --python PYTHON --write

PYTHON is an interpreter with torch, timm, transformers, pytest, torchinfo and fvcore; what it lacks
is skipped, and said so. `--only NAME …` runs some, `--small` in minutes at sizes for trying out.

{table}

{sections}
"""


@dataclass(frozen=True, slots=True)
class Section:
    """One benchmark that was run: its rows, or why there are none (`failed`: a defect)."""

    name: str
    function: Callable[[Bench], Result]
    rows: Sequence[Row] = ()
    notes: Sequence[str] = ()
    why_not: str = ""
    failed: bool = False


def lines_of(section: Section) -> list[tuple[str, ...]]:
    if section.why_not:
        what = "INVALID" if section.failed else "skipped"
        why = section.why_not.splitlines()[0]
        return [(section.name, f"{what}: {why}", "", "", "", "", "")]
    return [(section.name, *_cells(row)) for row in section.rows]


def _cells(row: Row) -> tuple[str, ...]:
    ratio = "" if row.ratio is None else f"{row.ratio:.3g}"
    if row.target is None or row.ratio is None:
        return (row.what, row.ours, row.theirs, ratio, "", "")
    met = "yes" if row.target.met(row.ratio) else "no"
    return (row.what, row.ours, row.theirs, ratio, str(row.target), met)


def text_table(sections: Sequence[Section]) -> str:
    lines = [HEADS, *(line for section in sections for line in lines_of(section))]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def page(sections: Sequence[Section], machine: Sequence[str], profiles: Mapping[str, str]) -> str:
    """RESULTS.md. `profiles`: name → where the time goes, written by people."""
    lines = [HEADS, ("---",) * len(HEADS)]
    lines += [line for section in sections for line in lines_of(section)]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return _PAGE.format(
        machine="\n".join(f"- {line}" for line in machine),
        table=table,
        sections="\n\n".join(_section(s, profiles.get(s.name, "")) for s in sections),
    )


def _section(section: Section, profile: str) -> str:
    parts = [f"## {section.name}", inspect.getdoc(section.function) or ""]
    if section.why_not:
        parts.append(f"    {section.why_not.splitlines()[0]}")
    if section.notes:
        parts.append("\n".join(f"- {note}" for note in section.notes))
    if profile:
        parts.append(f"Where the time goes:\n\n{profile}")
    return "\n\n".join(parts)


def read_profiles(text: str) -> dict[str, str]:
    """The blocks of `profile.md`, by the names of their headings."""
    blocks = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)[1:]
    return {
        name.strip(): block.strip() for name, block in zip(blocks[::2], blocks[1::2], strict=True)
    }
