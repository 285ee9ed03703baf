"""The report for people: verdicts, tables of what broke and of what is new, findings, a summary."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from nparam_lint.records import Measured
from nparam_lint.report import style
from nparam_lint.report.style import Paint, by_place, clean, plural
from nparam_lint.report.summary import summary_lines
from nparam_lint.report.table import module_table
from nparam_lint.report.uncounted import is_empty, next_step, nothing_found, uncounted_lines
from nparam_lint.report.verdicts import verdict_lines
from nparam_lint.rules.catalogue import RULES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nparam_lint.records import Finding, ModelReport, ModuleRow, Report
    from nparam_lint.report import Options

NARROWEST = 40
_TABLE_ROWS = 20
_ALIKE = 3


def render(report: Report, options: Options) -> str:
    options = replace(options, width=max(options.width, NARROWEST))
    paint = Paint(options.color)
    if not (report.models or report.skipped or report.findings or report.error):
        return "\n".join(nothing_found(report, options)) + "\n"
    sections: list[list[str]] = []
    if not options.quiet:
        if not report.error:
            listed = [m for m in report.models if options.verbose or not is_empty(m)]
            sections.append(verdict_lines(listed, options.width, paint))
            sections += _tables(report, options, paint)
        sections.append(uncounted_lines(report, options, paint))
    sections.append(findings_lines(report.findings, options.width, paint))
    if not options.quiet:
        sections.append(next_step(report, options, paint))
    sections.append(summary_lines(report, options, paint))
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _tables(report: Report, options: Options, paint: Paint) -> list[list[str]]:
    """Of every model with a broken budget, and of the largest that stand for themselves."""
    tables: dict[tuple[ModuleRow, ...], ModelReport] = {}
    seen: set[str] = set()
    for model in report.models:  # one table for what is the same, one for the variants of a model
        found = model.measurement
        if isinstance(found, Measured) and sum(row.total > 0 for row in found.modules) > 1:
            name = model.target.partition("(")[0]
            broken = _is_broken(model)
            if broken or (model.top_level and name not in seen and found.modules not in tables):
                tables.setdefault(found.modules, model)
                seen.add(name)
    models = list(tables.values())
    others = [model for model in models if not _is_broken(model)]
    others.sort(key=lambda model: -_total(model))
    left = others[max(options.tables, 0) :]
    hidden = {id(model) for model in left}  # to compare thousands of reports takes minutes
    sections = [_table(model, options, paint) for model in models if id(model) not in hidden]
    if left and options.tables:
        more = f"… and {plural(len(left), 'more table')}: -v, or nparam-lint show TARGET"
        sections.append([paint("dim", more)])
    return sections


def _total(model: ModelReport) -> int:
    return model.measurement.counts.total if isinstance(model.measurement, Measured) else 0


def _is_broken(model: ModelReport) -> bool:
    return any(not budget.ok and budget.origin != "prose" for budget in model.budgets)


def _table(model: ModelReport, options: Options, paint: Paint) -> list[str]:
    assert isinstance(model.measurement, Measured)
    modules, depth = model.measurement.modules, options.depth
    lines = module_table(modules, options.width, depth, _TABLE_ROWS, paint)
    if not lines:
        return []
    title, rung = clean(model.target), model.measurement.rung
    how = "" if rung == "meta" else f"  counted on {rung}"
    title = style.elide_target(title, options.width - len(how))
    return [paint("bold", title) + paint("dim", how), *lines]


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
