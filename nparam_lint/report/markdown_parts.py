"""The parts of a page in GitHub's Markdown, and how they are cut to a size.

Names stand in code, where nobody is mentioned and nothing is linked; what is free text is escaped.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nparam_lint.report import style
from nparam_lint.report.budget_outcomes import worst
from nparam_lint.report.style import clean, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nparam_lint.records import Finding

COMMENT = 65_536  # characters that GitHub takes for a comment; counted in bytes, to be safe
SUMMARY = 1_000_000  # bytes: GitHub drops a step's summary above 1,024 KiB as a whole
NOTE = 200  # bytes at most, for the words on what was cut
_LONGEST = 1_000  # characters of a message
EMOJI = {"✓": "✅", "✗": "❌", "!": "⚠️", "–": "➖", "Δ": "Δ"}


@dataclass(frozen=True, slots=True)
class Pieces:
    """A part of the page that may be cut between its `rows`; `noun`: what one of them is."""

    noun: str
    head: str
    rows: Sequence[str]
    tail: str = ""


# --- fitting ----------------------------------------------------------------------------------


def fitted(blocks: Iterable[Pieces], room: int) -> str:
    """All that fits; what must be cut leaves half of the room to what comes after it."""
    text = ""
    left: dict[str, int] = {}
    for block in blocks:
        taken = _that_fit(block, room)
        if taken < len(block.rows):
            taken = _that_fit(block, room // 2)
        if taken:
            part = f"\n{block.head}{''.join(block.rows[:taken])}{block.tail}"
            text, room = text + part, room - size(part)
        if taken < len(block.rows):
            left[block.noun] = left.get(block.noun, 0) + len(block.rows) - taken
    if left:
        what = ", ".join(plural(count, noun) for noun, count in left.items())
        text += f"\n*Cut to what fits here: {what} left out.*\n"
    return text


def whole(block: Pieces) -> str:
    return f"{block.head}{''.join(block.rows)}{block.tail}"


def _that_fit(block: Pieces, room: int) -> int:
    room -= 1 + size(block.head) + size(block.tail)
    for taken, row in enumerate(block.rows):
        room -= size(row)
        if room < 0:
            return taken
    return len(block.rows)


def size(text: str) -> int:
    return len(text.encode("utf-8"))


# --- notation ---------------------------------------------------------------------------------


def folded(title: str, block: Pieces) -> Pieces:
    """`title` is HTML. The blank lines let Markdown begin again."""
    head = f"<details>\n<summary>{title}</summary>\n\n{block.head}"
    return Pieces(block.noun, head, block.rows, f"{block.tail}\n</details>\n")


def fenced(noun: str, lines: Sequence[str]) -> Pieces:
    told = [f"{clean(line)}\n" for line in lines]
    fence = "`" * max(3, 1 + _longest_run("".join(told)))
    return Pieces(noun, f"{fence}text\n", told, f"{fence}\n")


def _longest_run(text: str) -> int:
    """Of backticks."""
    return max(map(len, re.findall("`+", text)), default=0)


def code(text: str) -> str:
    told = clean(text)
    if not told.strip():
        return ""
    ticks = "`" * (1 + _longest_run(told))
    blank = " " if told.startswith(("`", " ")) or told.endswith(("`", " ")) else ""
    return f"{ticks}{blank}{told}{blank}{ticks}"


def cell(text: str) -> str:
    return code(text).replace("|", "\\|")


def html_text(text: str) -> str:
    return html.escape(clean(text))


def plain_text(text: str) -> str:
    """As it is, whatever Markdown or GitHub would make of it: a mention is cut by a blank of no
    width, for an escaped one notifies all the same."""
    told = re.sub(r"([@#]|\bGH-)(?=\w)", "\\1\u200b", clean(text))
    return re.sub(r"([\\`*_{}\[\]<>|~$&])", r"\\\1", told)


def finding_item(finding: Finding) -> str:
    at = finding.position
    mark = EMOJI[worst([finding])]
    place = code(f"{at.path}:{at.line}")
    message = plain_text(style.elide_end(clean(finding.message), _LONGEST))
    line = f"- {mark} {place} **{finding.code}** {message}\n"
    if not finding.detail:
        return line
    told = whole(fenced("line", [style.elide_end(text, _LONGEST) for text in finding.detail]))
    return line + "".join(f"  {text}\n" for text in told.splitlines())
