"""A comment for a pull request, and the page of a job's summary, in GitHub's Markdown."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from nparam_lint.records import Measured
from nparam_lint.report import style
from nparam_lint.report.blocks import (
    COMMENT,
    EMOJI,
    NOTE,
    SUMMARY,
    Block,
    cell,
    fenced,
    finding_item,
    fitted,
    folded,
    html_text,
    plain_text,
    size,
    whole,
)
from nparam_lint.report.claims import claims_of, failing, headline, rows_of, worst
from nparam_lint.report.forge import ranked
from nparam_lint.report.style import Paint, clean, plural
from nparam_lint.report.summary import summary_lines
from nparam_lint.report.uncounted import is_empty

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.records import ModelReport, Report
    from nparam_lint.report import Options

MARKER = "<!-- nparam-lint -->"  # by which a bot finds its own comment
_WIDTH = 100
_ROWS = 40
_LONGEST = 1_000  # characters of a message

_Cells = tuple[str, str, str, str, str]


def render(report: Report, options: Options) -> str:
    """The comment; of what passes, one line."""
    mark, words = headline(report)
    if mark == "✓":
        return f"{MARKER}\n{EMOJI[mark]} **nparam-lint**: {' · '.join(words)}\n"
    return f"{MARKER}\n{summary(report, options, COMMENT - len(MARKER) - 1)}"


def summary(report: Report, options: Options, limit: int = SUMMARY) -> str:
    """The page for `$GITHUB_STEP_SUMMARY`, in no more than `limit` bytes of UTF-8. What does not
    fit is cut between rows and counted in a last line; empty where not even the verdict fits."""
    mark, words = headline(report)
    head = f"### {EMOJI[mark]} nparam-lint: {' · '.join(words)}\n"
    about = summary_lines(report, replace(options, width=sys.maxsize), Paint(False))
    foot = f"\n<sub>{plain_text(style.elide_end(' · '.join(about), _LONGEST // 2))}</sub>\n"
    room = limit - NOTE - size(head) - size(foot)
    if room < 0:
        return ""
    return head + fitted(_blocks(report, options), room) + foot


# --- parts ------------------------------------------------------------------------------------


def _blocks(report: Report, options: Options) -> Iterator[Block]:
    if report.error is not None:
        yield fenced("line", report.error.splitlines())
    else:
        rows = [row for row in failing(report.models) if row.drift]
        cells = [(EMOJI[r.mark], r.name, r.declared, r.actual, r.drift) for r in rows]
        yield _table("broken budget", cells)
    if report.findings:
        listed = [finding_item(finding) for finding in ranked(report)]
        yield Block("finding", "**Findings**\n\n", listed)
    if report.error is None:
        yield from _modules(report, options)
        every = [cells for model in report.models for cells in _cells(model)]
        table = _table("row", every)
        yield folded(f"{plural(len(report.models), 'model')} with what is declared", table)


def _cells(model: ModelReport) -> Iterator[_Cells]:
    rows = [row for claim in claims_of(model) for row in rows_of(claim)]
    for row in rows:
        yield EMOJI[row.mark], row.name, row.declared, row.actual, row.drift
    if not rows and not is_empty(model):
        found = model.measurement
        total = f"{found.counts.total:,}" if isinstance(found, Measured) else "not measured"
        yield EMOJI[worst(model.findings) or "–"], clean(model.target), "", total, ""


def _table(noun: str, rows: Sequence[_Cells]) -> Block:
    head = "| | model | declared | actual | drift |\n|---|---|---|---:|---:|\n"
    lines = [
        f"| {mark} | {cell(name)} | {cell(declared)} | {actual} | {plain_text(drift)} |\n"
        for mark, name, declared, actual, drift in rows
    ]
    return Block(noun, head, lines)


def _modules(report: Report, options: Options) -> Iterator[Block]:
    """The table of every model with a broken budget."""
    for model in report.models:
        found = model.measurement
        broken = any(claim.state == "broken" for claim in claims_of(model))
        if broken and isinstance(found, Measured):
            from nparam_lint.report.table import module_table  # it brings tabulate

            lines = module_table(found.modules, _WIDTH, options.depth, _ROWS, Paint(False))
            name, total = html_text(model.target), f"{found.counts.total:,}"
            title = f"Modules of <code>{name}</code>: {total} parameters"
            if lines:
                yield Block("module table", "", [whole(folded(title, fenced("line", lines)))])
