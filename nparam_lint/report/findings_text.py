"""Findings as lines of text, for the formats that show them to people."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from nparam_lint.records import Measured
from nparam_lint.report import style
from nparam_lint.report.folded_modules import Modules
from nparam_lint.report.formats.text import table_lines
from nparam_lint.report.style import Paint, by_place, clean
from nparam_lint.rules.catalogue import RULES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nparam_lint.records import Finding, ModelReport
    from nparam_lint.report.document import Options

_ALIKE = 3
_ROWS = 40


def findings_lines(findings: Sequence[Finding], width: int, paint: Paint) -> list[str]:
    """Warnings first: what must be mended stands last, next to the summary. Of a budget that many
    modules break, a few; what has been said of a model is not said again."""
    lines: list[str] = []
    said: set[tuple[str, str]] = set()
    ordered = sorted(findings, key=lambda f: (f.severity == "error", by_place(f)))
    for _, group in groupby(ordered, key=lambda f: (f.code, f.position, f.target)):
        alike = list(group)
        for finding in alike[:_ALIKE]:
            remedy = [] if finding.detail or finding.code not in RULES else [finding.code]
            told = [("", RULES[code].remedy) for code in remedy]
            told += [(finding.target, text) for text in _paragraphs(finding.detail)]
            lines += [""] * bool(lines) + _finding(finding, width, paint)
            lines += [n for key in told if key not in said for n in _detail(key[1], width)]
            said.update(told)
        if len(alike) > _ALIKE:
            lines += ["", paint("dim", f"… and {len(alike) - _ALIKE:,} more like it")]
    codes = sorted({finding.code for finding in findings if finding.code in RULES})
    if codes:
        listed = codes[0] if len(codes) == 1 else "CODE"
        lines += ["", paint("dim", f"nparam-lint rule {listed} explains, with an example.")]
    return lines


def findings_with_modules(
    findings: Sequence[Finding], model: ModelReport, options: Options
) -> list[str]:
    """Findings, then the modules of the model that they are about, where it was measured."""
    paint, measured = Paint(options.color), model.measurement
    lines = findings_lines(findings, options.width, paint)
    if isinstance(measured, Measured):
        modules = Modules(measured.modules, options.depth, _ROWS)
        table = table_lines(modules.table, options.width, paint)
        lines += ["", *table] if table else []
    return lines


def _finding(finding: Finding, width: int, paint: Paint) -> list[str]:
    at = finding.position
    place = f"{clean(at.path)}:{at.line}:{at.column}"
    head = f"{place}  {finding.code}"
    warning = "warning: " if finding.severity == "warning" else ""
    first, *more = style.wrap(f"{head}  {warning}{clean(finding.message)}", width, hang="    ")
    if not first.startswith(head):  # a path that fills the line, or has blanks to wrap at
        first, more = head, style.wrap(warning + clean(finding.message), width, "    ", "    ")
    color = "yellow" if warning else "red"
    return [f"{paint('bold', place)}  {paint(color, finding.code)}{first[len(head) :]}", *more]


def _paragraphs(detail: Sequence[str]) -> list[str]:
    """A line with the indented lines below it is one."""
    found: list[str] = []
    for line in detail:
        if line.startswith(" ") and found:
            found[-1] += f"\n{line}"
        else:
            found.append(line)
    return found


def _detail(text: str, width: int) -> list[str]:
    """As it was laid out where it fits, wrapped under its own indent where it does not."""
    lines = []
    for line in text.splitlines() or [""]:
        line = clean(line)
        indent = "    " + " " * (len(line) - len(line.lstrip()))
        fits = len(line) + 4 <= width
        lines += ["    " + line] if fits else style.wrap(line.strip(), width, indent, indent + "  ")
    return [line.rstrip() for line in lines]
