"""A comment for a pull request, and the page of a job's summary, in GitHub's Markdown.

Names stand in code, where nobody is mentioned and nothing is linked; what is free text is escaped.
"""

from __future__ import annotations

import html
import re
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from nparam_lint.records import Measured
from nparam_lint.report import style
from nparam_lint.report.claims import claims_of, failing, headline, rows_of, worst
from nparam_lint.report.forge import ranked
from nparam_lint.report.style import Paint, clean, plural
from nparam_lint.report.summary import summary_lines
from nparam_lint.report.uncounted import is_empty

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nparam_lint.records import Finding, ModelReport, Report
    from nparam_lint.report import Options

MARKER = "<!-- nparam-lint -->"  # by which a bot finds its own comment
COMMENT = 65_536  # characters that GitHub takes for a comment; counted in bytes, to be safe
SUMMARY = 1_000_000  # bytes: GitHub drops a step's summary above 1,024 KiB as a whole
_EMOJI = {"✓": "✅", "✗": "❌", "!": "⚠️", "–": "➖"}
_NOTE = 200  # bytes at most, for the words on what was cut
_WIDTH = 100
_ROWS = 40
_LONGEST = 1_000  # characters of a message

_Cells = tuple[str, str, str, str, str]


@dataclass(frozen=True, slots=True)
class _Block:
    """A part of the page that may be cut between its `rows`; `noun`: what one of them is."""

    noun: str
    head: str
    rows: Sequence[str]
    tail: str = ""


def render(report: Report, options: Options) -> str:
    """The comment; of what passes, one line."""
    mark, words = headline(report)
    if mark == "✓":
        return f"{MARKER}\n{_EMOJI[mark]} **nparam-lint**: {' · '.join(words)}\n"
    return f"{MARKER}\n{summary(report, options, COMMENT - len(MARKER) - 1)}"


def summary(report: Report, options: Options, limit: int = SUMMARY) -> str:
    """The page for `$GITHUB_STEP_SUMMARY`, in no more than `limit` bytes of UTF-8. What does not
    fit is cut between rows and counted in a last line; empty where not even the verdict fits."""
    mark, words = headline(report)
    head = f"### {_EMOJI[mark]} nparam-lint: {' · '.join(words)}\n"
    about = summary_lines(report, replace(options, width=sys.maxsize), Paint(False))
    foot = f"\n<sub>{_text(style.elide_end(' · '.join(about), _LONGEST // 2))}</sub>\n"
    room = limit - _NOTE - _size(head) - _size(foot)
    if room < 0:
        return ""
    return head + _fitted(_blocks(report, options), room) + foot


# --- fitting ----------------------------------------------------------------------------------


def _fitted(blocks: Iterable[_Block], room: int) -> str:
    """All that fits; what must be cut leaves half of the room to what comes after it."""
    text = ""
    left: dict[str, int] = {}
    for block in blocks:
        taken = _that_fit(block, room)
        if taken < len(block.rows):
            taken = _that_fit(block, room // 2)
        if taken:
            part = f"\n{block.head}{''.join(block.rows[:taken])}{block.tail}"
            text, room = text + part, room - _size(part)
        if taken < len(block.rows):
            left[block.noun] = left.get(block.noun, 0) + len(block.rows) - taken
    if left:
        what = ", ".join(plural(count, noun) for noun, count in left.items())
        text += f"\n*Cut to what fits here: {what} left out.*\n"
    return text


def _whole(block: _Block) -> str:
    return f"{block.head}{''.join(block.rows)}{block.tail}"


def _that_fit(block: _Block, room: int) -> int:
    room -= 1 + _size(block.head) + _size(block.tail)
    for taken, row in enumerate(block.rows):
        room -= _size(row)
        if room < 0:
            return taken
    return len(block.rows)


def _size(text: str) -> int:
    return len(text.encode("utf-8"))


# --- parts ------------------------------------------------------------------------------------


def _blocks(report: Report, options: Options) -> Iterator[_Block]:
    if report.error is not None:
        yield _fenced("line", report.error.splitlines())
    else:
        rows = [row for row in failing(report.models) if row.drift]
        cells = [(_EMOJI[r.mark], r.name, r.declared, r.actual, r.drift) for r in rows]
        yield _table("broken budget", cells)
    if report.findings:
        listed = [_finding(finding) for finding in ranked(report)]
        yield _Block("finding", "**Findings**\n\n", listed)
    if report.error is None:
        yield from _modules(report, options)
        every = [cells for model in report.models for cells in _cells(model)]
        table = _table("row", every)
        yield _folded(f"{plural(len(report.models), 'model')} with what is declared", table)


def _cells(model: ModelReport) -> Iterator[_Cells]:
    rows = [row for claim in claims_of(model) for row in rows_of(claim)]
    for row in rows:
        yield _EMOJI[row.mark], row.name, row.declared, row.actual, row.drift
    if not rows and not is_empty(model):
        found = model.measurement
        total = f"{found.counts.total:,}" if isinstance(found, Measured) else "not measured"
        yield _EMOJI[worst(model.findings) or "–"], clean(model.target), "", total, ""


def _table(noun: str, rows: Sequence[_Cells]) -> _Block:
    head = "| | model | declared | actual | drift |\n|---|---|---|---:|---:|\n"
    lines = [
        f"| {mark} | {_cell(name)} | {_cell(declared)} | {actual} | {_text(drift)} |\n"
        for mark, name, declared, actual, drift in rows
    ]
    return _Block(noun, head, lines)


def _finding(finding: Finding) -> str:
    at = finding.position
    mark = _EMOJI[worst([finding])]
    place = _code(f"{at.path}:{at.line}")
    message = _text(style.elide_end(clean(finding.message), _LONGEST))
    line = f"- {mark} {place} **{finding.code}** {message}\n"
    if not finding.detail:
        return line
    told = _whole(_fenced("line", [style.elide_end(text, _LONGEST) for text in finding.detail]))
    return line + "".join(f"  {text}\n" for text in told.splitlines())


def _modules(report: Report, options: Options) -> Iterator[_Block]:
    """The table of every model with a broken budget."""
    for model in report.models:
        found = model.measurement
        broken = any(claim.state == "broken" for claim in claims_of(model))
        if broken and isinstance(found, Measured):
            from nparam_lint.report.table import module_table  # it brings tabulate

            lines = module_table(found.modules, _WIDTH, options.depth, _ROWS, Paint(False))
            title = (
                f"Modules of <code>{_html(model.target)}</code>: {found.counts.total:,} parameters"
            )
            if lines:
                yield _Block("module table", "", [_whole(_folded(title, _fenced("line", lines)))])


# --- notation ---------------------------------------------------------------------------------


def _folded(title: str, block: _Block) -> _Block:
    """`title` is HTML. The blank lines let Markdown begin again."""
    head = f"<details>\n<summary>{title}</summary>\n\n{block.head}"
    return _Block(block.noun, head, block.rows, f"{block.tail}\n</details>\n")


def _fenced(noun: str, lines: Sequence[str]) -> _Block:
    told = [f"{clean(line)}\n" for line in lines]
    fence = "`" * max(3, 1 + _longest_run("".join(told)))
    return _Block(noun, f"{fence}text\n", told, f"{fence}\n")


def _longest_run(text: str) -> int:
    """Of backticks."""
    return max(map(len, re.findall("`+", text)), default=0)


def _code(text: str) -> str:
    told = clean(text)
    if not told.strip():
        return ""
    ticks = "`" * (1 + _longest_run(told))
    blank = " " if told.startswith(("`", " ")) or told.endswith(("`", " ")) else ""
    return f"{ticks}{blank}{told}{blank}{ticks}"


def _cell(text: str) -> str:
    return _code(text).replace("|", "\\|")


def _html(text: str) -> str:
    return html.escape(clean(text))


def _text(text: str) -> str:
    """As it is, whatever Markdown or GitHub would make of it: a mention is cut by a blank of no
    width, for an escaped one notifies all the same."""
    told = re.sub(r"([@#]|\bGH-)(?=\w)", "\\1\u200b", clean(text))
    return re.sub(r"([\\`*_{}\[\]<>|~$&])", r"\\\1", told)
