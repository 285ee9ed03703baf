"""The comparison for people: what became of each model, its modules, findings, a summary."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nparam_lint.report import style
from nparam_lint.report.drift import words
from nparam_lint.report.drift.table import change_table
from nparam_lint.report.drift.verdicts import verdict_lines
from nparam_lint.report.style import Paint, clean, plural
from nparam_lint.report.text import NARROWEST, findings_lines

if TYPE_CHECKING:
    from nparam_lint.analysis.diff import DiffReport, ModelDiff
    from nparam_lint.report import Options

_TABLE_ROWS = 20
_NAMED = 4  # models that changed like another


def render(report: DiffReport, options: Options) -> str:
    options = replace(options, width=max(options.width, NARROWEST))
    paint = Paint(options.color)
    if report.error is not None:
        return ""
    sections: list[list[str]] = []
    if not options.quiet and not _is_calm(report, options):
        sections.append(_heading(report, options, paint))
        sections.append(verdict_lines(report, options, paint))
        sections += _tables(report, options, paint)
        sections.append(_unmeasured(report, options, paint))
    sections.append(findings_lines(report.findings, options.width, paint))
    sections.append(_summary(report, options, paint))
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _is_calm(report: DiffReport, options: Options) -> bool:
    """Whether there is nothing to say but that."""
    return words.is_same(report) and not (report.findings or report.notes or options.verbose)


def _heading(report: DiffReport, options: Options, paint: Paint) -> list[str]:
    where = f"{words.since(report)} → {report.now}"
    lines = [paint("dim", line) for line in style.wrap(where, options.width)]
    for note in report.notes:
        lines += [paint("dim", line) for line in style.wrap(clean(note), options.width)]
    return lines


def _tables(report: DiffReport, options: Options, paint: Paint) -> list[list[str]]:
    """Of every model that stands for itself, one for what changed alike, the largest change
    first."""
    changed = [model for model in report.models if model.modules or model.notes]
    known = [model for model in changed if model.top_level or model.declared] or changed
    listed = known if not options.verbose else changed
    groups = words.same_modules(words.largest_first(listed))
    sections = [_table(group, options, paint) for group in groups[: max(options.tables, 0)]]
    left = len(groups) - len(sections)
    if left > 0 and options.tables:
        sections.append([paint("dim", f"… and {plural(left, 'more table')}: -v")])
    return sections


def _table(group: list[ModelDiff], options: Options, paint: Paint) -> list[str]:
    model = group[0]
    lines = [paint("bold", style.elide_target(clean(model.target), options.width))]
    for note in model.notes:
        lines += [paint("yellow", part) for part in style.wrap(clean(note), options.width)]
    limit = _TABLE_ROWS * (1 + 4 * options.verbose)
    lines += change_table(model, options.width, options.depth, limit, paint)
    if len(group) > 1:
        names = [clean(other.target) for other in group[1 : _NAMED + 1]]
        names += [f"{len(group) - 1 - _NAMED:,} more"] if len(group) > _NAMED + 1 else []
        alike = style.wrap(f"the same in {', '.join(names)}", options.width, hang="  ")
        lines += [paint("dim", part) for part in alike]
    return lines


def _unmeasured(report: DiffReport, options: Options, paint: Paint) -> list[str]:
    """Those that nobody declares, and that were not counted at the base either."""
    if not report.unmeasured:
        return []
    count = len(report.unmeasured)
    hint = "" if options.verbose else " (-v lists them)" if count > 1 else " (-v says why)"
    text = f"{plural(count, 'model')} could be counted on neither side{hint}"
    lines = [paint("dim", line) for line in style.wrap(text, options.width)]
    for target, failure in report.unmeasured if options.verbose else ():
        reason = style.short_reason(failure.reason, target.partition("::")[2])
        told = f"{clean(target)}: {reason}"
        lines += [paint("dim", line) for line in style.wrap(told, options.width, "  ", "    ")]
    return lines


def _summary(report: DiffReport, options: Options, paint: Paint) -> list[str]:
    took = f"{report.seconds:.1f} s"
    if _is_calm(report, options):
        left = len(report.unmeasured)
        rest = f"; {left:,} could be counted on neither side (-v lists them)" if left else ""
        text = f"No change since {words.since(report)}: {words.compared(report)}{rest} · {took}"
        return style.wrap(text, options.width)
    errors = sum(finding.severity == "error" for finding in report.findings)
    warnings = len(report.findings) - errors
    parts = [
        ("", f"{words.compared(report)}: {', '.join(words.tally(report)) or 'none changed'}"),
        *([("red", plural(errors, "error"))] if errors else []),
        *([("yellow", plural(warnings, "warning"))] if warnings else []),
        ("", took),
    ]
    plain = " · ".join(text for _, text in parts)
    if len(plain) <= options.width:
        lines = [" · ".join(paint(color, text) for color, text in parts)]
    else:
        lines = style.wrap(plain, options.width)
    if options.quiet or report.environment is None:
        return lines
    where = report.environment
    about = [f"{where.python} ({where.reason})", f"torch {where.torch}"]
    about += [f"tolerance {report.tolerance}"] if report.tolerance else []
    return lines + [
        paint("dim", line) for line in style.wrap(clean(" · ".join(about)), options.width)
    ]
